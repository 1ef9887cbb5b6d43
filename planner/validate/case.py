"""One published row as something the planner can predict: device, work, load, and which quantity was measured."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from planner.architecture import Architecture, read_config
from planner.devices import Device, find_device, load_devices, measured_device
from planner.engines import Engine
from planner.errors import PlannerError
from planner.layout import Layout
from planner.storage import storage
from planner.validate.names import engine_of, kv_of, weights_of
from planner.work import Work, work

KINDS: Final = ("decode_single", "prefill", "batch_throughput", "serving_latency", "memory_log", "kernel")
# Quantities, whether a larger figure is the faster one, and the factor to SI by unit.
RATES: Final = ("decode_rate", "request_rate_out", "prefill_rate", "batch_rate", "saturated_rate", "total_rate")
TIMES: Final = ("ttft", "static_ttft", "tpot", "itl", "e2e")
_SECONDS: Final = {"ms": 1e-3, "s": 1.0, "us": 1e-6, "": 1.0}
_DURATIONS: Final = ("ms", "s", "us")
_TOKEN_RATES: Final = ("", "tok/s", "tokens/s", "token/s", "t/s")
# A percentile in a metric's name, such as p99_tpot or ttft_p90_ms; llama-bench's pp512 is none.
_PERCENTILE: Final = re.compile(r"(?:^|[^a-z])p(\d{1,2}(?:\.\d+)?|999)(?!\d)|(\d{2})th(?![a-z])")
# What rows of a saturated server write in place of a number of sequences.
_SATURATED: Final = re.compile(r"max|inf|saturat", re.IGNORECASE)
# Tokens of llama-bench's generation test, for a rate whose length is not stated.
_TOKENS: Final = 128


class SkippedRow(PlannerError):
    """A row that cannot be predicted; the message is the reason."""


@dataclass(frozen=True)
class Case:
    """A published row, understood.

    quantity   decode_rate: further tokens/s of one sequence; request_rate_out: output tokens over the whole latency;
               prefill_rate; batch_rate: of a static batch; saturated_rate: of a server under any load; ttft, tpot,
               itl, e2e: of a closed loop; static_ttft: of a batch that starts at once
    measured   in tokens/s, or seconds (those of one token where a rate is given as a time)
    scale      measured x scale is the figure in the row's own unit
    timed      the row gives a time, although the quantity is a rate
    year       of the software, for builds of 2024 and of later years
    """

    id: str
    kind: str
    metric: str
    quantity: str
    measured: float
    scale: float
    device: Device
    engine: Engine
    engine_name: str
    arch: Architecture
    weights: str
    work: Work
    batch: float
    prompt: float
    output: float
    year: int | None
    model: str
    timed: bool = False

    @property
    def fast(self) -> bool:
        """Whether a larger figure is the faster one."""
        return self.quantity in RATES and not self.timed


def text(row: Mapping[str, Any], column: str) -> str:
    """A cell as a stripped text; "" where it is blank, absent or not a number."""
    value = row.get(column)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def number(row: Mapping[str, Any], column: str) -> float | None:
    """A cell as a finite number, None where it is blank. Raises SkippedRow for anything else."""
    found = text(row, column)
    if not found:
        return None
    try:
        value = float(found)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SkippedRow(f"{column} is {found:.40}; expected a number")
    return value


def amount(row: Mapping[str, Any], column: str, zero: bool = False) -> float | None:
    """A cell as a positive number (or 0, where that means something), None where it is blank. Raises SkippedRow."""
    value = number(row, column)
    if value is not None and (value < 0 or (value == 0 and not zero)):
        expected = "a number from 0" if zero else "a positive number"
        raise SkippedRow(f"{column} is {text(row, column):.40}; expected {expected}")
    return value


def count(row: Mapping[str, Any], column: str, default: int) -> int:
    """A cell as a positive whole number, `default` where it is blank. Raises SkippedRow for anything else."""
    value = amount(row, column)
    if value is None:
        return default
    if value != int(value):
        raise SkippedRow(f"{column} is {text(row, column):.40}; expected a whole number")
    return min(int(value), 100_000)


def measured_value(row: Mapping[str, Any]) -> float:
    """The row's figure, more than 0. Raises SkippedRow."""
    try:
        value = amount(row, "value")
    except SkippedRow as reason:
        raise SkippedRow(f"no measured value: {reason}") from None
    if value is None:
        raise SkippedRow("no measured value")
    return value


