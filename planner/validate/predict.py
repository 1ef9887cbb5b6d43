"""What the planner says about a measured case: expected value with band, and the bound that nothing can beat."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from planner.devices import Device
from planner.efficiency import Expectation, expectation
from planner.engines import Engine
from planner.load.closed import closed_loop
from planner.memory import budget
from planner.roofline import CEILING, Machine, Overheads, compute_seconds, decode_step, prefill_parts, prefill_time
from planner.validate.case import Case
from planner.work import Work


@dataclass(frozen=True)
class Prediction:
    """Expected figure with band and bound, in the case's own unit; `low` and `high` in numbers, not in speed."""

    low: float
    mid: float
    high: float
    ceiling: float


@lru_cache(maxsize=4096)
def seats(work: Work, device: Device, engine: Engine, request_tokens: float) -> float:
    """Requests of this length served at once: what the engine admits and, where the model loads, memory holds."""
    admitted = engine.max_num_seqs(device)
    found = budget(work, device, engine, utilization=engine.utilization, seqs=admitted,
                   step_tokens=engine.max_num_batched_tokens(device),
                   request_tokens=math.ceil(request_tokens))  # fmt: skip
    return min(admitted, found.concurrent) if found.short <= 0 and found.concurrent > 0 else admitted


def seconds(case: Case, decode: Overheads, prefill: Overheads) -> float:
    """Seconds per unit of the case: per token for rates, else the time itself."""
    work, machine = case.work, machine_of(case)
    prompt, output = case.prompt, case.output
    if case.quantity == "prefill_rate":
        return float(prefill_time(work, machine, prompt, 0, prefill)) / prompt
    if case.quantity == "decode_rate":
        return float(decode_step(work, machine, 1.0, prompt + output / 2, decode))
    held = seats(work, case.device, case.engine, prompt + output)
    if case.quantity in ("request_rate_out", "batch_rate", "total_rate", "static_ttft"):
        n = min(case.batch, held)
        first = batch_prefill(work, machine, n, prompt, prefill)
        if case.quantity == "static_ttft":
            return first * case.batch / n
        rest = (output - 1) * float(decode_step(work, machine, n, prompt + output / 2, decode))
        tokens = prompt + output if case.quantity == "total_rate" else output
        return (first + rest) / (n * tokens)
    users = held if case.quantity == "saturated_rate" else case.batch
    loop = closed_loop(work, machine, decode, prefill, users, prompt, output, 0, held)
    if case.quantity == "saturated_rate":
        return 1 / float(loop.output_tok_per_s)
    return float({"ttft": loop.ttft_run_s, "tpot": loop.tpot_s, "itl": loop.itl_s, "e2e": loop.e2e_s}[case.quantity])


def chunk_of(case: Case) -> int:
    """Tokens of one step of the case's engine on its device."""
    return case.engine.max_num_batched_tokens(case.device)


def batch_prefill(work: Work, machine: Machine, batch: float, prompt: float, over: Overheads) -> float:
    """Seconds to prefill `batch` prompts in full steps: compute adds up, weights are read at least once."""
    compute, memory = prefill_parts(work, machine, prompt)
    busy = np.maximum(batch * compute / over.compute, memory / over.memory)
    return float(busy + over.added(work))


def machine_of(case: Case) -> Machine:
    """The case's device: printed bandwidth and peaks, and the peaks that bound."""
    return Machine.of(case.device, case.work, case.engine)


def hard_machine(case: Case) -> Machine:
    """The machine at its very best: bandwidth by bus arithmetic, and the fastest arithmetic that software may use."""
    return Machine(case.device.ceiling_bandwidth, machine_of(case).bound.peaks)


def bound_seconds(case: Case) -> float:
    """Seconds per unit that nothing can beat: k experts whatever the batch, no overheads, queues or waiting."""
    work, machine = case.work, hard_machine(case)
    prompt, output, n = case.prompt, case.output, case.batch
    compute, memory = prefill_parts(work, machine, prompt)
    memory = work.weight_read(1) / np.asarray(machine.bandwidth)
    stages = min(work.layout.pipeline, math.ceil(prompt / chunk_of(case))) if prompt else 1
    if case.quantity == "prefill_rate":
        return float(np.maximum(compute / stages, memory / work.layout.pipeline)) / prompt
    if case.quantity in ("ttft", "static_ttft"):
        return float(np.maximum(compute / stages, memory))
    local = n / work.layout.attention_data
    context = prompt if case.quantity in ("tpot", "itl", "e2e", "saturated_rate") else prompt + output / 2
    flops = {c: f * local for c, f in work.decode_flops(context).items()}

    def step(sequences: float, scale: float) -> float:
        read = (work.weight_read(1) + sequences * work.caches.step_read(context)) / np.asarray(machine.bandwidth)
        return float(np.maximum(compute_seconds(flops, machine) * scale, read))

    if case.quantity in ("decode_rate", "request_rate_out"):
        return float(decode_step(work, machine, 1.0, context, CEILING))
    if case.quantity in ("tpot", "itl", "e2e"):
        # A step is at least one sequence's: more wait outside when the engine admits fewer than there are users.
        alone = step(1 / work.layout.attention_data, 1 / max(n, 1.0))
        return alone if case.quantity != "e2e" else float(np.maximum(compute, memory)) + (output - 1) * alone
    tokens = output if case.quantity != "total_rate" else prompt + output
    if case.quantity == "saturated_rate":
        n = max(seats(work, case.device, case.engine, prompt + output), 1)
        flops = {c: f * n / work.layout.attention_data for c, f in work.decode_flops(context).items()}
    held = step(n / work.layout.attention_data, 1.0)
    spent = float(n * compute) + (output - 1) * held
    return spent / (n * tokens) / work.layout.pipeline


def predict(case: Case, base: Expectation | None = None) -> Prediction:
    """Expected figure, band and bound of a case."""
    base = base or expectation(case.device, case.engine, case.work, case.year)
    mid = seconds(case, base.decode, base.prefill)
    fast, slow = band(case, base)
    bound = bound_seconds(case)
    best = max(mid * fast, bound)
    if case.fast:
        return Prediction(*(case.scale / t for t in (mid * slow, max(mid, bound), best, bound)))
    return Prediction(*(case.scale * t for t in (best, max(mid, bound), mid * slow, bound)))


def band(case: Case, base: Expectation) -> tuple[float, float]:
    """Factors on the middle time of this quantity: those of decode, of prefill, or the wider where both matter."""
    if case.quantity in ("prefill_rate", "ttft", "static_ttft"):
        return base.prefill_band
    if case.quantity in ("decode_rate", "tpot", "itl", "request_rate_out"):
        return base.decode_band
    if case.quantity in ("batch_rate", "total_rate", "saturated_rate"):
        return base.batch_band
    return (min(base.prefill_band[0], base.decode_band[0]), max(base.prefill_band[1], base.decode_band[1]))
