"""Repeated timings and the table that shows them beside a reference of the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median, quantiles

WARM_UP = 2


@dataclass(frozen=True)
class Timing:
    """Seconds of repeated runs of one thing."""

    name: str
    seconds: tuple[float, ...]
    target: float | None = None
    """Seconds that the median should stay under on an idle machine, if there is a target."""

    @property
    def median(self) -> float:
        """Median in seconds."""
        return median(self.seconds)

    @property
    def p95(self) -> float:
        """The 95th percentile in seconds."""
        return quantiles(self.seconds, n=20, method="inclusive")[-1]


def timed(name: str, work: Callable[[], object], repeats: int, target: float | None = None) -> Timing:
    """Run `work` a few times to warm up, then `repeats` times against the clock."""
    for _ in range(WARM_UP):
        work()
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return Timing(name, tuple(seconds), target)


def duration(seconds: float) -> str:
    """A time with a fitting unit and three digits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def table(reference: Timing, others: list[Timing]) -> str:
    """Lines of a Markdown table: each timing, and how many times the reference it takes."""
    lines = [
        "| what | median | p95 | n | times the reference | target |",
        "|---|---|---|---|---|---|",
        f"| reference: {reference.name} | {duration(reference.median)} | {duration(reference.p95)} "
        f"| {len(reference.seconds)} | 1 | |",
    ]
    for item in others:
        ratio = f"{item.median / reference.median:.3g}"
        goal = "" if item.target is None else f"< {duration(item.target)}: {verdict(item)}"
        lines.append(
            f"| {item.name} | {duration(item.median)} | {duration(item.p95)} | {len(item.seconds)} | {ratio} | {goal} |"
        )
    return "\n".join(lines)


def verdict(item: Timing) -> str:
    """Whether the median keeps its target."""
    return "kept" if item.target is not None and item.median < item.target else "MISSED"
