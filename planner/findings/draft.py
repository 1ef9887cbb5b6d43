"""A finding whose changes are not tried yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.findings.changes import Change

Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True)
class Draft:
    """A finding, and changes to try: `candidates`, smallest first, of which the first that helps is offered.

    With `memory` those that make the load fit; with `keep_up` those that leave arrivals at most this share of capacity.
    """

    severity: Severity
    code: str
    sentence: str
    candidates: tuple[Change, ...] = ()
    memory: bool = False
    keep_up: float | None = None
