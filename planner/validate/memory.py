"""Start logs of engines: predicted beside logged weights, KV bytes and KV tokens."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from planner.devices import Device, custom_device
from planner.engines import Engine
from planner.loading import tables_bytes
from planner.memory import Budget, budget
from planner.storage import storage
from planner.validate.cells import SkippedRow, count, measured_value, number, text
from planner.validate.system import device_of, engine, layout_of, model
from planner.work import Work, work

GIB: Final = 2**30
# A request of a length that no row depends on; pools are compared in tokens.
_TOKENS: Final = 4096
# What an engine sees of a marketed gigabyte on discrete GPUs (23.6 GiB of "24 GB").
_SHOWN: Final = 0.983


@dataclass(frozen=True)
class Log:
    """A start log, understood: what was asked of the engine and what it said (GiB as bytes, None where not logged)."""

    id: str
    work: Work
    engine: Engine
    device: Device | None
    total: float | None
    utilization: float | None
    seqs: int
    step_tokens: int
    max_model_len: int
    weights: float | None
    activations: float | None
    runtime: float | None
    graphs: float | None
    kv: float | None
    kv_tokens: float | None


def read_log(row: Mapping[str, Any], configs: Path) -> Log:
    """The log understood. Raises SkippedRow with the reason where the planner lacks model, engine or type."""
    runs = engine(row)
    arch, weights, kv = model(row, configs, runs)

    def size(column: str) -> float | None:
        value = number(row, column)
        return None if value is None else max(value, 0.0) * GIB

    total = size("total_gib")
    device = _device(row, total)
    length = count(row, "max_model_len", 0)
    task = work(arch, weights, storage(runs, kv), layout_of(row, runs))
    seqs, tokens = _defaults(row, runs, device, total, length or (arch.max_positions or 0))
    eager = text(row, "eager") != ""
    return Log(text(row, "id"), task, runs, device, total, number(row, "gpu_mem_util"), seqs, tokens, length,
               size("weights_gib"), size("act_peak_gib"), size("non_torch_gib"),
               0.0 if eager else size("cudagraph_gib"), size("kv_gib"), number(row, "kv_tokens"))  # fmt: skip


def _device(row: Mapping[str, Any], total: float | None) -> Device | None:
    """The row's device; one of that much memory where only memory is stated ("24GB GPU"); None where not even that."""
    try:
        return device_of(row)
    except SkippedRow:
        name = text(row, "device")
    stated = re.search(r"(\d+(?:\.\d+)?) ?GB", name)
    if total is None and (stated is None or "not stated" in name or "class" in name):
        return None
    memory = total / GIB if total is not None else float(stated[1]) * _SHOWN if stated else 0.0
    # Bandwidth and FLOP/s play no part in a memory budget.
    return custom_device(name, memory, 1.0, 1.0)


def _defaults(row: Mapping[str, Any], engine: Engine, device: Device | None, total: float | None,
              length: int) -> tuple[int, int]:  # fmt: skip
    """Sequences and tokens of the largest step: as logged, else the default of that version of the engine."""
    version = text(row, "engine_version")
    seen = device if total is None or device is None else replace(device, memory_bytes_usable=total)
    old = "V0" in version or version.startswith(("0.4", "0.5", "0.6", "0.7"))
    seqs = count(row, "max_num_seqs", 0)
    tokens = count(row, "max_num_batched_tokens", 0)
    if old:
        # The first scheduler ran whole prompts: a step of up to max(2048, model length) tokens; beyond 32,768 it took
        # chunks of 512 by default (vLLM 0.4 to 0.8).
        chunked = length > 32_768
        return seqs or 256, tokens or (512 if chunked else max(2048, length))
    fallback = 2048
    if seen is not None:
        return seqs or engine.max_num_seqs(seen), tokens or engine.max_num_batched_tokens(seen)
    return seqs or 256, tokens or fallback


def loaded_bytes(log: Log) -> float:
    """Bytes of the loaded model on the fullest device, as the engine logs them."""
    tables = tables_bytes(log.work, log.engine)
    return max(float(w) + t for w, t in zip(log.work.weights_per_stage, tables, strict=True))


def budget_of(log: Log, known: Mapping[str, float] | None = None) -> Budget | None:
    """The planner's budget for the log's device and share; None where the log does not state them."""
    if log.device is None and log.total is None:
        return None
    device = log.device
    if device is None:
        return None
    share = log.utilization if log.utilization is not None else log.engine.utilization
    given: dict[str, float] = dict(known or {})
    if log.total is not None:
        given["usable"] = log.total
    return budget(log.work, device, log.engine, utilization=share, seqs=log.seqs, step_tokens=log.step_tokens,
                  request_tokens=max(log.max_model_len, _TOKENS), known=given)  # fmt: skip


def predict_memory(row: Mapping[str, Any], configs: Path) -> dict[str, Any]:
    """Predicted beside measured for one row of memory_log; `error` is predicted / measured - 1."""
    log = read_log(row, configs)
    metric = text(row, "metric")
    if text(row, "suspect"):
        raise SkippedRow(f"suspect: {text(row, 'suspect')}")
    measured = measured_value(row)
    if metric == "weights_gib":
        predicted = loaded_bytes(log) / GIB
    elif metric in ("kv_tokens", "kv_gib"):
        found = budget_of(log)
        if found is None:
            raise SkippedRow("no device: neither its memory nor a device of the table is stated")
        if log.utilization is None:
            raise SkippedRow("the share of memory that the engine took is not stated")
        predicted = float(found.pool_tokens) if metric == "kv_tokens" else found.pool / GIB
    else:
        raise SkippedRow(f"metric {metric or '(blank)'} of kind memory_log is not known")
    return {
        "predicted_low": None, "predicted": predicted, "predicted_high": None, "ceiling": None, "measured": measured,
        "error": predicted / measured - 1,
    }  # fmt: skip
