"""Measured figures beside floor, ceiling and band at the measured load, and what to do about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner import efficiency
from planner.checking import impossible, limits
from planner.checking.calibration import Calibration, calibration
from planner.checking.conditions import Conditions, conditions
from planner.checking.figures import BEYOND_ASSUMED, Figure, figures
from planner.checking.identity import same_system
from planner.measurements import Advice, Expected, Measured
from planner.measurements.advice import unsorted
from planner.measurements.limits import prefill_seconds, worst_first
from planner.plan import Plan
from planner.units import digits, duration

# A shorter context cannot help where conversation memory is less of what a step reads.
_SMALL_SHARE: Final = 0.05


@dataclass(frozen=True)
class Comparison:
    """A measurement on the hardware of a plan.

    advice      worst first: impossible figures, another system than the scenario's, then what to do
    expected    what the advice was given
    """

    measured: Measured
    conditions: Conditions
    figures: tuple[Figure, ...]
    expected: Expected
    advice: tuple[Advice, ...]
    calibration: Calibration
    basis: str

    def figure(self, key: str) -> Figure | None:
        """The figure of that key, None where it was not measured."""
        return next((f for f in self.figures if f.key == key), None)

    def as_dict(self) -> dict[str, Any]:
        """For the command line: SI units, null where unknown."""
        c = self.conditions
        return {
            "prompt_tokens": c.prompt, "cached_tokens": c.cached, "output_tokens": c.output,
            "context_tokens": c.context, "together_per_copy": c.together, "tokens_per_step": c.accepted,
            "assumed": list(c.assumed), "basis": self.basis,
            "figures": [
                {"key": f.key, "name": f.name, "unit": f.unit, "measured": f.measured,
                 "ceiling" if f.faster_is_larger else "floor": f.limit, "expected": vars(f.expected).copy(),
                 "share_of_limit": f.share, "place": f.place}
                for f in self.figures
            ],
            "advice": [vars(a).copy() for a in self.advice],
            "calibration": {"scenario": self.calibration.choices, "reasons": list(self.calibration.reasons),
                            "refused": self.calibration.refused or None, "taken": self.calibration.taken},
        }  # fmt: skip


def compare(measured: Measured, p: Plan) -> Comparison:
    """The comparison, at the load that was measured; bands are those of published measurements, not calibrated ones."""
    c = conditions(measured, p)
    p = replace(p, work=p.work.reading(round(c.prompt)))
    base = efficiency.expectation(p.device, p.engine, p.work)
    expected = limits.expected(p, c, base)
    shown = figures(measured, p, c, base)
    said = _said(measured, expected, c, shown)
    found = [
        *impossible.more(measured, expected, c, shown),
        *same_system(measured, p),
        *_alone(measured, expected, c, said),
    ]
    return Comparison(
        measured, c, shown, expected, tuple(worst_first(found)),
        calibration(measured, p, c, base, [a for a in found if a.severity == "error"]),
        base.basis + (f"; {base.nearest}" if base.nearest else ""),
    )  # fmt: skip


def _said(measured: Measured, expected: Expected, c: Conditions, shown: Sequence[Figure]) -> list[Advice]:
    """The advice at the measured context.

    None on the context where conversations are little of what is read, and no rate called impossible that only the
    length of an assumed prompt makes so.
    """
    before = replace(measured, prompt_tokens=c.context - c.output / 2) if measured.rows else measured
    # In tokens, not steps: the accepted tokens of speculative decoding are in the figures of `expected` already.
    found = unsorted(replace(before, accept_length=1.0) if c.accepted > 1 else before, expected)
    read, kept = expected.weight_bytes_per_step or 0.0, expected.kv_bytes_per_step or 0.0
    small = kept < _SMALL_SHARE * (read + kept)
    unlike = any(f.key == "decode" and f.place == BEYOND_ASSUMED for f in shown)
    left = {"low rate: context"} if small else set()
    return [a for a in found if a.code not in left | ({"decode above ceiling"} if unlike else set())]


def _alone(measured: Measured, expected: Expected, c: Conditions, said: Sequence[Advice]) -> list[Advice]:
    """The advice; but where one request came at a time nothing waits, so a late first token is slow prefill."""
    if not c.alone:
        return list(said)
    kept = [a for a in said if a.code not in ("high TTFT: queue", "high TTFT: token budget")]
    seconds, band = prefill_seconds(measured), expected.prefill_s
    if not c.stated or not seconds or not band or seconds <= band.high:
        return kept
    sentence = (
        f"The prompt takes {duration(seconds)} with nothing to wait for, {digits(seconds / band.mid)} "
        f"times the expected {duration(band.mid)}: before the hardware, look whether all layers are on the device, "
        "which attention kernel runs and how many tokens a step takes."
    )
    return [*kept, Advice("warning", "slow prefill", sentence)]
