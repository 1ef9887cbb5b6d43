"""What a buyer must know, worst first: one sentence each with the figures, and the smallest change that flips it.

The change is computed: where memory is short every candidate is held against the memory again, elsewhere it is planned
and kept only if the fault is gone with it and nothing worse came. Where the load is the next limit, the change says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from planner.errors import PlannerError
from planner.findings.capacity import keeping_up, told_load
from planner.findings.changes import Change, alternatives, changed
from planner.findings.draft import Draft, Severity
from planner.findings.rules import RULES
from planner.plan import Plan, plan

ORDER: Final = {"error": 0, "warning": 1, "info": 2}
VERDICTS: Final = ("cannot load", "cannot hold one request", "holds fewer than asked", "fits")


@dataclass(frozen=True)
class Finding:
    """One sentence with its figures; `change` flips it (scenario keys), `others` are larger changes that do too."""

    severity: Severity
    code: str
    sentence: str
    change: Change | None = None
    others: tuple[Change, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "severity": self.severity, "code": self.code, "sentence": self.sentence,
            "change": dict(self.change.choices) if self.change else None,
            "change_sentence": self.change.sentence if self.change else None,
            "alternatives": [{"change": dict(c.choices), "sentence": c.sentence} for c in self.others],
        }  # fmt: skip


def findings(p: Plan) -> tuple[Finding, ...]:
    """All findings of a plan, worst first."""
    return tuple(sorted((_settled(p, draft) for draft in drafts(p)), key=lambda f: ORDER[f.severity]))


def drafts(p: Plan) -> list[Draft]:
    """What the rules find, with changes that are not tried yet."""
    return [draft for rule in RULES for draft in rule(p)]


def _settled(p: Plan, draft: Draft) -> Finding:
    changes = alternatives(p) if draft.memory else _first(p, draft)
    if draft.memory and p.scenario.load == "open":
        changes = [told_load(p, change) for change in changes]
    if draft.keep_up is not None:
        changes = [change for change in keeping_up(p, draft.keep_up) if flips(p, draft.code, change)]
    return Finding(draft.severity, draft.code, draft.sentence, changes[0] if changes else None, tuple(changes[1:]))


def _first(p: Plan, draft: Draft) -> list[Change]:
    return next(([change] for change in draft.candidates if flips(p, draft.code, change)), [])


def flips(p: Plan, code: str, change: Change) -> bool:
    """Whether the finding `code` is gone once the change is made, without a worse verdict or a new error."""
    try:
        s = changed(p.scenario, change)
        after = plan(s) if s else None
    except PlannerError:
        return False
    if after is None:
        return False
    now = drafts(after)
    worse = VERDICTS.index(after.fits) < VERDICTS.index(p.fits)
    return not worse and code not in {d.code for d in now} and _errors(now) <= _errors(drafts(p))


def _errors(found: Iterable[Draft]) -> set[str]:
    return {d.code for d in found if d.severity == "error"}
