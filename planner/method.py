"""Each formula with a scenario's own numbers filled in and its source, and the words of the field in plain ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.loading import rotary_bytes
from planner.plan import Plan
from planner.roofline import decode_parts, prefill_parts, textbook_ceiling
from planner.units import count, digits, duration, gb, gib, params, rate


@dataclass(frozen=True)
class Step:
    """One formula: what it gives, the formula, the same with this scenario's numbers, and where it comes from."""

    title: str
    formula: str
    filled: str
    source: str


# 16 GB of weights (8e9 parameters x 2 bytes) on six bandwidths in GB/s: the textbook table.
TEXTBOOK: Final = (90, 600, 864, 1008, 2039, 3350)


def textbook() -> list[dict[str, float]]:
    """Bandwidth / bytes of weights for 16 GB, in tokens/s: 6, 38, 54, 63, 127, 209."""
    rates = textbook_ceiling([b * 1e9 for b in TEXTBOOK], 8e9 * 2)
    return [{"Bandwidth, GB/s": b, "Tokens/s": round(float(r))} for b, r in zip(TEXTBOOK, rates, strict=True)]


def steps(p: Plan) -> list[Step]:
    """The formulas of a plan in the order in which they are used; none for speed where not one request is held."""
    return [*_memory(p), *_decode(p), *_prefill(p), *_load(p)] if p.loads else _memory(p)


def _memory(p: Plan) -> list[Step]:
    m, s = p.memory, p.scenario
    tokens = s.prompt + s.output
    bits = p.work.rows.stored_bytes.sum() * 8 / p.architecture.total_params
    slope = f"{count(m.slope)} B per token" + (f" + {gib(m.fixed)} fixed" if m.fixed else "")
    graphs = f" − {gib(m.graphs)}" if m.graphs_inside else ""
    missing = f" ({gib(m.short)} are missing)" if m.short else ""
    capped = "; layers with a window stop at its size" if p.work.caches.windowed else ""
    return [
        Step("Weights on each device", "sum over matrices of elements × bits / 8 × share of the device",
             f"{params(p.architecture.total_params)} parameters × {digits(bits)} bits on average over "
             f"{p.layout.devices} "
             f"{'device' if p.layout.devices == 1 else 'devices'} = {gib(m.weights)} ({gb(m.weights)}) on the fullest",
             "the checkpoint's tensor list; scales and zero points included"),
        *_tables(p),
        Step("Conversation memory (KV cache) of one conversation",
             "fixed + sum over layers of min(tokens, window) × 2 × KV heads × head dimension × bytes (latent width "
             "for MLA)",
             f"{slope}, {count(tokens)} tokens rounded up to blocks of {p.work.store.block}{capped} = "
             f"{gib(m.request)} on each device",
             "Pope et al. 2022, Efficiently Scaling Transformer Inference; engines' cache layouts"),
        Step("Activation peak", "max(requests admitted × vocabulary × 38.6 bytes, tokens per step × (6 × MLP width / "
                                "devices + 8 × hidden) bytes)",
             f"max({count(p.seqs)} × {count(p.architecture.vocab)} × {p.engine.sampler_bytes} bytes, "
             f"{count(p.step_tokens)} tokens …) = {gib(m.activations)}",
             "fitted to vLLM start logs; see Evidence"),
        Step("Room for conversations", "usable memory × utilisation − weights − tables and rounding − activations − "
                                       "runtime − graphs (where the engine counts them inside)",
             f"{gib(m.usable)} × {p.utilization:.2f} − {gib(m.weights)} − {gib(m.tables)} − {gib(m.activations)} "
             f"− {gib(m.runtime)}{graphs} = {gib(m.pool)}{missing}",
             f"{p.engine.name}: {p.engine.note}"),
        Step("Conversations held at once", "room / memory of one conversation, rounded down",
             f"{gib(m.pool)} / {gib(m.request)} = {count(m.concurrent)} in each copy × {count(s.copies)} = "
             f"{count(m.concurrent * s.copies)}",
             "arithmetic"),
    ]  # fmt: skip


