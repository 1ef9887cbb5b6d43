"""What nothing can beat at a measured load, and what is expected there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from planner.band import Band
from planner.checking.conditions import Conditions
from planner.efficiency import Expectation
from planner.load.closed import ClosedLoop, closed_loop, prefill_work
from planner.measurements import Expected
from planner.plan import Plan, mean_context, waits
from planner.roofline import Machine, compute_seconds, decode_parts, decode_step, pipeline_part, prefill_time
from planner.work import total


def step_floor(p: Plan, c: Conditions) -> float:
    """Seconds of a decode step that nothing can beat.

    Of a mixture of experts the experts of one token are counted: tokens of a batch may all ask for the same ones.
    """
    micro = float(pipeline_part(p.work, c.together))
    compute, memory = decode_parts(p.work, p.machine.bound, micro, c.context)
    spared = (p.work.weight_read(micro) - p.work.weight_read(1)) / np.asarray(p.machine.bandwidth)
    return float(np.maximum(compute, memory - spared))


def emptiest_step_floor(p: Plan, c: Conditions) -> float:
    """The same behind a prompt of no tokens: what nothing can beat where the prompt's length is not known."""
    return step_floor(p, replace(c, context=mean_context(0, c.output)))


def parts(p: Plan, c: Conditions, base: Expectation) -> tuple[float, float]:
    """Expected seconds per decode step of each conversation: the step itself, and what the others' prefills add to it.

    Their sum is TPOT x accepted tokens, as `load.closed` has it.
    """
    step = float(decode_step(p.work, p.machine, c.together, c.context, base.decode))
    if c.alone:
        return step, 0.0
    one = float(prefill_work(p.work, p.machine, c.prompt, c.cached, base.prefill, c.together))
    return step, c.accepted * (c.together - 1) / max(c.output - 1, 1.0) * one


def loop(p: Plan, c: Conditions, base: Expectation) -> ClosedLoop:
    """The steady state at this load: conversations, each sending its next request when the last one is answered."""
    return closed_loop(p.work, p.machine, base.decode, base.prefill, c.together, c.prompt, c.output, c.cached,
                       accepted=c.accepted)  # fmt: skip


def decode_band(p: Plan, c: Conditions, base: Expectation) -> tuple[float, Band]:
    """Steps/s of one conversation: the ceiling, and the expectation, which is never above it."""
    ceiling = 1.0 / step_floor(p, c)
    mid = 1.0 / sum(parts(p, c, base))
    fast, slow = base.decode_band
    return ceiling, Band(min(mid / slow, ceiling), min(mid, ceiling), min(mid / fast, ceiling))


def prefill_band(p: Plan, c: Conditions, base: Expectation) -> tuple[float, Band]:
    """Seconds to prefill one prompt alone: the floor, and the expectation, which is never below it."""
    floor, low, mid, high = (float(t) for t in waits(p.work, p.machine, base, c.prompt, c.cached, p.step_tokens))
    return floor, Band(low, mid, high)


def best_machine(p: Plan) -> Machine:
    """The device at its very best, its bandwidth by bus arithmetic: for calling a figure impossible."""
    return Machine(p.device.ceiling_bandwidth, p.machine.bound.peaks)


def least_prefill(p: Plan, c: Conditions) -> float:
    """Seconds below which a prompt cannot have been read, on the device at its very best."""
    return float(prefill_time(p.work, best_machine(p), c.prompt, c.cached, chunk=p.step_tokens))


def expected(p: Plan, c: Conditions, base: Expectation) -> Expected:
    """What the plan says at this load, as advice wants it: rates in tokens, bytes of one copy."""
    layout, work = p.layout, p.work
    devices = layout.tensor
    flops = work.prefill_flops(c.prompt, c.cached)
    per_copy = float(total(work.whole.prefill_flops(c.prompt, c.cached)))
    seconds = float(compute_seconds(flops, best_machine(p)))
    parallel = layout.pipeline * layout.attention_data * p.scenario.copies
    ceiling, decode = decode_band(p, c, base)
    floor, prefill = prefill_band(p, c, base)
    local = float(pipeline_part(work, c.together)) / layout.attention_data
    stored = float(work.rows.stored_bytes.sum())
    return Expected(
        prefill_floor_s=floor,
        prefill_s=prefill,
        decode_ceiling_tok_per_s=c.accepted * ceiling,
        decode_tok_per_s=Band(*(c.accepted * r for r in (decode.low, decode.mid, decode.high))),
        flops_per_prompt_token=per_copy / max(c.prompt - c.cached, 1.0),
        peak_flops=per_copy / seconds * parallel if seconds > 0 else None,
        weight_bytes_per_step=float(work.weight_read(1)) * devices,
        kv_bytes_per_step=float(work.caches.step_read(c.context)) * local * devices,
        # Tokens/s are not steps/s with speculative decoding: no bytes/s follow from them.
        bandwidth=p.device.bandwidth * devices if c.accepted == 1 else None,
        weight_bits=8 * stored / p.architecture.total_params if p.architecture.total_params else None,
        kv_pool_tokens=p.memory.pool_tokens,
        token_budget=p.step_tokens,
        ttft_limit_s=p.scenario.max_ttft,
        tpot_limit_s=p.scenario.max_tpot,
        together=c.together,
        copies=p.scenario.copies,
    )