@lru_cache(maxsize=512)
def _read(path: Path) -> Architecture:
    return read_config(path.read_text(encoding="utf-8"), name=path.stem)


def architecture(row: Mapping[str, Any], configs: Path) -> Architecture:
    """The model of a row. Raises SkippedRow."""
    name = text(row, "config")
    if not name:
        raise SkippedRow("no config: the row names none")
    return _found(name, configs)


@lru_cache(maxsize=512)
def _found(name: str, configs: Path) -> Architecture:
    try:
        path = (configs / name).resolve()
        if not path.is_relative_to(configs.resolve()) or not path.is_file():
            raise SkippedRow(f"no config: {name} is not among the configs")
        return _read(path)
    except SkippedRow:
        raise
    except PlannerError as error:
        raise SkippedRow(f"config {name} cannot be read: {error}") from None
    except (OSError, ValueError):  # a name that no file can have, or a file that is no text
        raise SkippedRow(f"no config: {name:.80} is not a text file among the configs") from None


@lru_cache(maxsize=1)
def _by_id() -> dict[str, Device]:
    return {device.id: device for device in load_devices()}


def device_of(row: Mapping[str, Any]) -> Device:
    """The device of a row: by the measured name (which tells Apple parts by GPU cores), by id, by name.

    Raises SkippedRow.
    """
    name, device_id = text(row, "device"), text(row, "device_id")
    found = (measured_device(name) if name else None) or _by_id().get(device_id)
    if found is None and name:
        try:
            found = find_device(name)
        except PlannerError:
            found = None
    if found is None:
        raise SkippedRow(f"no device: {name or device_id or 'none named'} is not in the device table")
    return found


def year_of(row: Mapping[str, Any]) -> int | None:
    """The latest year that the engine's version names, else that of the source's date."""
    for column in ("engine_version", "source_date"):
        years = [int(y) for y in re.findall(r"(?<!\d)(20[12]\d)(?!\d)", text(row, column))]
        if years:
            return max(years)
    return None


