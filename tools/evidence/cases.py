"""Published rows as cases, and the arithmetic of each case that the fit works on."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from planner.efficiency.classes import device_class, family, is_mixture, is_newer, storage_type
from planner.roofline import decode_parts, prefill_parts
from planner.validate import CONFIGS, published
from planner.validate.case import Case, read_case
from planner.validate.cells import SkippedRow
from planner.validate.predict import machine_of, seats

ROOT = Path(__file__).resolve().parents[2]
SPEED_FILES = ("decode_single", "prefill", "batch_throughput", "serving_latency")
Array = npt.NDArray[np.float64]


def cases(names: tuple[str, ...] = SPEED_FILES) -> list[Case]:
    """Every row that the planner can predict."""
    found = []
    for row in published(names):
        try:
            found.append(read_case(row, CONFIGS))
        except SkippedRow:
            continue
    return found


@dataclass(frozen=True)
class Features:
    """Arrays over cases: what the step and the prompt cost at the ceiling, and what was measured.

    step_compute, step_memory      seconds of one decode step at shares 1
    prompt_compute, prompt_memory  seconds of prefill at shares 1: all prompts of a static batch, one prompt else
    per_step, per_prompt           how often each counts in the measured seconds
    """

    cases: list[Case]
    device: npt.NDArray[np.str_]
    group: npt.NDArray[np.str_]
    engine: npt.NDArray[np.str_]
    storage: npt.NDArray[np.str_]
    mixture: npt.NDArray[np.bool_]
    quantity: npt.NDArray[np.str_]
    year: Array
    newer: npt.NDArray[np.bool_]
    layers: Array
    tensor: Array
    stages: Array
    batch: Array
    step_compute: Array
    step_memory: Array
    prompt_compute: Array
    prompt_memory: Array
    per_step: Array
    per_prompt: Array
    whole_prompt: Array
    rate: Array
    measured: Array

    def take(self, chosen: npt.NDArray[np.bool_]) -> Features:
        """The chosen cases only."""
        parts = {k: v[chosen] for k, v in vars(self).items() if k != "cases"}
        return Features([c for c, keep in zip(self.cases, chosen, strict=True) if keep], **parts)

    def __len__(self) -> int:
        return len(self.cases)


FITTED = ("decode_rate", "request_rate_out", "batch_rate", "tpot", "prefill_rate")


def features(found: list[Case]) -> Features:
    """Features of the cases whose time is a sum of steps and prompts."""
    kept = [c for c in found if c.quantity in FITTED]
    table = [_one(c) for c in kept]
    numbers = np.array(table, float)
    return Features(
        kept,
        np.array([c.device.name for c in kept]),
        np.array([device_class(c.device) for c in kept]),
        np.array([family(c.engine) for c in kept]),
        np.array([storage_type(c.work) for c in kept]),
        np.array([is_mixture(c.work) for c in kept]),
        np.array([c.quantity for c in kept]),
        np.array([c.year or 2026 for c in kept], float),
        np.array([is_newer(c.device, c.year) for c in kept], bool),
        *numbers.T,
    )


def _one(case: Case) -> tuple[float, ...]:
    work, machine = case.work, machine_of(case)
    n = 1.0 if case.quantity in ("decode_rate", "prefill_rate") else case.batch
    if case.quantity in ("batch_rate", "tpot"):
        n = min(n, seats(work, case.device, case.engine, case.prompt + case.output))
    stages = work.layout.pipeline
    compute, memory = decode_parts(work, machine, n / min(n, stages), case.prompt + case.output / 2)
    first, weights = prefill_parts(work, machine, case.prompt) if case.prompt else (0.0, 0.0)
    steps, prompts, whole, per = 1.0, 0.0, 0.0, 1.0
    if case.quantity in ("request_rate_out", "batch_rate"):
        per = n * case.output
        steps, prompts, whole = (case.output - 1) / per, 1 / per, 1.0
        first = first * n
    elif case.quantity == "tpot":
        # As load.closed has it: attention groups and pipeline stages share the work on prompts.
        prompts = (n - 1) / max(case.output - 1, 1) / work.layout.attention_data / min(n, stages)
    elif case.quantity == "prefill_rate":
        steps, prompts, whole = 0.0, 1 / case.prompt, 1.0
    seconds = 1 / case.measured if case.fast else case.measured
    return (work.arch.n_layers, work.layout.tensor, stages, n / min(n, stages), float(compute), float(memory),
            float(first), float(weights), steps, prompts, whole, 1.0 if case.fast else 0.0, seconds)  # fmt: skip
