"""The Prometheus text format: samples summed over engines, and quantiles of histograms with their bucket.

Format: https://prometheus.io/docs/instrumenting/exposition_formats/. Gauges that end in `_created` hold a time of
birth and no measurement; they are left out.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.measurements.measured import Stat

_SAMPLE = re.compile(r"^\s*([A-Za-z_:][\w:]*)(?:\{(.*)\})?\s+([-+]?[\w.+-]+)(?:\s+-?\d+)?\s*$")
_LABEL = re.compile(r'\b(\w{1,100})="((?:[^"\\]|\\.)*)"')
# Beyond any count of tokens or requests: damage.
_LARGEST = 1e15
_SCRAPED = re.compile(r"^#\s*scraped_at\s+(\d{9,11}(?:\.\d{1,9})?)")


@dataclass
class Scrape:
    """One reading of /metrics: `values` by name, one entry a label set; `buckets` by histogram name and upper bound."""

    values: dict[str, list[tuple[dict[str, str], float]]] = field(default_factory=dict)
    buckets: dict[str, dict[float, float]] = field(default_factory=dict)
    at_s: float | None = None

    def total(self, *names: str) -> float | None:
        """Sum over engines and models of the first name that is present."""
        for name in names:
            if name in self.values:
                return sum(value for _, value in self.values[name])
        return None

    def mean(self, *names: str) -> float | None:
        """Mean over engines: for a share such as cache usage, which must not be summed."""
        for name in names:
            if entries := self.values.get(name):
                return sum(value for _, value in entries) / len(entries)
        return None

    def by_label(self, name: str, label: str) -> dict[str, float]:
        """Sums by the value of one label."""
        sums: dict[str, float] = {}
        for labels, value in self.values.get(name, ()):
            sums[labels.get(label, "")] = sums.get(labels.get(label, ""), 0.0) + value
        return sums

    def labels(self, label: str) -> list[str]:
        """Every value of one label, in order of appearance."""
        seen = (labels[label] for entries in self.values.values() for labels, _ in entries if label in labels)
        return list(dict.fromkeys(seen))


def parse(lines: Sequence[str]) -> Scrape:
    """Read the samples of one scrape; lines that are no sample are passed over."""
    scrape = Scrape()
    for line in lines:
        if line.startswith("#"):
            if stamp := _SCRAPED.match(line):
                scrape.at_s = float(stamp.group(1))
            continue
        if (match := _SAMPLE.match(line)) is None:
            continue
        name, raw, printed = match.groups()
        value = _float(printed)
        if value is None or name.endswith("_created"):
            continue
        labels = dict(_LABEL.findall(raw or ""))
        if name.endswith("_bucket") and (bound := _float(labels.get("le", ""), infinite=True)) is not None:
            bucket = scrape.buckets.setdefault(name.removesuffix("_bucket"), {})
            bucket[bound] = bucket.get(bound, 0.0) + value
        else:
            scrape.values.setdefault(name, []).append((labels, value))
    return scrape


def _float(printed: str, infinite: bool = False) -> float | None:
    try:
        value = float(printed)
    except ValueError:
        return None
    if math.isinf(value):
        return value if infinite and value > 0 else None
    return value if 0 <= value <= _LARGEST else None


def difference(later: Scrape, earlier: Scrape) -> Scrape | None:
    """What was counted between two scrapes; None where a counter fell, that is, the server was restarted."""
    change = Scrape(at_s=later.at_s)
    for name, entries in later.values.items():
        before = {_key(labels): value for labels, value in earlier.values.get(name, ())}
        moved = [(labels, value - before.get(_key(labels), 0.0)) for labels, value in entries]
        if name.endswith(("_total", "_sum", "_count")) and any(value < 0 for _, value in moved):
            return None
        change.values[name] = moved
    for name, bounds in later.buckets.items():
        old = earlier.buckets.get(name, {})
        change.buckets[name] = {bound: value - old.get(bound, 0.0) for bound, value in bounds.items()}
        if any(value < 0 for value in change.buckets[name].values()):
            return None
    return change


def _key(labels: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(labels.items()))


def histogram(scrape: Scrape, *names: str) -> Stat:
    """Mean (exact: sum / count) and interpolated median, p90 and p99 with their buckets, of the first name present."""
    for name in names:
        total, number = scrape.total(f"{name}_sum"), scrape.total(f"{name}_count")
        if total is None or not number:
            continue
        quantiles = [_quantile(scrape.buckets.get(name, {}), share) for share in (0.5, 0.9, 0.99)]
        (median, median_in), (p90, p90_in), (p99, p99_in) = quantiles
        return Stat(
            mean=total / number,
            median=median,
            p90=p90,
            p99=p99,
            median_bracket=median_in,
            p90_bracket=p90_in,
            p99_bracket=p99_in,
        )
    return Stat()


def _quantile(buckets: Mapping[float, float], share: float) -> tuple[float | None, tuple[float, float | None] | None]:
    """Linear interpolation within the bucket that holds the quantile; in the open last bucket only its lower bound."""
    bounds = sorted(buckets)
    if not bounds or not buckets[bounds[-1]] > 0:
        return None, None
    target = share * buckets[bounds[-1]]
    low, below = 0.0, 0.0
    for bound in bounds:
        held = buckets[bound]
        if held >= target and held > below:
            if math.isinf(bound):
                return None, (low, None)
            return low + (bound - low) * (target - below) / (held - below), (low, bound)
        low, below = bound, max(held, below)
    return None, (low, None)
