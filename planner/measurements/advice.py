"""What to do about a high TTFT or a low token rate, in the order in which to look, with this server's own figures."""

from __future__ import annotations

from planner.measurements.limits import (
    Advice,
    Expected,
    impossible,
    share_of_ceiling,
    step_rate,
    verdict,
    worst_first,
)
from planner.measurements.measured import Measured
from planner.units import digits, duration, few

# TTFT this many times the expected prefill is more than computing the prompt: something waits.
_SLOW_PREFILL = 2.0
# Without a band the floor stands in; published prefill reaches a third to a half of it.
_SLOW_AGAINST_FLOOR = 4.0
_QUEUE_SHARE = 0.25
_TAIL = 3.0
_LOW_HIT_RATE = 0.2
_LONG_PROMPT = 256
_FULL_CACHE = 0.9
# A judgement: what shortens TTFT by less than this is not worth changing prompts for.
_WORTHWHILE = 0.05
_LLAMA_CPP = ("ollama", "llama-bench", "llama.cpp")


def advice(measured: Measured, expected: Expected) -> list[Advice]:
    """All findings on a measurement, worst first."""
    return worst_first(unsorted(measured, expected))


def unsorted(measured: Measured, expected: Expected) -> list[Advice]:
    """The same as they are found, for those who leave some out: what is impossible, decode, the steps, the cache."""
    return [
        *impossible(measured, expected),
        *verdict(measured, expected),
        *gap(measured, expected),
        *high_ttft(measured, expected),
        *low_rate(measured, expected),
        *cache_pressure(measured),
    ]


def ttft_is_high(measured: Measured, expected: Expected) -> bool:
    """TTFT above the limit where one is set, else well above what prefill of this prompt is expected to take."""
    ttft = measured.ttft_s.typical
    if ttft is None:
        return False
    if expected.ttft_limit_s is not None and ttft > expected.ttft_limit_s:
        return True
    if expected.prefill_s is not None:
        return ttft > _SLOW_PREFILL * expected.prefill_s.high
    return expected.prefill_floor_s is not None and ttft > _SLOW_AGAINST_FLOOR * expected.prefill_floor_s


def high_ttft(measured: Measured, expected: Expected) -> list[Advice]:
    """Queue first, then the prefix cache, then the token budget; empty where TTFT is as it should be."""
    if not ttft_is_high(measured, expected):
        return []
    found = [_queue(measured, expected), _prefix(measured, expected), _budget(measured, expected)]
    return [item for item in found if item is not None]


def _queue(measured: Measured, expected: Expected) -> Advice | None:
    ttft, queue = measured.ttft_s, measured.queue_s.centre
    known = ttft.centre
    if known is None:
        return None
    usual = expected.prefill_s.mid if expected.prefill_s else expected.prefill_floor_s
    beside = f", computing the prompt takes about {duration(usual)}" if usual else ""
    if queue is not None and queue > _QUEUE_SHARE * known:
        seen = f"requests wait {duration(queue)} of {duration(known)} TTFT in the queue"
    elif measured.waiting:
        seen = f"{measured.waiting:,.0f} requests wait beside {measured.running or 0:,.0f} that run"
    elif measured.loop == "burst":
        seen = f"all requests were sent at once and TTFT is {duration(known)}"
    elif ttft.p99 is not None and ttft.median and ttft.p99 > _TAIL * ttft.median:
        seen = f"the slowest hundredth waits {duration(ttft.p99)}, the median {duration(ttft.median)}"
    elif queue is not None:
        return None
    else:
        seen = f"TTFT is {duration(known)}"
    return Advice(
        "warning",
        "high TTFT: queue",
        f"Look at the queue first: {seen}{beside}. Fewer requests at once, more room for KV cache or one more copy "
        "shortens it; a faster prefill does not.",
    )


def _prefix(measured: Measured, expected: Expected) -> Advice | None:
    prompt, hits = measured.prompt_tokens, measured.prefix_hit_rate
    if not prompt or prompt < _LONG_PROMPT or (hits is not None and hits > _LOW_HIT_RATE):
        return None
    seen = "is not known" if hits is None else f"is {hits:.0%}"
    usual, ttft = expected.prefill_s.mid if expected.prefill_s else expected.prefill_floor_s, measured.ttft_s.centre
    if usual and ttft and usual / 2 < _WORTHWHILE * ttft:
        return None
    saving = f" Half of these prompts shared would save about {duration(usual / 2)}." if usual else ""
    return Advice(
        "info",
        "high TTFT: prefix cache",
        f"The prefix cache: its hit rate {seen} with {prompt:,.0f} prompt tokens. Put what all requests share "
        f"(system prompt, tools, documents) first and unchanged.{saving}",
    )


def _budget(measured: Measured, expected: Expected) -> Advice | None:
    prompt, budget, itl = measured.prompt_tokens, expected.token_budget, measured.itl_s
    if not prompt or (budget and prompt <= budget):
        return None
    steps = f": {prompt:,.0f} tokens take {-(-prompt // budget):,.0f} steps of {budget:,}" if budget else ""
    jitter = ""
    if itl.p99 is not None and itl.median:
        jitter = (
            f" Now that gap (ITL) is {duration(itl.median)} at the median and {duration(itl.p99)} at the 99th "
            "percentile."
        )
    return Advice(
        "info",
        "high TTFT: token budget",
        f"The token budget of a step (max_num_batched_tokens){steps}. A larger one shortens TTFT and makes the "
        f"gaps between tokens less even.{jitter}",
    )


