"""A finding whose changes are not tried yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from planner.findings.changes import Change

Severity = Literal["error", "warning", "info"]
Limit = Literal["ttft", "tpot"]


@dataclass(frozen=True)
class Draft:
    """A finding, and changes to try: `candidates`, of which the first `most` that help are offered.

    With `memory` those that make the load fit; with `keep_up` those that leave arrivals at most this share of capacity;
    with `limit` those that keep this limit. With `serves` a change must also serve at least as many requests at full
    load as the plan as it is.
    """

    severity: Severity
    code: str
    sentence: str
    candidates: tuple[Change, ...] = ()
    memory: bool = False
    keep_up: float | None = None
    limit: Limit | None = None
    most: int = 1
    serves: bool = False
