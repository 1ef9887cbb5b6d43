"""Measured efficiencies as choices of the scenario: measured time over the expected one, for decode and for prefill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner.checking import limits
from planner.checking.conditions import Conditions
from planner.efficiency import Expectation
from planner.measurements import Advice, Measured
from planner.measurements.limits import CEILING_ALLOWANCE, prefill_seconds
from planner.plan import Plan
from planner.scenario import bounds
from planner.units import count, digits, duration, few, rounded

CLEARED: Final[dict[str, Any]] = {"calibrated_decode": None, "calibrated_prefill": None, "calibrated_on": None}
"""The choices that undo a calibration."""

_NAME_LENGTH: Final = 80
# Below this a prompt is read in about the time of reading the weights, which tells little of long prompts.
_SHORT_PROMPT: Final = 256


@dataclass(frozen=True)
class Calibration:
    """Factors on the expected times; None where that side was not measured by itself.

    on       what it was measured with
    reasons  why a side is left as it is, or what to mind
    refused  why nothing is taken at all ("" where something is)
    taken    the scenario holds it already
    """

    decode: float | None = None
    prefill: float | None = None
    on: str = ""
    reasons: tuple[str, ...] = ()
    refused: str = ""
    taken: bool = False

    @property
    def choices(self) -> dict[str, Any]:
        """The scenario's choices that it sets, empty where it is refused; a side not measured keeps what it has."""
        if self.refused:
            return {}
        sides = {"calibrated_decode": self.decode, "calibrated_prefill": self.prefill}
        return {name: value for name, value in sides.items() if value is not None} | {"calibrated_on": self.on}


def calibration(
    measured: Measured, p: Plan, c: Conditions, base: Expectation, impossible: Sequence[Advice]
) -> Calibration:
    """The calibration that makes the measured figures the middle of the expectation, which stays below the ceiling."""
    if impossible:
        return Calibration(refused=f"Not taken as a calibration: a figure is impossible. {impossible[0].sentence}")
    prefill, about_prefill = _prefill(measured, p, c, base)
    decode, about_decode = _decode(measured, p, c, base, prefill)
    reasons = tuple(r for r in (about_decode, about_prefill) if r)
    if decode is None and prefill is None:
        return Calibration(reasons=reasons, refused="There is nothing to calibrate on: " + (reasons[0] if reasons else
                           "the output holds neither a decode nor a prefill time."))  # fmt: skip
    found = Calibration(decode, prefill, _source(measured, p, c), reasons)
    return replace(found, taken=all(getattr(p.scenario, name) == value for name, value in found.choices.items()))


def _source(measured: Measured, p: Plan, c: Conditions) -> str:
    """What it was measured with and on, in at most 80 characters."""
    tool = measured.label.split(" (")[0]
    load = f"{tool}, {count(c.prompt)} + {count(c.output)} tokens" + ("" if c.alone else f", {few(c.flight)} at once")
    whole = f"{load}; {p.architecture.name} on {p.device.label}"
    return whole if len(whole) <= _NAME_LENGTH else load[:_NAME_LENGTH]


def _prefill(measured: Measured, p: Plan, c: Conditions, base: Expectation) -> tuple[float | None, str]:
    seconds = prefill_seconds(measured)
    if not seconds:
        return None, "Prefill was not measured, so it stays as it is."
    if not c.stated:
        return None, "Prefill stays as it is: the output does not state how long the prompt was."
    if not c.alone:
        return None, (
            f"Prefill stays as it is: with {few(c.flight)} requests at once the first token also waits for the "
            "others. Measure once with one request at a time to calibrate it."
        )
    floor, band = limits.prefill_band(p, c, base)
    factor, said = _bounded("calibrated_prefill", max(seconds, floor) / band.mid, "Prefill")
    if factor is not None and c.prompt - c.cached < _SHORT_PROMPT:
        said = (
            f"Mind that few prompt tokens were computed ({count(c.prompt - c.cached)}): reading the weights and fixed "
            f"overheads take most of their time. {_SHORT_PROMPT} tokens or more say more about long prompts."
        )
    return factor, said


def _decode(
    measured: Measured, p: Plan, c: Conditions, base: Expectation, prefill: float | None
) -> tuple[float | None, str]:
    """Measured step over the expected one, what others' prefills add to it taken off first."""
    if not measured.decode_tok_per_s:
        return None, "Decode was not measured, so it stays as it is."
    whole = c.accepted / measured.decode_tok_per_s
    step, added = limits.parts(p, c, base)
    others = added * (prefill or p.scenario.calibrated_prefill or 1.0)
    least = limits.step_floor(p, c)
    alone = whole - others
    if not c.stated and not measured.rows and whole < least * (1 - CEILING_ALLOWANCE):
        return None, (
            f"Decode stays as it is: it is faster than the scenario's prompt of {count(c.prompt)} tokens allows, and "
            "the output does not state how long its prompt was."
        )
    if alone < least and others > 0:
        return None, (
            f"Decode stays as it is: of {duration(whole)} a step, {duration(others)} are expected to go into the "
            f"prompts of others, and what is left is less than a step can take ({duration(least)}). Measure with fewer "
            "requests at once."
        )
    return _bounded("calibrated_decode", max(alone, least) / step, "Decode")


def _bounded(name: str, factor: float, side: str) -> tuple[float | None, str]:
    _, high = bounds(name)
    if high is not None and factor > high:
        return None, (
            f"{side} stays as it is: it was measured {digits(factor)} times slower than expected, more than the "
            f"{digits(high)} times that a calibration may say. Something other than efficiency is at work."
        )
    # No measurement repeats better than that, and the factor travels in the link.
    return rounded(factor, 4), ""
