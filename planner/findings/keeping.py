"""Changes with which a limit is kept: fewer bits, more or faster devices, more copies, fewer users, shorter prompts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from planner.devices import load_devices
from planner.devices.device import Device
from planner.findings.changes import (
    STEP,
    Change,
    best_seats,
    fewer_users,
    lighter_weights,
    more_devices,
    narrower_cache,
)
from planner.findings.draft import Limit
from planner.findings.limits import AT_RISK, KEPT, LIMITS, Ends, bands, expected, level, limit_of
from planner.findings.order import priced, ranked
from planner.findings.support import suits
from planner.findings.trial import Trial
from planner.plan import Plan
from planner.scenario import bounds
from planner.units import count

# Of faster devices so many are planned, and of numbers of users and prompt lengths so many are looked at: bounds of
# the search, which is part of drawing a page.
MOST_TRIED: Final = 2
MOST_POINTS: Final = 256
# Devices of a machine where the table does not say: a judgement after the usual servers.
NODE: Final = 8
# Formats that take little enough from quality to be worth a limit: 8 bit, of which the first that helps is offered.
EIGHT: Final = ("fp8", "int8", "Q8_0")


def keeping(trial: Trial, limit: Limit) -> list[Change]:
    """Changes after which the whole expected band keeps a limit, or at least a part of it, which they say; ranked."""
    p = trial.now
    now = {each: level(p, each) for each in LIMITS}
    best = (_best(trial, limit, now, group) for group in _candidates(p, limit))
    return ranked(p.scenario, [change for change in best if change])


def _best(trial: Trial, limit: Limit, now: dict[Limit, int], group: Iterable[Change]) -> Change | None:
    """The first of a kind of changes that keeps the limit, else the first that may."""
    some = None
    for change in group:
        tried = _tried(trial, limit, now, priced(trial.now.scenario, change))
        if tried and tried.calm:
            return tried
        some = some or tried
    return some


def _tried(trial: Trial, limit: Limit, now: dict[Limit, int], change: Change) -> Change | None:
    """The change with what comes of it; None where it does not help, or harms another limit."""
    after = trial.after(change)
    if after is None or not after.loads:
        return None
    far = level(after, limit)
    if far > AT_RISK or far >= now[limit] or not trial.runs(change):
        return None
    if any(level(after, other) > now[other] for other in LIMITS if other != limit):
        return None
    if far == KEPT:
        return change
    return Change(change.choices, f"{change.sentence}, then it may still be missed", calm=False)


def _candidates(p: Plan, limit: Limit) -> Iterator[Iterable[Change]]:
    """Kinds of changes to try, each from what asks less to what asks more."""
    seats, _ = best_seats(p) if p.fits != "fits" else (None, 0)
    yield [seats] if seats else []
    yield narrower_cache(p)
    yield [change for change in lighter_weights(p) if change.choices["weights"] in EIGHT]
    factor = _factor(p, limit)
    yield _faster(p, limit, factor)
    yield _more(p, factor)
    users = list(_users(p, limit))
    yield [Change({"copies": n}, f"{count(n)} copies of the model") for n in _copies(p, users)]
    yield [fewer_users(n * p.scenario.copies) for n in users]
    yield _shorter(p, limit)


def _more(p: Plan, factor: float) -> list[Change]:
    """As many devices of one machine as it takes, one step more where a step is not as fast as hoped."""
    node, need = p.device.typical_devices_per_node or NODE, factor * p.scenario.devices
    if not p.engine.tensor_parallel:
        return []
    return [c for c in more_devices(p) if need <= c.choices["devices"] <= node][:MOST_TRIED]


def _factor(p: Plan, limit: Limit) -> float:
    """How many times as fast it must become for the slow end of the band to keep the limit; 1 where unknown."""
    times, allowed = expected(p, limit), limit_of(p, limit)
    return times.high / allowed if times and allowed else 1.0


def _faster(p: Plan, limit: Limit, factor: float) -> Iterator[Change]:
    """Shipped devices of this kind that are as many times as fast as it takes, the slowest of them first."""

    def speed(d: Device) -> float:
        return d.peak("fp16")[0] if limit == "ttft" else d.bandwidth

    need = factor * speed(p.device)
    fit = (
        d for d in load_devices()
        if suits(d, p.engine, p.work) and not d.announced and d.kind == p.device.kind and speed(d) >= need
        and d.memory_bytes_usable >= p.memory.taken
    )  # fmt: skip
    for d in sorted(fit, key=lambda d: (d.vendor != p.device.vendor, speed(d)))[:MOST_TRIED]:
        yield Change({"device": d.label}, f"{d.label} instead")


def _users(p: Plan, limit: Limit) -> Iterator[int]:
    """The most users of a copy, fewer than now, with whom the limit is kept."""
    s, allowed = p.scenario, limit_of(p, limit)
    if s.load == "closed" and p.asked > 1 and allowed is not None:
        users = np.unique(np.linspace(1, p.asked - 1, MOST_POINTS).astype(int))
        yield from _last(users.tolist(), bands(p, users, s.prompt)[limit], allowed)


def _copies(p: Plan, users: list[int]) -> list[int]:
    """As many copies as serve all users with so many on each."""
    most = bounds("copies")[1] or math.inf
    return [copies for n in users if (copies := -(-p.scenario.users // n)) <= most]


def _shorter(p: Plan, limit: Limit) -> Iterator[Change]:
    """The longest prompts, in whole steps, with which the limit is kept."""
    allowed, steps = limit_of(p, limit), (p.scenario.prompt - 1) // STEP
    if allowed is None or steps < 1:
        return
    prompts = STEP * np.unique(np.linspace(1, steps, MOST_POINTS).astype(int))
    for n in _last(prompts.tolist(), bands(p, p.asked, prompts.astype(float))[limit], allowed):
        yield Change({"prompt": n}, f"only prompts of {count(n)} tokens")


def _last(values: list[int], times: Ends, allowed: float) -> Iterator[int]:
    """The largest value whose whole band keeps the limit, else the largest with which its fast end does."""
    low, _, high = times
    for end in (high, low):
        kept = np.flatnonzero(end <= allowed)
        if len(kept):
            yield values[int(kept[-1])]
            return
