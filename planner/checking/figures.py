"""Each measured figure beside what bounds it and what is expected at its load."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from planner import efficiency
from planner.band import Band
from planner.checking import limits
from planner.checking.conditions import Conditions, conditions
from planner.efficiency import Expectation
from planner.measurements import Measured
from planner.measurements.limits import CEILING_ALLOWANCE, prefill_seconds
from planner.plan import Plan
from planner.units import digits, duration

BEYOND: Final = "beyond the limit"
BEYOND_ASSUMED: Final = "beyond the limit of the prompt that was assumed"


@dataclass(frozen=True)
class Figure:
    """One measured figure beside what bounds it and what is expected, in its own unit.

    key       decode, prefill, ttft or total
    limit     ceiling of a rate, floor of a time
    expected  p10, middle and p90 of such servers: low is the slow end of a rate, the fast end of a time
    planned   the middle of the scenario's own expectation, where it is calibrated
    most      share of the limit beyond which a figure is impossible: vendors round, some arithmetic beats the peak
    assumed   the limit is of the scenario's prompt, as the output does not state how long its own was
    """

    key: str
    name: str
    unit: str
    measured: float | None
    limit: float
    expected: Band
    planned: float | None = None
    most: float = 1 + CEILING_ALLOWANCE
    assumed: bool = False

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
            return BEYOND_ASSUMED if self.assumed else BEYOND
        slow, fast = sorted((self.share_of(self.expected.low), self.share_of(self.expected.high)))
        if self.share < slow:
            return "slower than expected"
        return "faster than expected" if self.share > fast else "as expected"


def said(f: Figure, value: float) -> str:
    """A value of a figure with its unit."""
    return f"{digits(value)} tokens/s" if f.faster_is_larger else duration(value)


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
        assumed = measured is not None and _assumed(measured, c, rate, c.accepted / limits.emptiest_step_floor(p, c))
        found.append(Figure("decode", name, "tokens/s", rate, c.accepted * ceiling, rates, planned, assumed=assumed))
    seconds = prefill_seconds(measured) if measured else None
    if measured is None or seconds:
        planned = limits.prefill_band(p, c, mine)[1].mid if mine else None
        engine = measured is not None and measured.prefill_s is not None
        label = "Prefill, timed by the engine" if engine else "First token (TTFT)"
        most = max(1 + CEILING_ALLOWANCE, floor / limits.least_prefill(p, c))
        assumed = measured is not None and not c.stated
        found.append(Figure("prefill", label, "s", seconds, floor, prefill, planned, most, assumed))
    if measured is not None and c.closed and not c.alone:
        found += _closed(measured, p, c, base)
    return tuple(found)


def _assumed(measured: Measured, c: Conditions, rate: float | None, most: float) -> bool:
    """Whether a rate's limit is of an assumed prompt, behind a shorter one of which the rate may be; `most`: of none.

    llama-bench states what stood before its answer.
    """
    return not c.stated and not measured.rows and (rate or 0.0) <= most * (1 + CEILING_ALLOWANCE)


def _closed(measured: Measured, p: Plan, c: Conditions, base: Expectation) -> list[Figure]:
    """Mean TTFT of the run, its start-up burst included, and all conversations together."""
    steady = limits.loop(p, c, base)
    floor, _ = limits.prefill_band(p, c, base)
    fast, slow = base.prefill_band
    found = []
    if measured.ttft_s.mean:
        mid = float(steady.ttft_run_s)
        band = Band(*(max(t, floor) for t in (mid * fast, mid, mid * slow)))
        found.append(Figure("ttft", "Mean TTFT, waiting for others included", "s", measured.ttft_s.mean, floor, band,
                            assumed=not c.stated))
    if measured.output_tok_per_s:
        fast, slow = min(fast, base.decode_band[0]), max(slow, base.decode_band[1])
        mid = float(steady.output_tok_per_s) * p.scenario.copies
        # All that are in flight: memory and seats are the plan's, and no bound on what was measured.
        all_of_them, written = replace(c, together=c.flight), c.accepted * c.flight * p.scenario.copies
        most = written / limits.step_floor(p, all_of_them)
        assumed = _assumed(measured, c, measured.output_tok_per_s, written / limits.emptiest_step_floor(p, all_of_them))
        band = Band(*(min(r, most) for r in (mid / slow, mid, mid / fast)))
        found.append(Figure("total", "Decode, all conversations", "tokens/s", measured.output_tok_per_s, most, band,
                            assumed=assumed))
    return found
