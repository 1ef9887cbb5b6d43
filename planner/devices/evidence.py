"""Where each figure of the device table comes from, and what others ask for an hour of a device."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType

DATA = Path(__file__).resolve().parents[2] / "data"


@dataclass(frozen=True)
class Source:
    """One filled number of the device table: its text, where it was read, and how far to trust it."""

    field: str
    value: str
    source: str
    confidence: str


@dataclass(frozen=True)
class Price:
    """One quoted price: US dollars for one device for one hour; `date` is None where the source has none."""

    device_id: str
    provider: str
    product: str
    usd_per_hour: float
    tier: str
    date: str | None
    source: str


def read_rows(name: str) -> Iterator[dict[str, str]]:
    """Rows of a CSV file in `data/`, each a dictionary of stripped texts."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield {key: (value or "").strip() for key, value in row.items() if key is not None}


@lru_cache(maxsize=1)
def _sources() -> Mapping[str, Mapping[str, Source]]:
    found: dict[str, dict[str, Source]] = {}
    for row in read_rows("device_sources.csv"):
        source = Source(row["field"], row["value"], row["source"], row["confidence"])
        found.setdefault(row["id"], {})[source.field] = source
    return {device_id: MappingProxyType(fields) for device_id, fields in found.items()}


def sources_of(device_id: str) -> Mapping[str, Source]:
    """Sources of one device by column name; empty for a device that is not in the table."""
    return _sources().get(device_id, MappingProxyType({}))


@lru_cache(maxsize=1)
def prices() -> tuple[Price, ...]:
    """Every quote collected, in the order of `data/prices.csv`."""
    return tuple(
        Price(
            device_id=row["id"],
            provider=row["provider"],
            product=row["sku"],
            usd_per_hour=float(row["usd_per_device_hour"]),
            tier=row["class"],
            date=row["date"] or None,
            source=row["source"],
        )
        for row in read_rows("prices.csv")
    )
