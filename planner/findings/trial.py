"""Trying a change: the plan that comes of it, made once for all findings, and whether it brings new faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from planner.errors import PlannerError
from planner.findings.changes import Change, changed
from planner.findings.draft import Draft
from planner.plan import Plan, plan

VERDICTS: Final = ("cannot load", "cannot hold one request", "holds fewer than asked", "fits")
# Warnings that a change must not bring: what is offered has to run.
RUNS: Final = frozenset({"format-needs-engine", "kv-needs-engine", "engine-needs-newer", "format-not-on-device"})

Find = Callable[[Plan], list[Draft]]


class Trial:
    """A plan and what comes of changes to it; each change is planned once."""

    def __init__(self, p: Plan, find: Find, find_running: Find) -> None:
        """p: the plan as it is; find: what all rules find with a plan, or those on whether it fits and runs."""
        self.now = p
        self._find, self._find_running = find, find_running
        self._plans: dict[str, Plan | None] = {}
        self._found: dict[tuple[Find, str], frozenset[str]] = {}

    def after(self, change: Change) -> Plan | None:
        """The plan once a change is made; None where it cannot be made."""
        key = repr(sorted(change.choices.items()))
        if key not in self._plans:
            s = changed(self.now.scenario, change)
            try:
                self._plans[key] = plan(s) if s else None
            except PlannerError:
                self._plans[key] = None
        return self._plans[key]

    def flips(self, code: str, change: Change) -> bool:
        """Whether the finding `code` is gone once the change is made, without a new fault."""
        return self.sound(change) and code not in {c.split(":")[1] for c in self._after(change, self._find)}

    def sound(self, change: Change) -> bool:
        """Whether a change can be made without a worse verdict, a new error, or something that does not run."""
        return self._no_worse(change, self._find)

    def runs(self, change: Change) -> bool:
        """The same, limits aside."""
        return self._no_worse(change, self._find_running)

    def _no_worse(self, change: Change, find: Find) -> bool:
        after = self.after(change)
        if after is None or VERDICTS.index(after.fits) < VERDICTS.index(self.now.fits):
            return False
        return _faults(self._after(change, find)) <= _faults(self._codes(self.now, "", find))

    def _after(self, change: Change, find: Find) -> frozenset[str]:
        after = self.after(change)
        return frozenset() if after is None else self._codes(after, repr(sorted(change.choices.items())), find)

    def _codes(self, p: Plan, key: str, find: Find) -> frozenset[str]:
        if (find, key) not in self._found:
            self._found[find, key] = frozenset(f"{d.severity}:{d.code}" for d in find(p))
        return self._found[find, key]


def _faults(codes: Iterable[str]) -> set[str]:
    return {c for c in codes if c.startswith("error:") or c.split(":")[1] in RUNS}
