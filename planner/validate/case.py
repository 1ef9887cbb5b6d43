"""One published row as something the planner can predict: device, work, load, and which quantity was measured."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from planner.architecture import Architecture
from planner.devices import Device
from planner.engines import Engine
from planner.errors import PlannerError
from planner.storage import storage
from planner.validate.cells import SkippedRow, amount, measured_value, text
from planner.validate.system import device_of, engine, layout_of, model, year_of
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
    runs, device = engine(row), device_of(row)
    arch, weights, kv = model(row, configs, runs)
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
        task = work(arch, weights, storage(runs, kv), layout_of(row, runs), round(prompt))
    except PlannerError as error:
        raise SkippedRow(str(error)) from None
    return Case(text(row, "id"), kind, metric, quantity, measured, scale, device, runs, text(row, "engine"), arch,
                weights, task, batch or 1.0, prompt, output, year_of(row), text(row, "model"), timed)  # fmt: skip


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
