"""Changes that let a scenario keep up with its arrivals: one at a time first, then two that need less hardware."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from planner.devices import load_devices
from planner.findings.changes import (
    Change,
    best_seats,
    bought,
    lighter_weights,
    more_devices,
    narrower_cache,
)
from planner.findings.fitting import WORTHWHILE
from planner.findings.order import priced
from planner.findings.support import suits
from planner.findings.trial import Trial
from planner.plan import Plan
from planner.scenario import bounds
from planner.units import count

# From this share of capacity on waits stay long, and a change says so (rules.NEAR has the warning). A judgement after
# the queue of one server, whose mean wait is r / (1 - r) service times: 5.7 at 0.85.
BUSY: Final = 0.85
# Arrivals below capacity by a hair: what merely flips the finding.
BARELY: Final = 1 / 1.0001
# Pairs that are offered, and larger devices that are tried for them, at most: each is planned.
MOST_PAIRS: Final = 3
MOST_TRIED: Final = 5


def keeping_up(trial: Trial, most: float = BARELY) -> list[Change]:
    """Changes after which arrivals are at most this share of what is expected to be served.

    Each says how busy the copies are then. Of more copies, the fewest that will do and those below `BUSY`.
    """
    p, target = trial.now, min(most, BUSY)
    parts = [(change, _busy_after(trial, change)) for change in _parts(p)]
    alone = [_told(priced(p.scenario, change), busy) for change, busy in parts if busy <= most]
    now = p.load.utilization or math.inf
    fewest, calm = (_with_copies(p, None, now, share) for share in (most, target))
    copies = [c for c in (fewest, calm) if c]
    singles = [*alone[:2], *(copies[:1] if fewest == calm else copies)]
    if alone:
        return singles
    limit = WORTHWHILE * bought(p.scenario, copies[-1]) if copies else math.inf
    pairs = [pair for change, busy in parts if (pair := _with_copies(p, change, busy, target))]
    pairs.sort(key=lambda change: bought(p.scenario, change))
    return [*singles, *[pair for pair in _kinds(pairs) if bought(p.scenario, pair) <= limit][:MOST_PAIRS]]


def told_load(trial: Trial, change: Change) -> Change:
    """A change that mends the memory, which says so where the arrivals are the next limit."""
    busy = _busy_after(trial, change)
    return _told(change, busy) if busy > BUSY else change


def _told(change: Change, busy: float) -> Change:
    """The change, which says how busy the copies are then; with long waits it is not calm."""
    return Change(change.choices, f"{change.sentence}{_then(busy)}", change.calm and busy <= BUSY)


def _kinds(pairs: Iterable[Change]) -> Iterator[Change]:
    """The first of each kind: one with fewer bits, one with another device."""
    seen: set[frozenset[str]] = set()
    for pair in pairs:
        if (kind := frozenset(pair.choices)) not in seen:
            seen.add(kind)
            yield pair


def _parts(p: Plan) -> Iterator[Change]:
    """What makes a copy serve more: a smaller reserve, fewer bits, more devices in it, a larger device."""
    seats, _ = best_seats(p)
    if seats is not None:
        yield seats
    yield from narrower_cache(p)
    yield from list(lighter_weights(p))[:2]
    yield from list(more_devices(p))[:1]
    yield from _larger(p)


def _larger(p: Plan) -> Iterator[Change]:
    """Shipped devices with more memory and no less bandwidth, least memory first, one of each size."""
    mine = p.device
    sizes: dict[int, Change] = {}
    fit = (
        d for d in load_devices()
        if suits(d, p.engine, p.work) and not d.announced and d.kind == mine.kind
        and d.memory_bytes_usable > mine.memory_bytes_usable and d.bandwidth >= mine.bandwidth
    )  # fmt: skip
    for d in sorted(fit, key=lambda d: (d.vendor != mine.vendor, d.memory_bytes_usable, -d.bandwidth)):
        sizes.setdefault(round(d.memory_bytes_usable / 1e10), Change({"device": d.label}, f"{d.label} instead"))
    yield from list(sizes.values())[:MOST_TRIED]


def _busy_after(trial: Trial, change: Change) -> float:
    """Arrivals over what can be served once the change is made; infinite where nothing can."""
    after = trial.after(change)
    busy = after.load.utilization if after else None
    return math.inf if busy is None else busy


def _with_copies(p: Plan, change: Change | None, busy: float, most: float) -> Change | None:
    """The change (or none), after which so busy, with as many copies as leave arrivals at most that share of capacity.

    Copies serve alike, so that they divide the load.
    """
    now = p.scenario.copies
    _, limit = bounds("copies")
    if not math.isfinite(busy):
        return None
    n = max(math.ceil(now * busy / most), now + 1)
    if limit is not None and n > limit:
        return None
    choices = {} if change is None else change.choices
    return _told(priced(p.scenario, Change({**choices, "copies": n}, _copies(n, change))), busy * now / n)


def _copies(n: int, change: Change | None) -> str:
    if change is None:
        return f"{count(n)} copies"
    if "device" in change.choices:
        return f"{count(n)} copies on {change.choices['device']}"
    if "devices" in change.choices:
        return f"{count(n)} copies of {change.choices['devices']} devices"
    comma = "," if "max_num_seqs" in change.choices else ""
    return f"{change.sentence}{comma} and {count(n)} copies"


def _then(busy: float) -> str:
    if busy >= 1:
        return ", then arrivals overload it"
    return f", then {busy:.0%} busy" + (": waits stay long" if busy > BUSY else "")
