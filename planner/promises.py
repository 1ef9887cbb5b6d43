"""Whether the user's limits for the first token and for each further one are kept, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner import service
from planner.band import Band
from planner.plan import Plan
from planner.units import duration, exact, rounded, span

Tone = str  # of a verdict: one of TONES
# Best first.
TONES: Final = ("good", "warn", "bad")


@dataclass(frozen=True)
class Promise:
    """How one limit stands: tone (good: kept; warn: may be or is expected to be missed; bad: cannot be kept), words."""

    tone: Tone
    start: str
    said: str


def allowed(p: Plan) -> str:
    """The limits that are set: "first token within 2 s, a token every 30 ms"; empty where none is."""
    s = p.scenario
    first = f"first token within {_limit(s.max_ttft)}" if s.max_ttft else ""
    further = f"a token every {_limit(s.max_tpot)}" if s.max_tpot else ""
    return ", ".join(part for part in (first, further) if part)


def _limit(seconds: float) -> str:
    """A limit as it was typed: 2 s, 30 ms."""
    return f"{exact(seconds)} s" if seconds >= 1 else f"{exact(seconds * 1e3)} ms"


def promises(p: Plan) -> list[Promise]:
    """How the limits that are set stand, the worst first; none where nothing is held."""
    s = p.scenario
    if not p.loads:
        return []
    out = []
    if s.max_tpot:
        floor, band = service.token_floor(p), service.token_time(p)
        if floor is not None and band is not None:
            out.append(_held(s.max_tpot, floor, band, "at least {} per token", "a token is expected every {}"))
    if s.max_ttft:
        words = "the first token takes at least {}", "the first token is expected after {}"
        out.append(_held(s.max_ttft, p.prefill.floor, service.first_token(p), *words))
    return sorted(out, key=lambda promise: -TONES.index(promise.tone))


def _held(limit: float, floor: float, band: Band | None, least: str, expected: str) -> Promise:
    """A floor above the limit cannot be kept; a band above or around it is expected to miss or may.

    band  None: the queue grows without end
    """
    allows = f"you allow {_limit(limit)}"
    if floor > limit:
        return Promise("bad", "Misses your limit", f"{least.format(duration(floor))}, {allows}")
    if band is None:
        return Promise("bad", "Misses your limit", f"the first token waits in a queue that grows, {allows}")
    near = any(rounded(end, 2) == rounded(limit, 2) for end in (band.low, band.high))
    said = f"{expected.format(span(band.low, band.high, 3 if near else 2))}, {allows}"
    if band.low > limit:
        return Promise("warn", "Is expected to miss your limit", said)
    return Promise("warn", "May miss your limit", said) if band.high > limit else Promise("good", "", said)


def faults(p: Plan) -> tuple[Tone, str]:
    """Tone of the worst limit, and a sentence for each that is not kept for sure (empty: all are)."""
    bad = [promise for promise in promises(p) if promise.tone != "good"]
    return bad[0].tone if bad else "good", " ".join(f"{b.start}: {b.said}." for b in bad)


def kept(p: Plan) -> str:
    """The sentence on limits that are expected to be kept; empty where none is."""
    good = [promise.said for promise in promises(p) if promise.tone == "good"]
    limits = "limit" if len(good) == 1 else "limits"
    return f"Within your {limits}: {'; '.join(good)}." if good else ""


def worse(*tones: Tone) -> Tone:
    """The worst of some tones."""
    return max(tones, key=TONES.index)
