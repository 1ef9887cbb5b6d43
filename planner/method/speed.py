"""The formulas of decode and prefill with a scenario's own numbers."""

from __future__ import annotations

from planner.method.step import Step
from planner.plan import Plan
from planner.roofline import Overheads, decode_parts, decode_rate, pipeline_part, pipelined, prefill_parts, prefill_time
from planner.units import count, digits, duration, exact, gb, rate
from planner.work import total

_ADDED = "+ per step + layers × per layer + sequences × per sequence"


def slowed(p: Plan, over: Overheads, compute: float, traffic: float, sequences: float = 0.0) -> str:
    """A step with the shares and overheads that real engines show: max(compute / share, traffic / share) + overheads.

    compute, traffic  seconds at the peaks that shares are measured against
    """
    terms = [f"max({duration(compute)} / {digits(float(over.compute))}, "
             f"{duration(traffic)} / {digits(float(over.memory))})"]  # fmt: skip
    if over.step_s:
        stages = f" × {p.layout.pipeline} stages" if p.layout.pipeline > 1 else ""
        terms.append(f"{duration(float(over.step_s))}{stages}")
    if layer := float(over.layer_s) + (float(over.reduce_s) if p.layout.tensor > 1 else 0.0):
        terms.append(f"{p.architecture.n_layers} layers × {duration(layer)}")
    if sequences and over.sequence_s:
        terms.append(f"{exact(sequences, 3)} × {duration(float(over.sequence_s))}")
    return " + ".join(terms)


def decode(p: Plan) -> list[Step]:
    """Bytes of a step, its ceiling and what is expected, for one conversation and for those in flight."""
    d, more = p.decode, p.scenario.accepted
    context = f" at {count(d.context)} tokens"
    compute, traffic = (float(x) for x in decode_parts(p.work, p.machine.bound, 1, d.context))
    printed, _ = (float(x) for x in decode_parts(p.work, p.machine, 1, d.context))
    out = [
        Step("Bytes read for one further token",
             "weights that are used (not the embedding table; of the experts those routed to) + the cache of the "
             "context",
             f"{gb(d.weight_bytes)} + {gb(d.cache_bytes)} = {gb(d.bytes_per_step)} on each device{context}",
             "the ledger"),
        Step("Decode ceiling of one conversation", "tokens per step / max(FLOPs / peak, bytes / bandwidth)",
             f"{gb(d.bytes_per_step)} / {rate(p.device.bandwidth / 1e9)} GB/s = {duration(traffic)}; "
             f"{exact(more)} / max({duration(compute)}, {duration(traffic)}) = {rate(d.ceiling)} tokens/s: "
             f"{d.bound} binds",
             "roofline: Williams, Waterman, Patterson 2009"),
        Step("Expected speed of one conversation",
             f"tokens per step / (max(FLOPs / (share × printed peak), bytes / (share × bandwidth)) {_ADDED})",
             f"{exact(more)} / ({slowed(p, p.expectation.decode, printed, traffic, 1.0)}) = "
             f"{_held(p, 1.0, d.ceiling)}, band {rate(d.expected.low)} to {rate(d.expected.high)}",
             p.expectation.basis),
    ]  # fmt: skip
    return out + _batch(p) if d.batch and p.loads else out


def _held(p: Plan, batch: float, ceiling: float) -> str:
    """The rate that the formula gives; a calibration can carry it past the ceiling, which the plan then keeps to."""
    mid = float(decode_rate(p.work, p.machine, batch, p.decode.context, p.expectation.decode, p.scenario.accepted))
    return f"{rate(mid)} tokens/s" + (f", but no more than the ceiling of {rate(ceiling)}" if mid > ceiling else "")


def _batch(p: Plan) -> list[Step]:
    d, b = p.decode, p.decode.batch
    assert b is not None
    micro = float(pipeline_part(p.work, b.size))
    compute, traffic = (float(x) for x in decode_parts(p.work, p.machine.bound, micro, d.context))
    printed, _ = (float(x) for x in decode_parts(p.work, p.machine, micro, d.context))
    tokens = exact(b.size * p.scenario.accepted)
    stages = f" ({exact(micro, 3)} pass the pipeline together)" if p.layout.pipeline > 1 else ""
    return [
        Step("Decode ceiling of a batch",
             "batch × tokens per step / max(batch × FLOPs / peak, (weights read once + batch × cache) / bandwidth)",
             f"{tokens} / max({duration(compute)}, {duration(traffic)}) = {rate(b.ceiling)} tokens/s in all: {b.bound} "
             f"binds{stages}; {rate(b.ceiling)} / {count(b.size)} = {rate(b.ceiling_per_user)} each",
             "one read of the weights serves the whole batch"),
        Step("Expected speed of a batch", f"batch × tokens per step / (max(compute / share, traffic / share) {_ADDED})",
             f"{tokens} / ({slowed(p, p.expectation.decode, printed, traffic, micro)}) = "
             f"{_held(p, float(b.size), b.ceiling)}, band {rate(b.expected.low)} to {rate(b.expected.high)}",
             p.expectation.basis),
    ]  # fmt: skip


def prefill(p: Plan) -> list[Step]:
    """FLOPs of a prompt, the floor that they set, and what is expected."""
    f, e = p.prefill, p.expectation
    new, whole = f.tokens - f.cached, p.work.whole
    attention = float(whole.mixing.prefill(float(f.tokens), float(f.cached)))
    head = float(sum(whole.head_flops.values()))
    linear = float(total(whole.prefill_flops(f.tokens, f.cached))) - attention - head
    filled = float(pipelined(new, p.layout.pipeline, p.step_tokens))
    compute, traffic = (float(x) for x in prefill_parts(p.work, p.machine.bound, f.tokens, f.cached))
    printed, _ = (float(x) for x in prefill_parts(p.work, p.machine, f.tokens, f.cached))
    mid = float(prefill_time(p.work, p.machine, f.tokens, f.cached, e.prefill, p.step_tokens))
    least = f", but no less than the floor of {duration(f.floor)}" if mid < f.floor else ""
    types = {p.device.peak(c) for c in p.work.computes}
    peaks = ", ".join(f"{runs.upper()} at {rate(flops / 1e12)} TFLOP/s" for flops, runs in types)
    stages = f", of which the filled pipeline leaves {digits(filled * 100)} %" if p.layout.pipeline > 1 else ""
    return [
        Step("Prefill arithmetic", "new tokens × 2 × matrix elements + 2 × heads × (key + value dimension) for each "
                                   "(query, key) pair + the head once",
             f"{count(new)} × {digits(linear / new / 1e9, 4)} GFLOP + {digits(attention / 1e9, 4)} GFLOP + "
             f"{digits(head / 1e9, 4)} GFLOP = {digits(f.flops / 1e12)} TFLOP",
             "Pope et al. 2022; FlashAttention counts"),
        Step("Prefill floor", "max(FLOPs / peak, weights / bandwidth)",
             f"max({duration(compute * filled)}, {duration(traffic)}) = {duration(f.floor)}: {f.bound} binds, with "
             f"{peaks}{stages}", "roofline"),
        Step("First token of a request alone, expected",
             "max(FLOPs / (share × printed peak), bytes / (share × bandwidth)) + per step + layers × per layer",
             f"{slowed(p, e.prefill, printed * filled, traffic)} = {duration(mid)}{least}, band "
             f"{duration(f.expected.low)} to {duration(f.expected.high)}",
             e.basis),
    ]  # fmt: skip
