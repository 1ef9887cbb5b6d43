"""Changes that do not hold all that is asked, but far more of it than now."""

from __future__ import annotations

from typing import Final

from planner.findings.changes import Change, best_seats
from planner.findings.trial import Trial
from planner.units import count, digits

# A change that does not flip a finding is worth saying from this many times the requests held now. A judgement: less
# would be one more button that leaves the fault where it is.
TIMES: Final = 2.0


def partly(trial: Trial) -> tuple[Change, ...]:
    """A smaller reserve of the engine with which a copy holds at least `TIMES` what it does now, with the figures."""
    p, s = trial.now, trial.now.scenario
    now = p.load.holds
    change, _ = best_seats(p)
    after = trial.after(change) if change else None
    if change is None or after is None or after.load.holds < TIMES * max(now, 0.5) or not trial.sound(change):
        return ()
    held = after.load.holds
    of = f" of {count(s.users)}" if s.load == "closed" else ""
    said = f"{change.sentence}: holds {count(held)}{of} instead of {count(now)}"
    times = after.load.capacity_per_s / p.load.capacity_per_s if p.load.capacity_per_s else 0.0
    if times >= TIMES:
        said += f", and serves {digits(times, 2)} times as much"
    return (Change(change.choices, said, calm=False),)
