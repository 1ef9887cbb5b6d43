"""What each user is expected to get while all are served, others' prompts included, and what is served in all: bands.

Decode alone (plan.py) leaves out that steps also carry the others' prompts; the closed loop (load/closed.py) has them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from planner import curves
from planner.band import Band
from planner.load import little
from planner.load.closed import ClosedLoop
from planner.plan import Plan, loop_of, rates, residence_of
from planner.roofline import CEILING


@dataclass(frozen=True)
class Together:
    """All conversations in flight in all copies, decoding while no prompt is read: their number, tokens/s of all."""

    size: int
    ceiling: float
    expected: Band


@dataclass(frozen=True)
class Served:
    """The load at the fast and at the slow end of what whole batches are expected to take, beside the middle."""

    fast: little.Load
    mid: little.Load
    slow: little.Load

    @property
    def capacity(self) -> Band:
        """Requests per second that are expected to be served with as many at once as fit."""
        return Band(self.slow.capacity_per_s, self.mid.capacity_per_s, self.fast.capacity_per_s)

    @property
    def answered(self) -> Band | None:
        """Requests per second that go out (None: nothing is held)."""
        return _band(self.slow.arrivals_per_s, self.mid.arrivals_per_s, self.fast.arrivals_per_s)

    @property
    def stay(self) -> Band | None:
        """Seconds each request stays (None: no end at one of the three)."""
        return _band(self.fast.time_in_system_s, self.mid.time_in_system_s, self.slow.time_in_system_s)

    @property
    def in_flight(self) -> Band | None:
        """Requests inside at once (None: no end at one of the three)."""
        return _band(self.fast.in_flight, self.mid.in_flight, self.slow.in_flight)


def _band(low: float | None, mid: float | None, high: float | None) -> Band | None:
    return None if low is None or mid is None or high is None else Band(low, mid, high)


def held_per_copy(p: Plan) -> int:
    """Requests that memory holds and the engine admits at once in one copy."""
    return p.load.holds // p.scenario.copies


def inside(p: Plan) -> float:
    """Requests in service at once in all copies: those asked for, at most those held (past capacity all held)."""
    flow = p.load
    return float(flow.holds if flow.in_flight is None else min(flow.in_flight, flow.holds))


def waiting(p: Plan) -> int:
    """Users who wait for a seat at any moment, in all copies (closed loop; with arrivals the queue is not counted)."""
    return max(p.scenario.users - p.load.holds, 0) if p.scenario.load == "closed" else 0


def together(p: Plan) -> Together | None:
    """What all conversations in flight write, dealt evenly to the copies (None: not one is held)."""
    batch, copies = p.decode.batch, p.scenario.copies
    size = round(np.ceil(inside(p)))
    if batch is None or size < 1:
        return None
    if size >= batch.size * copies:
        e = batch.expected
        return Together(size, batch.ceiling * copies, Band(e.low * copies, e.mid * copies, e.high * copies))
    each, more = divmod(size, copies)
    sizes = np.array([each, each + 1] if each else [each + 1], float)
    number = np.array([copies - more, more] if each else [more], float)
    out = rates(p.work, p.machine, p.expectation, sizes, p.decode.context, p.scenario.accepted)
    ceiling, low, mid, high = (float(np.sum(r * number)) for r in out)
    return Together(size, ceiling, Band(low, mid, high))


def loop(p: Plan, n: float) -> ClosedLoop:
    """The expected steady state of one copy with n requests in service."""
    return loop_of(p.scenario, p.work, p.machine, p.expectation.decode, p.expectation.prefill, n)


def token_floor(p: Plan) -> float | None:
    """Seconds per token that no software beats with so many at once (None: not one request is held)."""
    batch = p.decode.batch
    return 1 / batch.ceiling_per_user if batch else None


def token_time(p: Plan) -> Band | None:
    """Expected seconds per output token (TPOT) with so many at once, others' prompts included.

    None where there is none: nothing is held, or the answer is one token. Never below the floor.
    """
    floor = token_floor(p)
    if p.decode.batch is None or floor is None or p.scenario.output < 2:
        return None
    mid = float(loop(p, p.decode.batch.size).tpot_s)
    fast, slow = p.expectation.decode_band
    return Band(max(mid * fast, floor), max(mid, floor), max(mid * slow, floor))


def first_token(p: Plan) -> Band | None:
    """Expected seconds to the first token (TTFT) with so many at once, waits for others' prompts and a seat included.

    None where nothing is held or the queue grows without end. Never below the floor of the prompt alone.
    """
    stays = p.load.time_in_system_s
    if p.decode.batch is None or stays is None:
        return None
    here = loop(p, p.decode.batch.size)
    seat = max(stays - float(here.e2e_s), 0.0) if waiting(p) else 0.0
    mid = float(here.ttft_s)
    (fast, slow), (seat_fast, seat_slow) = p.expectation.prefill_band, p.expectation.batch_band
    low, middle, high = mid * fast + seat * seat_fast, mid + seat, mid * slow + seat * seat_slow
    floor = p.prefill.floor
    return Band(max(low, floor), max(middle, floor), max(high, floor))


def alone(p: Plan) -> float:
    """Expected seconds of one request that has a copy to itself, from sending it to the end of its answer."""
    return float(loop(p, 1.0).e2e_s)


def served(p: Plan) -> Served:
    """The load at both ends of the band of whole batches.

    The band is of throughput, so its factors are those of the time a request stays with n in flight; neither end is
    faster than the ceiling.
    """
    s, holds = p.scenario, held_per_copy(p)
    expected = residence_of(s, p.work, p.machine, p.expectation.prefill, p.expectation.decode)
    floor = residence_of(s, p.work, p.machine.bound, CEILING, CEILING, request_s=0.0)
    most = curves.capacity_ceiling(p)

    def seconds(n: little.Array, factor: float) -> little.Array:
        return np.asarray(np.maximum(expected(n) * factor, floor(n)))

    def end(factor: float) -> little.Load:
        made = little.load(s.load, s.users, s.rate, s.copies, holds, partial(seconds, factor=factor))
        return made if made.capacity_per_s <= most else _capped(made, most)

    fast, slow = p.expectation.batch_band
    return Served(end(fast), p.load, end(slow))


def _capped(flow: little.Load, most: float) -> little.Load:
    """The same load with the capacity at the ceiling, from which rounding may have led it away."""
    return little.Load(flow.mode, flow.in_flight, flow.arrivals_per_s, flow.time_in_system_s, flow.utilization,
                       flow.steady_state, most, flow.holds, flow.backlog_per_s)  # fmt: skip
