"""Figures that cannot be, beyond those that the advice finds: a prompt, or all conversations together, too fast."""

from __future__ import annotations

from collections.abc import Sequence

from planner.checking.conditions import Conditions
from planner.checking.figures import BEYOND, Figure
from planner.measurements import Advice, Expected, Measured
from planner.measurements.limits import prefill_seconds
from planner.units import digits, duration

_OTHER = "the device, the number of devices, the model or the weight format chosen here is not the one measured."


def more(measured: Measured, expected: Expected, c: Conditions, figures: Sequence[Figure]) -> list[Advice]:
    """Errors for figures beyond a limit; on the prompt only where its length is stated."""
    by_key = {f.key: f for f in figures}
    return [
        *_below_floor(measured, expected, c, by_key.get("prefill")),
        *_together(by_key.get("total"), by_key.get("decode")),
    ]


def _below_floor(measured: Measured, expected: Expected, c: Conditions, prefill: Figure | None) -> list[Advice]:
    """A prompt read faster than the weights can be read, or than the arithmetic can be done."""
    seconds = prefill_seconds(measured)
    if not c.stated or not seconds or prefill is None or prefill.place != BEYOND:
        return []
    rate, need, peak = measured.implied_prefill_tok_per_s, expected.flops_per_prompt_token, expected.peak_flops
    if rate and need and peak and rate * need > peak:
        return []  # said with its figures as "prefill above peak"
    least = prefill.limit / prefill.most
    stream = "the server sends its header before the first token, " if measured.tool == "curl" else ""
    return [
        Advice(
            "error",
            "prefill below floor",
            f"The prompt was read in {duration(seconds)}, and {duration(least)} is the least that this hardware takes: "
            f"{stream}the prompt came from the prefix cache, or {_OTHER}",
        )
    ]


def _together(total: Figure | None, each: Figure | None) -> list[Advice]:
    """All conversations together faster than the bytes of a step allow, where each alone is not."""
    if total is None or not total.measured or total.place != BEYOND:
        return []
    if each is not None and each.place == BEYOND:
        return []
    return [
        Advice(
            "error",
            "together above ceiling",
            f"{digits(total.measured)} tokens/s of all conversations are more than the {digits(total.limit)} that this "
            f"hardware can write: {_OTHER}",
        )
    ]
