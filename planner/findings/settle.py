"""What a buyer must know, worst first: one sentence each with the figures, and the smallest change that flips it.

The change is computed: where memory is short every candidate is held against the memory again, elsewhere it is planned
and kept only if the fault is gone with it and nothing worse came. Where the load is the next limit, the change says so.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

from planner.findings.capacity import keeping_up, told_load
from planner.findings.changes import Change
from planner.findings.draft import Draft, Severity
from planner.findings.fitting import alternatives
from planner.findings.keeping import keeping
from planner.findings.order import priced, ranked
from planner.findings.partial import partly
from planner.findings.rules import RULES, RUNNING
from planner.findings.trial import VERDICTS, Trial
from planner.plan import Plan

ORDER: Final = {"error": 0, "warning": 1, "info": 2}


@dataclass(frozen=True)
class Finding:
    """One sentence with its figures; `change` flips it (scenario keys), `others` are larger changes that do too.

    partial  changes that do not flip it, but leave far less of it
    """

    severity: Severity
    code: str
    sentence: str
    change: Change | None = None
    others: tuple[Change, ...] = ()
    partial: tuple[Change, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "severity": self.severity, "code": self.code, "sentence": self.sentence,
            "change": dict(self.change.choices) if self.change else None,
            "change_sentence": self.change.sentence if self.change else None,
            "alternatives": [_printed(c) for c in self.others],
            "partial": [_printed(c) for c in self.partial],
        }  # fmt: skip


def _printed(change: Change) -> dict[str, Any]:
    return {"change": dict(change.choices), "sentence": change.sentence}


def findings(p: Plan, codes: Collection[str] | None = None) -> tuple[Finding, ...]:
    """The findings of a plan, worst first; with `codes` only those, whose changes alone are then tried."""
    trial = Trial(p, drafts, _running)
    found = (_settled(trial, draft) for draft in drafts(p) if codes is None or draft.code in codes)
    return tuple(sorted(found, key=lambda f: ORDER[f.severity]))


def drafts(p: Plan) -> list[Draft]:
    """What the rules find, with changes that are not tried yet."""
    return [draft for rule in RULES for draft in rule(p)]


def _running(p: Plan) -> list[Draft]:
    return [draft for rule in RUNNING for draft in rule(p)]


def _settled(trial: Trial, draft: Draft) -> Finding:
    changes = _changes(trial, draft)
    short = draft.memory or draft.keep_up is not None
    made = [c.choices for c in changes]
    part = tuple(c for c in partly(trial) if c.choices not in made) if short else ()
    first = changes[0] if changes else None
    return Finding(draft.severity, draft.code, draft.sentence, first, tuple(changes[1:]), part)


def _changes(trial: Trial, draft: Draft) -> list[Change]:
    """The changes that flip a finding, smallest first."""
    p, s = trial.now, trial.now.scenario
    if draft.limit is not None:
        return keeping(trial, draft.limit)
    if draft.memory:
        fit = [priced(s, change) for change in alternatives(p)]
        return ranked(s, [told_load(trial, change) for change in fit] if s.load == "open" else fit)
    if draft.keep_up is not None:
        return ranked(s, [c for c in keeping_up(trial, draft.keep_up) if trial.flips(draft.code, c)])
    return ranked(s, _first(trial, draft))


def _first(trial: Trial, draft: Draft) -> list[Change]:
    """The first of the candidates that flip a finding."""
    found: list[Change] = []
    for change in draft.candidates:
        if len(found) < draft.most and trial.flips(draft.code, change) and (not draft.serves or _serves(trial, change)):
            found.append(priced(trial.now.scenario, change))
    return found


def _serves(trial: Trial, change: Change) -> bool:
    """Whether as many requests are served at full load as now, at least."""
    after = trial.after(change)
    return after is not None and after.load.capacity_per_s >= trial.now.load.capacity_per_s


__all__ = ["ORDER", "VERDICTS", "Finding", "drafts", "findings"]
