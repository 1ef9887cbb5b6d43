"""The limits that a user sets, time to first token and time per output token, against the floor and the expectation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from planner.band import Band
from planner.findings.draft import Draft, Limit, Severity
from planner.layout import Array, Number
from planner.load.closed import closed_loop
from planner.plan import Plan
from planner.units import count, duration, exact

# How far from a limit a plan is: kept by the whole expected band, inside it, missed by all of it, below the floor.
KEPT, AT_RISK, MISSED, IMPOSSIBLE = range(4)
LIMITS: Final[tuple[Limit, ...]] = ("ttft", "tpot")


def limit_of(p: Plan, limit: Limit) -> float | None:
    """Seconds that the user allows (None: no limit)."""
    return p.scenario.max_ttft if limit == "ttft" else p.scenario.max_tpot


def floor(p: Plan, limit: Limit) -> float | None:
    """Seconds that arithmetic allows with all that are in flight; None where nothing is held."""
    batch = p.decode.batch
    if batch is None or not p.loads:
        return None
    return p.prefill.floor if limit == "ttft" else batch.size / batch.ceiling


def expected(p: Plan, limit: Limit) -> Band | None:
    """The expected seconds to the first token, or per further token, with all that are in flight.

    Both hold what other users' prompts take; the first also the wait for a seat where more users ask than are held.
    None where there is none: nothing is held, the answer is one token, or the queue grows without end.
    """
    least = floor(p, limit)
    if least is None or (p.scenario.output < 2 if limit == "tpot" else not p.load.steady_state):
        return None
    low, mid, high = (max(float(x), least) for x in band(p, limit, p.asked, p.scenario.prompt))
    return Band(low, mid, high)


def band(p: Plan, limit: Limit, users: Number, prompt: Number) -> tuple[Array, Array, Array]:
    """Low, middle and high of the expected seconds with so many users of a copy and such prompts (arrays broadcast)."""
    s, e = p.scenario, p.expectation
    full = p.decode.batch.memory_full_at if p.decode.batch else 1
    cached = np.minimum(s.shared_prefix, np.asarray(prompt, float) - 1)
    loop = closed_loop(
        p.work, p.machine, e.decode, e.prefill, users, prompt, s.output, cached, max_seqs=full, accepted=s.accepted
    )
    mid, (fast, slow) = (loop.ttft_s, e.prefill_band) if limit == "ttft" else (loop.tpot_s, e.decode_band)
    return mid * fast, mid, mid * slow


def level(p: Plan, limit: Limit) -> int:
    """How far a plan is from keeping a limit: KEPT, AT_RISK, MISSED or IMPOSSIBLE."""
    allowed, least, times = limit_of(p, limit), floor(p, limit), expected(p, limit)
    if allowed is None or least is None:
        return KEPT
    if least > allowed:
        return IMPOSSIBLE
    if times is None or times.high <= allowed:
        return KEPT
    return MISSED if times.low > allowed else AT_RISK


def limits(p: Plan) -> Iterator[Draft]:
    """The limits that cannot be kept, are expected to be missed, or may be."""
    for limit in LIMITS:
        far = level(p, limit)
        if far == IMPOSSIBLE:
            yield Draft("error", f"{limit}-impossible", _impossible(p, limit), limit=limit)
        elif far != KEPT:
            severity, sentence = _expected(p, limit, far)
            yield Draft(severity, f"{limit}-{'missed' if far == MISSED else 'at-risk'}", sentence, limit=limit)


def _impossible(p: Plan, limit: Limit) -> str:
    allowed, least = _typed(limit_of(p, limit) or 0.0), duration(floor(p, limit) or 0.0)
    if limit == "ttft":
        return f"The first token cannot come within {allowed}: prefill alone takes at least {least}."
    assert p.decode.batch is not None
    return f"A token every {allowed} is out of reach with {_conversations(p.decode.batch.size)}: at least {least} each."


def _expected(p: Plan, limit: Limit, far: int) -> tuple[Severity, str]:
    """Severity and sentence; inside the band it is a warning where the middle is over the limit."""
    allowed, times, batch = limit_of(p, limit), expected(p, limit), p.decode.batch
    assert allowed is not None and times is not None and batch is not None
    span = f"{_span(times)} with {_conversations(batch.size)}"
    what = f"A token is expected every {span}"
    if limit == "ttft":
        waits = p.scenario.load == "closed" and p.asked > batch.memory_full_at
        what = f"The first token is expected after {span}{' at once, the wait for a seat included' if waits else ''}"
    how = "even the fast end misses it" if far == MISSED else "it may be missed"
    severity: Severity = "warning" if times.mid > allowed else "info"
    return severity, f"{what}; your limit is {_typed(allowed)}: {how}."


def _span(times: Band) -> str:
    """A range of seconds, the unit once where both ends have the same."""
    low, high = duration(times.low), duration(times.high)
    return f"{low.split()[0] if low.split()[1:] == high.split()[1:] else low} to {high}"


def _typed(seconds: float) -> str:
    """Seconds as the user gave them, without zeros at the end."""
    return f"{exact(seconds)} s" if seconds >= 1 else f"{exact(seconds * 1e3)} ms"


def _conversations(n: int) -> str:
    return f"{count(n)} conversation{'' if n == 1 else 's'}"
