"""Changes that make a scenario hold what is asked: each candidate is held against the memory, not assumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from planner import memory
from planner.devices import load_devices
from planner.errors import PlannerError
from planner.findings.changes import (
    LIGHTER,
    STEP,
    Change,
    best_seats,
    changed,
    fewer_seats,
    fewer_users,
    lighter_weights,
    more_devices,
    narrower_cache,
    runs_here,
)
from planner.findings.support import suits
from planner.plan import Plan
from planner.precision import FORMATS
from planner.resolve import asked_per_copy, budget_of, work_of
from planner.scenario import Scenario
from planner.units import count
from planner.work import Work

# Devices per copy that are tried together with another device: what a machine usually holds, and two of them.
NODES: Final = (2, 4, 8, 16)

# Another device is offered from this share of the present bandwidth on. A judgement: decode follows bandwidth, and the
# band of what a device of this kind reaches starts at 0.73 to 0.93 of its middle (data/efficiency.csv), so that a fifth
# less would hardly be told apart, and more would trade a fault of memory for one of speed.
NO_SLOWER: Final = 0.8

# Two changes are offered where they need at most this share of the hardware of more copies alone. A judgement: a second
# change is a second thing that can go wrong, which a few per cent would not pay for.
WORTHWHILE: Final = 0.75


def alternatives(p: Plan) -> list[Change]:
    """Changes after which the scenario fits; where none does alone, two together. Their order is of no meaning."""
    return list(_tried(p)) or list(_pairs(p))


def holds(s: Scenario) -> bool:
    """Whether memory holds the requests asked of one copy (of arrivals: one request, for which a queue can wait)."""
    return memory.verdict(budget_of(s), asked_per_copy(s)) == "fits"


def _works(s: Scenario, change: Change) -> bool:
    try:
        return holds(s.change(**change.choices))
    except PlannerError:
        return False


def _first(s: Scenario, candidates: Iterable[Change]) -> Iterator[Change]:
    for change in candidates:
        if _works(s, change):
            yield change
            return


def _tried(p: Plan) -> Iterator[Change]:
    s, held = p.scenario, p.memory.concurrent
    loads = p.fits != "cannot load"
    yield from _first(s, fewer_seats(p))
    if loads:
        yield from _first(s, narrower_cache(p))
    lighter = list(_first(s, lighter_weights(p)))
    yield from lighter
    if s.load == "closed" and 0 < held * s.copies < s.users:
        n = min(held * s.copies, p.load.holds)
        yield from _first(s, [fewer_users(n)])
    if loads:
        shorter = next(_shorter(s, "prompt", "prompts"), None) or next(_shorter(s, "output", "answers"), None)
        if shorter:
            yield shorter
    yield from _hardware(p, bool(lighter))


def _pairs(p: Plan) -> Iterator[Change]:
    """Two changes: fewer bits with 8-bit conversation memory or another device; several of another device."""
    s = p.scenario
    for lighter in reversed(list(lighter_weights(p))):
        if less := changed(s, lighter):
            others = [*narrower_cache(p), *_other_devices(p, less, work_of(less))]
            pairs = (Change({**lighter.choices, **c.choices}, f"{lighter.sentence} and {c.sentence}") for c in others)
            yield from _first(s, pairs)
        break
    for more in more_devices(p):
        n = more.choices["devices"]
        several = changed(s, more) if n in NODES else None
        if several is not None:
            fit = _other_devices(p, several, work_of(several))
            pairs = (Change({**c.choices, "devices": n}, f"{n} x {c.choices['device']} per copy") for c in fit)
            if found := list(_first(s, pairs)):
                yield from found
                return


def _hardware(p: Plan, lighter: bool) -> Iterator[Change]:
    """Another device, more of them, more copies; where fewer bits alone do not do, both together."""
    s, held = p.scenario, p.memory.concurrent
    yield from _first(s, _other_devices(p))
    if not lighter:
        yield from _first(s, _lighter_on_more(p))
    yield from _first(s, more_devices(p))
    if s.load == "closed" and held < p.asked:
        yield from _copies(p)


def _copies(p: Plan) -> Iterator[Change]:
    """As many copies as hold all users; with a smaller reserve of the engine too where that needs far fewer."""
    s, held = p.scenario, p.memory.concurrent
    alone = -(-s.users // held) if held > 0 else None
    if alone is not None:
        yield from _first(s, [Change({"copies": alone}, f"{count(alone)} copies of the model")])
    seats, more = best_seats(p)
    copies = -(-s.users // more) if seats and more > 0 else None
    if seats and copies and copies > s.copies and (alone is None or copies <= WORTHWHILE * alone):
        words = f"{seats.sentence}, and {count(copies)} copies of the model"
        yield from _first(s, [Change({**seats.choices, "copies": copies}, words)])


def _lighter_on_more(p: Plan) -> Iterator[Change]:
    """The lightest common format on more devices."""
    name = "Q4_K_M" if "gguf" in p.engine.formats else "int4"
    change = Change({"weights": name}, "")
    lighter = changed(p.scenario, change)
    work = work_of(lighter) if lighter is not None else None
    if work is None or not runs_here(p, work):
        return
    if work.rows.stored_bytes.sum() >= LIGHTER * p.work.rows.stored_bytes.sum():
        return
    for more in more_devices(p):
        n = more.choices["devices"]
        yield Change({"weights": name, "devices": n}, f"{FORMATS[name].label} weights on {n} devices per copy")


def _shorter(s: Scenario, field: str, words: str) -> Iterator[Change]:
    """The longest prompt (or answer), in whole steps, with which all asked requests are held."""

    def change(steps: int) -> Change:
        return Change({field: steps * STEP}, f"only {words} of {count(steps * STEP)} tokens")

    low, high = 0, (getattr(s, field) - 1) // STEP
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _works(s, change(middle)) else (low, middle - 1)
    if low:
        yield change(low)


def _other_devices(p: Plan, s: Scenario | None = None, work: Work | None = None) -> Iterator[Change]:
    """Devices with more memory that hold a scenario (the plan's own): of the same maker first, then least memory first.

    Announced ones are left out, and those that the engine or its kernels for these weights are not made for.
    """
    s, work = s or p.scenario, work or p.work
    larger = (
        d for d in load_devices()
        if suits(d, p.engine, work) and not d.announced and d.kind not in ("cpu", "edge")
        and d.bandwidth >= NO_SLOWER * p.device.bandwidth
        and d.memory_bytes_usable > p.device.memory_bytes_usable
    )  # fmt: skip
    for device in sorted(larger, key=lambda d: (d.vendor != p.device.vendor, d.memory_bytes_usable, -d.bandwidth)):
        if memory.verdict(budget_of(s, device, work), asked_per_copy(s)) == "fits":
            yield Change({"device": device.label}, f"{device.label} instead")
