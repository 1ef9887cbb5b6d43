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
    measured   in tokens/s or seconds
    scale      measured x scale is the figure in the row's own unit
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

    @property
    def fast(self) -> bool:
        """Whether a larger figure is the faster one."""
        return self.quantity in RATES


def text(row: Mapping[str, Any], column: str) -> str:
    """A cell as a stripped text; "" where it is blank, absent or not a number."""
    value = row.get(column)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def number(row: Mapping[str, Any], column: str) -> float | None:
    """A cell as a finite number, None where there is none."""
    try:
        value = float(text(row, column))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def count(row: Mapping[str, Any], column: str, default: int) -> int:
    """A cell as a positive whole number."""
    value = number(row, column)
    return default if value is None or value < 1 else min(int(value), 100_000)


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
    path = (configs / name).resolve()
    if not path.is_relative_to(configs.resolve()) or not path.is_file():
        raise SkippedRow(f"no config: {name} is not among the configs")
    try:
        return _read(path)
    except PlannerError as error:
        raise SkippedRow(f"config {name} cannot be read: {error}") from None


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
    """How the copy is spread: tp as stated, further devices as pipeline stages (llama.cpp deals out layers)."""
    tensor, devices = count(row, "tp", 1), count(row, "n_devices", 1)
    stages = max(devices // tensor, 1)
    groups = count(row, "attention_dp", 1)
    if not engine.tensor_parallel and tensor > 1 and stages == 1:
        # Sources that list tensor parallelism for an engine without it dealt out layers.
        tensor, stages = 1, tensor
    if groups > 1:
        # Attention groups divide the devices that share the rest of each layer.
        tensor, stages = max(devices, tensor), 1
    return Layout(tensor, stages, count(row, "ep", 1) > 1, groups if tensor % groups == 0 else 1)


def _quantity(kind: str, metric: str, unit: str, batch: float | None) -> str | None:
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
    measured = number(row, "value")
    if measured is None or measured <= 0:
        raise SkippedRow("no measured value")
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
    batch = number(row, "batch")
    unit = text(row, "unit").lower()
    quantity = _quantity(kind, metric, unit, batch)
    if quantity is None:
        raise SkippedRow(f"metric {metric or '(blank)'} of kind {kind} is not known")
    scale = 1.0
    if quantity in TIMES or unit in ("ms", "s", "us"):
        if unit not in _SECONDS:
            raise SkippedRow(f"unit {unit} is not known for {metric}")
        scale = 1 / _SECONDS[unit]
        measured = measured / scale
    prompt, output = _lengths(row, metric, quantity)
    if quantity == "prefill_rate" and unit in ("ms", "s", "us"):
        measured, scale = prompt / measured, 1.0
    if quantity == "decode_rate" and unit in ("ms", "s", "us"):
        measured, scale = 1 / measured, 1.0
    try:
        task = work(arch, weights, storage(engine, kv), layout_of(row, engine))
    except PlannerError as error:
        raise SkippedRow(str(error)) from None
    return Case(text(row, "id"), kind, metric, quantity, measured, scale, device, engine, name, arch, weights, task,
                batch or 1.0, prompt, output, year, text(row, "model"))  # fmt: skip


def _lengths(row: Mapping[str, Any], metric: str, quantity: str) -> tuple[float, float]:
    prompt, output = number(row, "prompt_len"), number(row, "output_len")
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