def rate_is_low(measured: Measured, expected: Expected) -> bool:
    """One conversation slower than the limit, or than is expected of such servers."""
    rate, limit, band = measured.decode_tok_per_s, expected.tpot_limit_s, expected.decode_tok_per_s
    if rate is None:
        return False
    return bool((limit and rate < 1.0 / limit) or (band and (step_rate(measured) or rate) < band.low))


def gap(measured: Measured, expected: Expected) -> list[Advice]:
    """Where decode stays below what such servers reach: what can make up the difference without other hardware."""
    rate, band = step_rate(measured), expected.decode_tok_per_s
    share = share_of_ceiling(measured, expected)
    if rate is None or band is None or share is None or rate >= band.low:
        return []
    local = measured.tool in _LLAMA_CPP
    engine = (
        "that all layers are on the GPU and it is a current build for this GPU, with flash attention on"
        if local
        else "that CUDA graphs are on (no --enforce-eager) and the engine is a current version"
    )
    return [
        Advice(
            "warning",
            "tune the stack: gap",
            f"Close the gap first: each token takes {duration(1 / rate)}, {duration(1 / band.mid)} are expected. See "
            "that model, device, number of devices and number type chosen here are the measured ones; "
            f"{engine}; that nothing else runs on the device (nvidia-smi); that no step waits for the processor "
            "(sampling penalties, structured output, a busy core); and that the measuring client keeps up (run it on "
            "another machine).",
        )
    ]


def low_rate(measured: Measured, expected: Expected) -> list[Advice]:
    """Fewer bits, shorter context, smaller batch; empty where the rate is as it should be."""
    if not rate_is_low(measured, expected):
        return []
    found = [_placement(measured), _quantize(expected), _context(measured, expected), _batch(measured, expected)]
    return [item for item in found if item is not None]


def _placement(measured: Measured) -> Advice | None:
    """Tools of llama.cpp leave layers on the processor without a word when the GPU is full."""
    if measured.tool not in _LLAMA_CPP:
        return None
    return Advice(
        "warning",
        "low rate: placement",
        "See first whether all of the model is on the GPU (`ollama ps` should say 100% GPU; llama.cpp says how many "
        "layers it offloaded): layers left on the processor set the pace.",
    )


def _quantize(expected: Expected) -> Advice | None:
    weights, bits = expected.weight_bytes_per_step, expected.weight_bits
    if not weights or not bits or bits <= 5:
        return None
    rest = expected.kv_bytes_per_step or 0.0
    half = 8.0 if bits > 9 else 4.0
    one = " of each copy" if expected.copies > 1 else ""
    gain = (weights + rest) / (weights * half / bits + rest)
    return Advice(
        "warning",
        "low rate: quantize",
        f"Fewer bits: a step{one} reads {digits(weights / 1e9)} GB of weights at {bits:.3g} bits; "
        f"{half:.0f}-bit weights would lift the ceiling {gain:.1f} times.",
    )


def _context(measured: Measured, expected: Expected) -> Advice | None:
    weights, kv = expected.weight_bytes_per_step, expected.kv_bytes_per_step
    if not weights or kv is None:
        return None
    context = (measured.prompt_tokens or 0.0) + (measured.output_tokens or 0.0) / 2
    return Advice(
        "info",
        "low rate: context",
        f"Shorter context: the KV cache is {kv / (kv + weights):.0%} of what a step reads, with {context:,.0f} tokens "
        "on average in each conversation; 8-bit KV halves that share.",
    )


def _batch(measured: Measured, expected: Expected) -> Advice | None:
    together, rate = expected.together or measured.in_flight or measured.running, measured.decode_tok_per_s
    if together is None or rate is None:
        return None
    if together <= 1.5:
        return Advice(
            "info",
            "low rate: batch",
            f"One conversation alone gets {digits(rate)} tokens/s: nothing shares its step. Several at once cost each "
            "little and multiply the total.",
        )
    copies = f" of the {expected.copies} copies" if expected.copies > 1 else ""
    total = f", {digits(measured.output_tok_per_s)} in all" if measured.output_tok_per_s else ""
    return Advice(
        "info",
        "low rate: batch",
        f"Smaller batch: {few(together)} conversations share each step{copies}, {digits(rate)} tokens/s each{total}. A "
        "lower max_num_seqs or one more copy makes each faster and the total per device smaller.",
    )


def cache_pressure(measured: Measured) -> list[Advice]:
    """A KV cache that is full, or that had to throw requests out."""
    found = []
    if measured.kv_usage is not None and measured.kv_usage > _FULL_CACHE:
        found.append(
            Advice("warning", "kv cache full", f"The KV cache is {measured.kv_usage:.0%} full: new requests must wait.")
        )
    if measured.preemptions:
        each = f", {measured.preemptions / measured.completed:.2f} a finished request" if measured.completed else ""
        found.append(
            Advice(
                "warning",
                "preemptions",
                f"{measured.preemptions:,.0f} requests were preempted{each}: their prompts are computed again. Admit "
                "fewer at once, or give the KV cache more room (8-bit KV, utilisation, one more device).",
            )
        )
    return found
