"""The limits that a user sets, time to first token and time per output token, against the floor and the expectation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from planner import service
from planner.band import Band
from planner.findings.draft import Draft, Limit
from planner.layout import Array, Number
from planner.load.closed import closed_loop
from planner.plan import Plan
from planner.units import count, duration, exact, rounded, span

# How far from a limit a plan is: kept by the whole expected band, inside it, missed by all of it, below the floor.
KEPT, AT_RISK, MISSED, IMPOSSIBLE = range(4)
LIMITS: Final[tuple[Limit, ...]] = ("ttft", "tpot")
Ends = tuple[Array, Array, Array]  # low, middle, high


def limit_of(p: Plan, limit: Limit) -> float | None:
    """Seconds that the user allows (None: no limit)."""
    return p.scenario.max_ttft if limit == "ttft" else p.scenario.max_tpot


def floor(p: Plan, limit: Limit) -> float | None:
    """Seconds that no software beats with all that are in flight; None where nothing is held."""
    return None if not p.loads else p.prefill.floor if limit == "ttft" else service.token_floor(p)


def expected(p: Plan, limit: Limit) -> Band | None:
    """The expected seconds to the first token, or per further token, with all that are in flight.

    None where there is none: nothing is held, the answer is one token, or the queue grows without end.
    """
    if not p.loads:
        return None
    return service.first_token(p) if limit == "ttft" else service.token_time(p)


def bands(p: Plan, users: Number, prompt: Number) -> dict[Limit, Ends]:
    """Low, middle and high of the expected seconds with so many users of a copy and such prompts (arrays broadcast)."""
    s, e = p.scenario, p.expectation
    full = p.decode.batch.memory_full_at if p.decode.batch else 1
    cached = np.minimum(s.shared_prefix, np.asarray(prompt, float) - 1)
    loop = closed_loop(
        p.work, p.machine, e.decode, e.prefill, users, prompt, s.output, cached, max_seqs=full, accepted=s.accepted
    )
    return {"ttft": _ends(loop.ttft_s, e.prefill_band), "tpot": _ends(loop.tpot_s, e.decode_band)}


def _ends(middle: Array, factors: tuple[float, float]) -> Ends:
    fast, slow = factors
    return middle * fast, middle, middle * slow


def level(p: Plan, limit: Limit) -> int:
    """How far a plan is from keeping a limit: KEPT, AT_RISK, MISSED or IMPOSSIBLE."""
    allowed = limit_of(p, limit)
    least = None if allowed is None else floor(p, limit)
    if allowed is None or least is None:
        return KEPT
    if least > allowed:
        return IMPOSSIBLE
    times = expected(p, limit)
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
            code = f"{limit}-{'missed' if far == MISSED else 'at-risk'}"
            yield Draft("warning", code, _expected(p, limit, far), limit=limit)


def _impossible(p: Plan, limit: Limit) -> str:
    allowed, least = _typed(limit_of(p, limit) or 0.0), duration(floor(p, limit) or 0.0)
    if limit == "ttft":
        return f"The first token cannot come within {allowed}: prefill alone takes at least {least}."
    assert p.decode.batch is not None
    return f"A token every {allowed} is out of reach with {_conversations(p.decode.batch.size)}: at least {least} each."


def _expected(p: Plan, limit: Limit, far: int) -> str:
    allowed, times, batch = limit_of(p, limit), expected(p, limit), p.decode.batch
    assert allowed is not None and times is not None and batch is not None
    near = any(rounded(end, 2) == rounded(allowed, 2) for end in (times.low, times.high))
    range_ = f"{span(times.low, times.high, 3 if near else 2)} with {_conversations(batch.size)}"
    what = f"A token is expected every {range_}"
    if limit == "ttft":
        seat = " at once, the wait for a seat included" if service.waiting(p) else ""
        what = f"The first token is expected after {range_}{seat}"
    how = "even the fast end misses it" if far == MISSED else "it may be missed"
    return f"{what}; your limit is {_typed(allowed)}: {how}."


def _typed(seconds: float) -> str:
    """Seconds as the user gave them, without zeros at the end."""
    return f"{exact(seconds)} s" if seconds >= 1 else f"{exact(seconds * 1e3)} ms"


def _conversations(n: int) -> str:
    return f"{count(n)} conversation{'' if n == 1 else 's'}"