def layout_of(row: Mapping[str, Any], engine: Engine) -> Layout:
    """How the copy is spread: tp as stated, further devices as pipeline stages (llama.cpp deals out layers).

    Raises SkippedRow where the cells contradict each other.
    """
    tensor, devices = count(row, "tp", 1), count(row, "n_devices", 1)
    if tensor > devices and text(row, "n_devices"):
        raise SkippedRow(f"tp is {tensor}, more than the n_devices of {devices}")
    stages = max(devices // tensor, 1)
    groups = count(row, "attention_dp", 1)
    if not engine.tensor_parallel and tensor > 1 and stages == 1:
        # Sources that list tensor parallelism for an engine without it dealt out layers.
        tensor, stages = 1, tensor
    if groups > 1:
        # Attention groups divide the devices that share the rest of each layer.
        tensor, stages = max(devices, tensor), 1
    return Layout(tensor, stages, count(row, "ep", 1) > 1, groups if tensor % groups == 0 else 1)


def _quantity(kind: str, metric: str, batch: float | None) -> str | None:
    m = metric.lower()
    if kind == "decode_single":
        if re.match(r"tg\d*|eval|decode|generation|tok/s|tokens/s|tpot|itl", m):
            return "decode_rate"
        return "request_rate_out" if re.search(r"latency|output|out_tok|throughput|e2e", m) else None
    if kind == "prefill":
        return "prefill_rate" if re.search(r"pp\d*|prefill|prompt|ttft", m) else None
    if kind == "batch_throughput":
        if not re.search(r"tok|throughput", m):
            return None
        if "total" in m:
            return "total_rate" if batch else None
        return "batch_rate" if batch else "saturated_rate"
    if re.search(r"first_token|ttft", m):
        return "static_ttft" if "first_token_latency" in m else "ttft"
    if "tpot" in m or "time_per_output" in m:
        return "tpot"
    if "itl" in m or "inter_token" in m:
        return "itl"
    return "e2e" if re.search(r"e2e|end_to_end|latency", m) else None


def read_case(row: Mapping[str, Any], configs: Path) -> Case:
    """The row understood. Raises SkippedRow with the reason where it cannot be predicted."""
    kind, metric = text(row, "kind"), text(row, "metric")
    if kind == "kernel":
        raise SkippedRow("kernel times are evidence for the fit, not predictions of the planner")
    if kind not in KINDS:
        raise SkippedRow(f"kind {kind or '(blank)'} is not one of {', '.join(KINDS)}")
    measured = measured_value(row)
    if text(row, "suspect"):
        raise SkippedRow(f"suspect: {text(row, 'suspect')}")
    year = year_of(row)
    name = text(row, "engine")
    engine = engine_of(name, text(row, "engine_version"), year)
    if engine is None:
        raise SkippedRow(f"engine {name or '(blank)'} is not one that the planner knows")
    device, arch = device_of(row), architecture(row, configs)
    weights = weights_of(text(row, "weight_dtype"), arch, engine)
    if weights is None:
        raise SkippedRow(f"weight_dtype {text(row, 'weight_dtype') or '(blank)'} has no format of known size here")
    kv = kv_of(text(row, "kv_dtype"), arch, weights, engine)
    if kv is None:
        raise SkippedRow(f"kv_dtype {text(row, 'kv_dtype')} is not known")
    batch = None if _SATURATED.search(text(row, "batch")) else amount(row, "batch")
    amount(row, "weight_gib")
    quantity = _quantity(kind, metric, batch)
    if quantity is None:
        raise SkippedRow(f"metric {metric or '(blank)'} of kind {kind} is not known")
    percentile = _PERCENTILE.search(metric.lower())
    if percentile and float(percentile[1] or percentile[2]) != 50:
        raise SkippedRow(f"metric {metric} is a percentile; only means and medians are predicted")
    prompt, output = _lengths(row, metric, quantity)
    measured, scale, timed = _in_si(measured, text(row, "unit").lower(), metric, quantity, prompt, output, batch)
    try:
        task = work(arch, weights, storage(engine, kv), layout_of(row, engine), round(prompt))
    except PlannerError as error:
        raise SkippedRow(str(error)) from None
    return Case(text(row, "id"), kind, metric, quantity, measured, scale, device, engine, name, arch, weights, task,
                batch or 1.0, prompt, output, year, text(row, "model"), timed)  # fmt: skip


def _in_si(value: float, unit: str, metric: str, quantity: str, prompt: float, output: float,
           batch: float | None) -> tuple[float, float, bool]:  # fmt: skip
    """The figure in tokens/s or seconds, what brings it back to the row's unit, and whether a rate is given as a time.

    Raises SkippedRow.
    """
    unknown = SkippedRow(f"unit {unit or '(blank)'} is not known for {metric}")
    if quantity in TIMES:
        if unit not in _SECONDS:
            raise unknown
        scale = 1 / _SECONDS[unit]
        return value / scale, scale, False
    tokens = {"prefill_rate": prompt, "decode_rate": 1.0, "total_rate": prompt + output}.get(quantity, output)
    if unit in _DURATIONS and quantity in ("prefill_rate", "decode_rate", "request_rate_out"):
        per_unit = tokens / _SECONDS[unit]
        return value / per_unit, per_unit, True
    if unit in _TOKEN_RATES:
        return value, 1.0, False
    if unit in ("tok/s/user", "tokens/s/user") and quantity != "saturated_rate":
        users = batch or 1.0 if quantity in ("batch_rate", "total_rate") else 1.0
        return value * users, 1 / users, False
    if unit in ("req/s", "requests/s") and quantity != "decode_rate":
        return value * tokens, 1 / tokens, False
    raise unknown


def _lengths(row: Mapping[str, Any], metric: str, quantity: str) -> tuple[float, float]:
    prompt, output = amount(row, "prompt_len", zero=True), amount(row, "output_len", zero=True)
    tests = {name: float(n) for name, n in re.findall(r"(tg|pp|d)(\d+)", metric.lower()) if float(n) > 0}
    if quantity == "prefill_rate":
        prompt = tests.get("pp", prompt or 0.0)
        if not prompt:
            raise SkippedRow("no prompt length")
        return prompt, 1.0
    if quantity == "decode_rate":
        start = tests.get("d", prompt or 0.0)
        return start, tests.get("tg", output or float(_TOKENS))
    if prompt is None or output is None or output < 1:
        raise SkippedRow("no prompt or output length")
    return prompt, output