def _tables(p: Plan) -> list[Step]:
    """What the loaded model takes beyond its file; no step for engines that it is not counted for."""
    if not p.memory.tables:
        return []
    table = rotary_bytes(p.architecture, p.engine.rotary_bytes)
    return [
        Step("Tables and rounding", "positions × rotary width × bytes, once on each device, + what the "
                                    "allocator rounds each tensor up to",
             f"tables of {count(p.architecture.max_positions or 0)} positions = {gib(table)}, the rest "
             f"{gib(p.memory.tables - table)}: together {gib(p.memory.tables)}",
             "vLLM rotary embedding; PyTorch's CUDA caching allocator; checked on vLLM start logs, see Evidence"),
    ]  # fmt: skip


def _decode(p: Plan) -> list[Step]:
    d = p.decode
    compute, traffic = (float(x) for x in decode_parts(p.work, p.machine.bound, 1, d.context))
    out = [
        Step("Bytes read for one further token",
             "weights that are used (not the embedding table; of the experts those routed to) + the cache of the "
             "context",
             f"{gb(d.weight_bytes)} + {gb(d.cache_bytes)} at {count(d.context)} tokens = {gb(d.bytes_per_step)} on "
             "each device", "the ledger"),
        Step("Decode ceiling of one conversation", "1 / max(FLOPs / peak, bytes / bandwidth)",
             f"1 / max({duration(compute)}, {gb(d.bytes_per_step)} / {rate(p.device.bandwidth / 1e9)} GB/s = "
             f"{duration(traffic)}) = {rate(d.ceiling)} tokens/s; {d.bound} binds",
             "roofline: Williams, Waterman, Patterson 2009"),
    ]  # fmt: skip
    e = p.expectation
    out.append(
        Step("Expected speed", "1 / (max(FLOPs / (share × peak), bytes / (share × bandwidth)) + per step + per layer)",
             f"memory share {digits(float(e.decode.memory))}, {duration(float(e.decode.layer_s))} per layer, "
             f"{duration(float(e.decode.step_s))} per step: "
             f"{rate(d.expected.mid)}, band {rate(d.expected.low)} to {rate(d.expected.high)} tokens/s", e.basis)
    )  # fmt: skip
    if d.batch and p.loads:
        b = d.batch
        out.append(
            Step("Decode ceiling of a batch", "batch / max(batch × FLOPs / peak, (weights read once + batch × cache) "
                                              "/ bandwidth)",
                 f"{count(b.size)} conversations: {rate(b.ceiling)} tokens/s in all, {rate(b.ceiling_per_user)} each; "
                 f"{b.bound} binds",
                 "one read of the weights serves the whole batch")
        )  # fmt: skip
    return out


def _prefill(p: Plan) -> list[Step]:
    f = p.prefill
    compute, traffic = (float(x) for x in prefill_parts(p.work, p.machine.bound, f.tokens, f.cached))
    types = {p.device.peak(c) for c in p.work.computes}
    peaks = ", ".join(f"{runs.upper()} at {rate(flops / 1e12)} TFLOP/s" for flops, runs in types)
    return [
        Step("Prefill arithmetic", "2 × matrix elements per new token + 2 × heads × (key + value dimension) per "
                                   "(query, key) pair; the head once",
             f"{count(f.tokens)} tokens, {count(f.cached)} of them cached: {digits(f.flops / 1e12)} TFLOP",
             "Pope et al. 2022; FlashAttention counts"),
        Step("Prefill floor", "max(FLOPs / peak, weights / bandwidth)",
             f"max({duration(compute)} at {peaks}, {duration(traffic)}) = {duration(f.floor)}; {f.bound} binds. TTFT "
             "adds the queue.", "roofline"),
        Step("First token, expected", "FLOPs / (share × peak), or bytes / (share × bandwidth) where that is longer, + "
                                      "per step + per layer; for each step of the prompt",
             f"compute share {digits(float(p.expectation.prefill.compute))}: {duration(f.expected.mid)}, band "
             f"{duration(f.expected.low)} to {duration(f.expected.high)}", p.expectation.basis),
    ]  # fmt: skip


