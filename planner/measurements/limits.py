"""What measured figures mean beside the limits of the hardware: impossible, tune the stack, or buy hardware."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from planner.band import Band
from planner.measurements.measured import Measured
from planner.units import digits

# Vendors round bandwidth: the bus arithmetic is up to 2.4 % above the printed figure in some device rows.
CEILING_ALLOWANCE = 0.024
# From here on, what is missing to the ceiling is less than engines mostly lose.
_NEAR_CEILING = 0.80
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Expected:
    """What a plan says for the measured lengths and number in flight; None where it is not known.

    Decode figures are tokens/s of one conversation with `together` of them in the batch of a copy. `bytes_per_step` and
    `bandwidth` are of one decode step of one copy (all its devices), weights and KV cache apart; `peak_flops` is of all
    devices of all copies.
    """

    prefill_floor_s: float | None = None
    prefill_s: Band | None = None
    decode_ceiling_tok_per_s: float | None = None
    decode_tok_per_s: Band | None = None
    flops_per_prompt_token: float | None = None
    peak_flops: float | None = None
    weight_bytes_per_step: float | None = None
    kv_bytes_per_step: float | None = None
    bandwidth: float | None = None
    weight_bits: float | None = None
    kv_pool_tokens: float | None = None
    token_budget: int | None = None
    ttft_limit_s: float | None = None
    tpot_limit_s: float | None = None
    together: float | None = None
    copies: int = 1


@dataclass(frozen=True)
class Advice:
    """One sentence on a measurement, with a stable code."""

    severity: Severity
    code: str
    sentence: str


def worst_first(found: Iterable[Advice]) -> list[Advice]:
    """Errors first, then warnings; the steps against one symptom ("high TTFT: queue", ...) stay together, in order."""
    items, rank = list(found), {"error": 0, "warning": 1, "info": 2}
    worst: dict[str, int] = {}
    for item in items:
        symptom = item.code.partition(":")[0]
        worst[symptom] = min(worst.get(symptom, 2), rank[item.severity])
    places = {symptom: place for place, symptom in enumerate(worst)}

    def place(item: Advice) -> tuple[int, int]:
        symptom = item.code.partition(":")[0]
        return worst[symptom], places[symptom]

    return sorted(items, key=place)


def prefill_seconds(measured: Measured) -> float | None:
    """The measured time to compare with prefill: the engine's own where it is printed, else TTFT [s]."""
    return measured.prefill_s if measured.prefill_s is not None else measured.ttft_s.typical


def step_rate(measured: Measured) -> float | None:
    """Decode steps/s of one sequence: tokens/s, less what speculative decoding adds to a step."""
    rate = measured.decode_tok_per_s
    return None if rate is None else rate / max(measured.accept_length or 1.0, 1.0)


def share_of_ceiling(measured: Measured, expected: Expected) -> float | None:
    """Measured steps/s over the decode ceiling: 1 is all that the memory bandwidth can give."""
    rate, ceiling = step_rate(measured), expected.decode_ceiling_tok_per_s
    return None if rate is None or not ceiling else rate / ceiling


def impossible(measured: Measured, expected: Expected) -> list[Advice]:
    """Figures beyond the peak of the hardware, with the likely causes."""
    return [item for item in (_prefill_impossible(measured, expected), _decode_impossible(measured, expected)) if item]


def _prefill_impossible(measured: Measured, expected: Expected) -> Advice | None:
    rate, per_token, peak = (
        measured.implied_prefill_tok_per_s,
        expected.flops_per_prompt_token,
        expected.peak_flops,
    )
    if rate is None or per_token is None or not peak or rate * per_token <= peak:
        return None
    hits = measured.prefix_hit_rate
    known = f" ({hits:.0%} of the prompt tokens were cached)" if hits else ""
    return Advice(
        "error",
        "prefill above peak",
        f"At least {digits(rate)} prompt tokens/s would take {digits(rate * per_token / 1e12)} TFLOP/s, and the peak "
        f"is {digits(peak / 1e12)}: the prompts came from the prefix cache{known} (same seed or same prompt sent "
        "before), or the device, the number of devices or the model chosen here is not the one measured.",
    )


def _decode_impossible(measured: Measured, expected: Expected) -> Advice | None:
    rate, share = step_rate(measured), share_of_ceiling(measured, expected)
    if rate is None or share is None or share <= 1.0 + CEILING_ALLOWANCE:
        return None
    speculative = "" if measured.accept_length else "speculative decoding writes several tokens a step, or "
    needs = ""
    if expected.weight_bytes_per_step and expected.bandwidth:
        read = rate * (expected.weight_bytes_per_step + (expected.kv_bytes_per_step or 0.0))
        most = digits(expected.bandwidth / 1e9, 4)
        needs = f" (it would read {digits(read / 1e9, 4)} GB/s, the bandwidth is {most} GB/s)"
    return Advice(
        "error",
        "decode above ceiling",
        f"{digits(rate)} tokens/s for one conversation is {share:.0%} of the ceiling "
        f"{digits(expected.decode_ceiling_tok_per_s or 0.0)}{needs}: {speculative}the device, the number of devices, "
        "the model or the weight format chosen here is not the one measured.",
    )


def _beside(band: Band | None) -> str:
    """The band in words, behind what was reached."""
    return f"; published measurements of such servers: {digits(band.low)} to {digits(band.high)}" if band else ""


def verdict(measured: Measured, expected: Expected) -> list[Advice]:
    """Decode beside its ceiling and band: tune the stack, or buy hardware."""
    rate, share, band = step_rate(measured), share_of_ceiling(measured, expected), expected.decode_tok_per_s
    if rate is None or share is None or share > 1.0 + CEILING_ALLOWANCE:
        return []
    ceiling = digits(expected.decode_ceiling_tok_per_s or 0.0)
    reached = f"Decode reaches {digits(rate)} tokens/s, {share:.0%} of the ceiling {ceiling}"
    if band is not None and rate < band.low:
        gain = band.mid / rate
        return [
            Advice(
                "warning",
                "tune the stack",
                f"{reached}, below the {digits(band.low)} to {digits(band.high)} in published measurements of such "
                f"servers: tune the stack first, their middle is {gain:.1f} times this.",
            )
        ]
    if share >= _NEAR_CEILING or (band is not None and rate >= band.mid):
        return [
            Advice(
                "info",
                "buy hardware",
                f"{reached}{_beside(band)}: "
                f"{'the stack is near its best' if share >= _NEAR_CEILING else 'no slower than expected'}, so more "
                "speed takes fewer bytes (quantization, shorter context) or hardware with more bandwidth.",
            )
        ]
    within = f"{reached}{_beside(band)}: within what is expected, so some tuning may help."
    return [Advice("info", "within band", within)]
