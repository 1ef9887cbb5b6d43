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


class Trial:
    """A plan and what comes of changes to it; each change is planned once."""

    def __init__(self, p: Plan, find: Callable[[Plan], list[Draft]]) -> None:
        """p: the plan as it is; find: what the rules find with a plan."""
        self.now = p
        self._find = find
        self._plans: dict[str, Plan | None] = {}
        self._found: dict[str, frozenset[str]] = {}

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

    def _codes(self, p: Plan, key: str) -> frozenset[str]:
        if key not in self._found:
            self._found[key] = frozenset(_marked(self._find(p)))
        return self._found[key]

    def flips(self, code: str, change: Change) -> bool:
        """Whether the finding `code` is gone once the change is made, without a new fault."""
        return self.sound(change) and code not in {c.split(":")[1] for c in self._after(change)}

    def sound(self, change: Change) -> bool:
        """Whether a change can be made without a worse verdict, a new error, or something that does not run."""
        after = self.after(change)
        if after is None or VERDICTS.index(after.fits) < VERDICTS.index(self.now.fits):
            return False
        return _faults(self._after(change)) <= _faults(self._codes(self.now, ""))

    def _after(self, change: Change) -> frozenset[str]:
        after = self.after(change)
        return frozenset() if after is None else self._codes(after, repr(sorted(change.choices.items())))


def _marked(found: Iterable[Draft]) -> Iterable[str]:
    return (f"{d.severity}:{d.code}" for d in found)


def _faults(codes: Iterable[str]) -> set[str]:
    return {c for c in codes if c.startswith("error:") or c.split(":")[1] in RUNS}