def _load(p: Plan) -> list[Step]:
    flow = p.load
    if flow.time_in_system_s is None or flow.arrivals_per_s is None:
        filled = stays = "no steady state: there is no time in system to fill in"
    else:
        stays = (
            f"{digits(flow.arrivals_per_s * flow.time_in_system_s / p.scenario.copies)} in flight per copy, those "
            f"waiting included: {duration(flow.time_in_system_s)}"
        )
        inside = digits(flow.arrivals_per_s * flow.time_in_system_s)
        filled = f"{rate(flow.arrivals_per_s)} /s × {duration(flow.time_in_system_s)} = {inside} in flight"
    return [
        Step("Time in system with n in flight", "n × prefill + (answer tokens − 1) × decode step of n",
             stays,
             "mean-field form of continuous batching"),
        Step("Little's law", "L = λ × W: in flight = arrivals per second × seconds each stays", filled,
             "Little 1961; an identity, not a promise"),
    ]  # fmt: skip


GLOSSARY: Final = {
    "Prefill": "Reading the whole prompt at once, before the first token of the answer. Usually bound by arithmetic "
               "(FLOP/s).",
    "Decode": "Writing the answer, one token at a time. Usually bound by memory bandwidth: all weights are read for "
              "every token.",
    "TTFT": "Time to first token: waiting in the queue plus prefill.",
    "ITL": "Inter-token latency: the time between one token and the next.",
    "TPOT": "Time per output token: (end-to-end − TTFT) / (output tokens − 1). Some tools include TTFT; the planner "
            "converts.",
    "KV cache": "Conversation memory: what the model keeps of every token so far, so that it need not read them again.",
    "Prefix cache": "The engine keeps the KV cache of a shared beginning, such as a system prompt, and skips its "
                    "prefill.",
    "A provider's prompt cache": "A price list's discount for repeated prompts. Another thing than the prefix cache "
                                 "here, though it is built on one.",
    "Token": "A piece of a word; about three quarters of an English word.",
    "Weights": "The model's parameters. Fewer bits each (quantization) take less memory and are read faster.",
    "Tables and rounding": "What a loaded model takes beyond its file: tables of rotary positions, and what the "
                           "memory allocator rounds tensors up to.",
    "Tensor parallel": "Several devices share every layer; they must exchange sums at each.",
    "Pipeline parallel": "Each device holds some layers; adds memory, does not speed up one conversation.",
    "Copies (data parallel)": "Whole models side by side, each serving its own requests.",
    "MoE": "Mixture of experts: all experts must be in memory, a token passes through a few.",
    "Active parameters": "Those one token passes through.",
    "MLA, latent": "Attention that keeps one compressed entry per token; small, but every device holds it whole.",
    "Sliding window": "Layers that look back only so many tokens; whether their memory stays small depends on the "
                      "engine.",
    "Ceiling": "What arithmetic allows. No software beats it.",
    "Expected, band": "What published measurements of similar systems reach, from the 10th to the 90th percentile.",
    "Expected capacity": "Requests per second that are expected to be served with as many at once as fit. Arrivals "
                         "over it are how busy the system is; from about 85 % on waits stay long.",
    "Throughput": "Tokens or requests per second of all users together; can rise while each waits longer.",
    "Goodput": "Requests per second that succeed and meet every limit, over all requests sent; failed ones stay in "
               "the denominator.",
    "Open and closed loop": "Open: requests arrive whatever the server does. Closed: each user waits for the answer "
                            "before asking again.",
    "GB and GiB": "GB = 10^9 bytes, GiB = 2^30 = 1.074 GB. An “80 GB” H100 shows 79.65 GiB.",
}  # fmt: skip

