"""Measured figures beside floor, ceiling and band at the measured load, and what to do about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from planner import efficiency
from planner.checking import impossible, limits
from planner.checking.calibration import Calibration, calibration
from planner.checking.conditions import Conditions, conditions
from planner.checking.identity import same_system
from planner.efficiency import Expectation
from planner.measurements import Advice, Band, Expected, Measured, advice
from planner.measurements.limits import CEILING_ALLOWANCE, prefill_seconds
from planner.plan import Plan
from planner.units import digits, duration

# A shorter context cannot help where conversation memory is less of what a step reads.
_SMALL_SHARE: Final = 0.05
_ORDER: Final = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Figure:
    """One measured figure beside what bounds it and what is expected, in its own unit.

    key       decode, prefill, ttft or total
    limit     ceiling of a rate, floor of a time
    expected  p10, middle and p90 of such servers: low is the slow end of a rate, the fast end of a time
    planned   the middle of the scenario's own expectation, where it is calibrated
    most      share of the limit beyond which a figure is impossible: vendors round, some arithmetic beats the peak
    """

    key: str
    name: str
    unit: str
    measured: float | None
    limit: float
    expected: Band
    planned: float | None = None
    most: float = 1 + CEILING_ALLOWANCE

    @property
    def faster_is_larger(self) -> bool:
        """Whether it is a rate."""
        return self.unit == "tokens/s"

    def share_of(self, value: float) -> float:
        """Speed as a share of the limit: 1 is all that the hardware can do."""
        return value / self.limit if self.faster_is_larger else self.limit / value

    @property
    def share(self) -> float | None:
        """Share of the limit that was measured."""
        return None if not self.measured else self.share_of(self.measured)

    @property
    def place(self) -> str | None:
        """Where the measured figure lies."""
        if self.share is None or self.measured is None:
            return None
        if self.share > self.most:
            return "beyond the limit"
        slow, fast = sorted((self.share_of(self.expected.low), self.share_of(self.expected.high)))
        return "slower than usual" if self.share < slow else "faster than usual" if self.share > fast else "as usual"


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
                            "refused": self.calibration.refused or None},
        }  # fmt: skip


def compare(measured: Measured, p: Plan) -> Comparison:
    """The comparison, at the load that was measured; bands are those of published measurements, not calibrated ones."""
    c = conditions(measured, p)
    p = replace(p, work=p.work.reading(round(c.prompt)))
    base = efficiency.expectation(p.device, p.engine, p.work)
    expected = limits.expected(p, c, base)
    shown = figures(measured, p, c, base)
    said = _said(measured, expected, c)
    found = [
        *impossible.more(measured, expected, c, shown),
        *same_system(measured, p),
        *_alone(measured, expected, c, said),
    ]
    found.sort(key=lambda item: _ORDER[item.severity])
    return Comparison(
        measured, c, shown, expected, tuple(found),
        calibration(measured, p, c, base, [a for a in found if a.severity == "error"]),
        base.basis + (f"; {base.nearest}" if base.nearest else ""),
    )  # fmt: skip


def planned(p: Plan) -> tuple[Figure, ...]:
    """What one conversation of the scenario should measure, before anything was."""
    c = conditions(Measured(tool="", label="", kind="single"), p)
    return figures(None, p, c, efficiency.expectation(p.device, p.engine, p.work))


def figures(measured: Measured | None, p: Plan, c: Conditions, base: Expectation) -> tuple[Figure, ...]:
    """Decode and prefill, and what closed loops add; without a measurement, the two that it will be held against."""
    ceiling, steps = limits.decode_band(p, c, base)
    floor, prefill = limits.prefill_band(p, c, base)
    rates = Band(*(c.accepted * r for r in (steps.low, steps.mid, steps.high)))
    mine = p.expectation if p.expectation.calibrated else None
    name = "Decode, one conversation" if c.alone else "Decode, each conversation"
    rate = measured.decode_tok_per_s if measured else None
    found = []
    if measured is None or rate:
        planned = c.accepted * limits.decode_band(p, c, mine)[1].mid if mine else None
        found.append(Figure("decode", name, "tokens/s", rate, c.accepted * ceiling, rates, planned))
    seconds = prefill_seconds(measured) if measured else None
    if measured is None or seconds:
        planned = limits.prefill_band(p, c, mine)[1].mid if mine else None
        engine = measured is not None and measured.prefill_s is not None
        label = "Prefill, timed by the engine" if engine else "First token (TTFT)"
        most = max(1 + CEILING_ALLOWANCE, floor / limits.least_prefill(p, c))
        found.append(Figure("prefill", label, "s", seconds, floor, prefill, planned, most))
    if measured is not None and c.closed and not c.alone:
        found += _closed(measured, p, c, base)
    return tuple(found)


def _closed(measured: Measured, p: Plan, c: Conditions, base: Expectation) -> list[Figure]:
    """Mean TTFT of the run, its start-up burst included, and all conversations together."""
    steady = limits.loop(p, c, base)
    floor, _ = limits.prefill_band(p, c, base)
    fast, slow = base.prefill_band
    found = []
    if measured.ttft_s.mean:
        mid = float(steady.ttft_run_s)
        band = Band(*(max(t, floor) for t in (mid * fast, mid, mid * slow)))
        found.append(Figure("ttft", "Mean TTFT, waiting for others included", "s", measured.ttft_s.mean, floor, band))
    if measured.output_tok_per_s:
        fast, slow = min(fast, base.decode_band[0]), max(slow, base.decode_band[1])
        mid = float(steady.output_tok_per_s) * p.scenario.copies
        # All that are in flight: memory and seats are the plan's, and no bound on what was measured.
        most = c.accepted * c.flight / limits.step_floor(p, replace(c, together=c.flight)) * p.scenario.copies
        band = Band(*(min(r, most) for r in (mid / slow, mid, mid / fast)))
        found.append(Figure("total", "Decode, all conversations", "tokens/s", measured.output_tok_per_s, most, band))
    return found


def _said(measured: Measured, expected: Expected, c: Conditions) -> list[Advice]:
    """The advice at the measured context; none on the context where conversations are little of what is read."""
    before = replace(measured, prompt_tokens=c.context - c.output / 2) if measured.rows else measured
    # In tokens, not steps: the accepted tokens of speculative decoding are in the figures of `expected` already.
    found = advice(replace(before, accept_length=1.0) if c.accepted > 1 else before, expected)
    read, kept = expected.weight_bytes_per_step or 0.0, expected.kv_bytes_per_step or 0.0
    small = kept < _SMALL_SHARE * (read + kept)
    return [a for a in found if not (small and a.code == "low rate: context")]


def _alone(measured: Measured, expected: Expected, c: Conditions, said: Sequence[Advice]) -> list[Advice]:
    """The advice; but where one request came at a time nothing waits, so a late first token is slow prefill."""
    if not c.alone:
        return list(said)
    kept = [a for a in said if a.code not in ("high TTFT: queue", "high TTFT: token budget")]
    seconds, usual = prefill_seconds(measured), expected.prefill_s
    if not c.stated or not seconds or not usual or seconds <= usual.high:
        return kept
    sentence = (
        f"The prompt takes {duration(seconds)} with nothing to wait for, {digits(seconds / usual.mid)} "
        f"times the usual {duration(usual.mid)}: before the hardware, look whether all layers are on the device, which "
        "attention kernel runs and how many tokens a step takes."
    )
    return [*kept, Advice("warning", "slow prefill", sentence)]
