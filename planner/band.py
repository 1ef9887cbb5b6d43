"""An expectation as a range."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Band:
    """p10, middle and p90 of what measurements of this kind reach, in the unit of the figure it belongs to."""

    low: float
    mid: float
    high: float
