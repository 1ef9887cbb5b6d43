"""The order of changes, from what asks little of the user to what takes something away, and what hardware they need."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner.findings.changes import Change, bought, changed
from planner.scenario import Scenario
from planner.units import count

HARDWARE: Final = frozenset({"device", "devices", "pipeline", "copies"})
# What the user asked for: less of it is no mend but a smaller wish, so it comes last.
ASKED: Final = frozenset({"users", "prompt", "output", "rate"})
# How much a change asks, where hardware is equal: a setting of the engine, bits of the conversation memory, another
# engine, bits of the weights (which touch quality most), more of the same hardware, other hardware.
_ASKS: Final = {"max_num_seqs": 0, "kv": 1, "engine": 2, "weights": 3, "devices": 4, "pipeline": 4, "copies": 4,
                "device": 5}  # fmt: skip


def reduces(change: Change) -> bool:
    """Whether a change takes from what the user asked for."""
    return not ASKED.isdisjoint(change.choices)


def ranked(s: Scenario, changes: Iterable[Change]) -> list[Change]:
    """Changes to a scenario, smallest first.

    First those that keep all that is asked, then those that leave no strain; then by devices in all, by the number of
    things changed, and by how much each asks. The smallest calm change of one thing stands before any of two. A change
    that does no more than another with one thing less is left out.
    """
    given = list(changes)
    kept = [c for c in given if not any(_needless(c, other) for other in given)]
    kept.sort(key=lambda c: (reduces(c), not c.calm, bought(s, c), len(c.choices), _asks(c)))
    single = next((c for c in kept if len(c.choices) == 1 and c.calm and not reduces(c)), None)
    return kept if single is None else [single, *(c for c in kept if c is not single)]


def _asks(change: Change) -> int:
    return max(_ASKS.get(key, 0) for key in change.choices)


def _needless(change: Change, other: Change) -> bool:
    """Whether the other change does the same with less."""
    return other.calm >= change.calm and other.choices.items() < change.choices.items()


def priced(s: Scenario, change: Change) -> Change:
    """A change that buys hardware says how many devices in all it comes to, unless that is one."""
    after = changed(s, change)
    if after is None or HARDWARE.isdisjoint(change.choices):
        return change
    devices = bought(s, change)
    if devices == 1 or ("device" not in change.choices and devices <= bought(s, Change({}, ""))):
        return change
    label = after.device_row.label
    of = "" if label in change.sentence else f" {label}"
    return Change(change.choices, f"{change.sentence} ({count(devices)}{of} in all)", change.calm)
