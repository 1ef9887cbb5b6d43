"""Start logs against the memory budget: weights, KV, and KV tokens given what was logged."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import PlannerError
from planner.validate import CONFIGS, published
from planner.validate.memory import GIB, Log, budget_of, loaded_bytes, read_log
from tools.evidence.report import table

# Why a row misses, by id; each is read off the log, the model's files or the engine's sources.
CAUSES = {
    "M00010": "4.5 GiB less than with that version's defaults on this device (256 sequences); the cause is not stated",
    "M00012": "the start failed with 1.7 GiB left; what else was on the device is not stated",
    "M00032": "dynamic 4-bit file: some matrices stay at 16 bit, which the log does not name",
    "M00070": "vision model: the profile run of its encoder takes 1.1 GiB more, and non-torch 0.9 GiB more",
}
OTHER_CAUSES = {
    "M00034": "model inferred; fewer max_num_seqs than the default would explain the activation peak",
    "M00040": "model and layout inferred (8 x 2 devices): 16 tensor-parallel devices would fit weights and KV",
    "M00066": "device not stated",
    "M00072": "0.7 % fewer tokens than the logged pool holds; ROCm, blocks of 32",
    "M00082": "model inferred; 0.16 GiB more non-torch memory than the median, of a pool of 2.2 GiB",
    "M00086": "model inferred; max_num_seqs 160 would explain the activation peak; a LoRA adapter is loaded",
}
WITHIN_WEIGHTS, WITHIN_KV = 0.02, 0.05
# Logs round to 0.01 GiB; weights, activations, non-torch and the total are four such roundings.
ROUNDING = 4 * 0.005 * GIB


@dataclass(frozen=True)
class Line:
    """One log: what was compared, None where it was not logged or does not count.

    file  the checkpoint's bytes alone against the logged weights; `weights` has tables and rounding
    """

    id: str
    model: str
    stated: bool
    file: float | None
    weights: float | None
    kv: float | None
    block: bool | None
    cause: str


def lines() -> list[Line]:
    """Every log that the planner understands."""
    found = []
    for row in published(("memory_log",)):
        try:
            log = read_log(row, CONFIGS)
        except PlannerError:
            continue
        memory = log.total is not None or bool(row["device_id"]) or "Ada" in row["device"]
        stated = memory and log.utilization is not None and row["provenance"] == "primary"
        file = log.work.weights_bytes / log.weights - 1 if log.weights else None
        weights = loaded_bytes(log) / log.weights - 1 if log.weights else None
        kv = None
        found_budget = budget_of(log) if log.utilization is not None else None
        if found_budget is not None and (log.kv or log.kv_tokens):
            kv = found_budget.pool / log.kv - 1 if log.kv else found_budget.pool_tokens / (log.kv_tokens or 1) - 1
        cause = (CAUSES | OTHER_CAUSES).get(log.id, "")
        found.append(Line(log.id, row["model"], stated, file, weights, kv, follows(log), cause))
    return found


def follows(log: Log) -> bool | None:
    """Whether the logged KV tokens are the blocks that fit in what the logged parts leave, within their rounding.

    None where the log does not give all of weights, activation peak, non-torch memory, total and tokens.
    """
    if None in (log.weights, log.activations, log.runtime, log.total, log.utilization) or not log.kv_tokens:
        return None
    assert log.weights is not None and log.activations is not None and log.runtime is not None and log.total is not None
    known = {"weights": log.weights, "activations": log.activations, "runtime": log.runtime}
    if log.engine.graphs_inside and log.graphs is not None:
        known["graphs"] = log.graphs
    found = budget_of(log, known)
    assert found is not None
    slope = log.work.caches.slope_bytes()
    return abs(found.pool_tokens - log.kv_tokens) * slope <= ROUNDING + slope * 16


def text_of(found: list[Line]) -> str:
    """The tables: figures, and every line with its error and cause."""
    stated = [line for line in found if line.stated]
    weights = [line.weights for line in stated if line.weights is not None]
    kv = [line.kv for line in stated if line.kv is not None]
    block = [line.block for line in stated if line.block is not None]
    counted = {
        "weights within 2 %": [abs(w) <= WITHIN_WEIGHTS for w in weights],
        "KV within 5 %": [abs(k) <= WITHIN_KV for k in kv],
        "KV tokens from the logged parts, within rounding": block,
    }
    head = table(("what", "n", "within", "share"), [(k, len(v), sum(v), sum(v) / len(v)) for k, v in counted.items()])

    def cell(value: float | None, limit: float) -> str:
        return "" if value is None else f"{100 * value:+.1f} %" + (" (miss)" if abs(value) > limit else "")

    body = table(("log", "model", "counts", "file alone", "weights", "KV", "tokens follow", "cause of a miss"), [
        (line.id, line.model, "yes" if line.stated else "no", cell(line.file, 1.0),
         cell(line.weights, WITHIN_WEIGHTS), cell(line.kv, WITHIN_KV),
         {True: "yes", False: "no", None: ""}[line.block], line.cause)
        for line in found
    ])  # fmt: skip
    return head + "\n\n" + body
