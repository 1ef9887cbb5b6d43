"""One formula of the method page."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Step:
    """What a formula gives, the formula, the same with a scenario's numbers, and where it comes from.

    Each equation in `filled` can be worked out again from what it shows, up to the rounding of its figures.
    """

    title: str
    formula: str
    filled: str
    source: str
