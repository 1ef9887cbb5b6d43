"""`data/efficiency.csv`: what the fit to published measurements found, one parameter a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

TABLE: Final = Path(__file__).resolve().parents[2] / "data" / "efficiency.csv"
FIELDS: Final = ("class", "engine", "mixture", "parameter", "type", "value", "low", "high", "n", "devices", "years",
                 "rows")  # fmt: skip

Key = tuple[str, str, str]
"""Device class, engine family, "dense" or "experts"."""


@dataclass(frozen=True)
class Value:
    """One parameter of a group: value, its range when one device is left out, and the rows behind it (n may be 0)."""

    value: float
    low: float | None
    high: float | None
    n: int
    devices: int
    years: str
    rows: str


@dataclass(frozen=True)
class Group:
    """The parameters of one device class, engine and kind of model, by (parameter, storage type)."""

    key: Key
    values: dict[tuple[str, str], Value]

    def get(self, parameter: str, storage: str = "") -> Value:
        """A parameter, that of the storage type where it has one."""
        return self.values[parameter, storage]


@lru_cache(maxsize=1)
def groups() -> dict[Key, Group]:
    """All groups by key, read once."""
    found: dict[Key, dict[tuple[str, str], Value]] = {}
    with TABLE.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            key = (row["class"], row["engine"], row["mixture"])
            found.setdefault(key, {})[row["parameter"], row["type"]] = Value(
                float(row["value"]), _number(row["low"]), _number(row["high"]), int(row["n"]), int(row["devices"]),
                row["years"], row["rows"],
            )  # fmt: skip
    return {key: Group(key, values) for key, values in found.items()}


def _number(text: str) -> float | None:
    return float(text) if text else None


# Where to look when a class has no measurements of an engine: the class most like it first.
NEAREST: Final = {
    "geforce": ("workstation", "datacentre"), "workstation": ("geforce", "datacentre"),
    "datacentre": ("workstation", "geforce"), "apple": ("unified", "geforce"),
    "unified": ("apple", "geforce", "workstation", "datacentre"),
    "nvidia_unified": ("workstation", "geforce", "datacentre"), "radeon": ("geforce", "workstation", "datacentre"),
    "instinct": ("datacentre", "workstation"), "intel": ("radeon", "geforce", "datacentre"),
    "accelerator": ("datacentre",), "cpu": ("unified", "apple", "geforce", "datacentre"),
}  # fmt: skip
# All engines that run Hugging Face checkpoints in batches, pooled.
SERVERS: Final = "servers"
LOCAL: Final = "llama.cpp"


def candidates(device_class: str, engine: str, mixture: bool) -> Iterator[tuple[Key, int]]:
    """Groups to look in, nearest first, with the number of ways in which each differs from what was asked."""
    pools = (engine,) if engine == LOCAL else (engine, SERVERS)
    kinds = ("experts", "dense") if mixture else ("dense",)
    for away, near in enumerate((device_class, *NEAREST[device_class])):
        for other, kind in enumerate(kinds):
            for further, pool in enumerate(pools):
                yield (near, pool, kind), away + other + further
    for kind in kinds:
        yield ("datacentre", SERVERS, kind), 4
        yield ("geforce", LOCAL, kind), 4


def nearest(known: set[Key] | dict[Key, Group], device_class: str, engine: str, mixture: bool) -> tuple[Key, int]:
    """The nearest group that there are measurements of, and how many steps away it is."""
    for key, away in candidates(device_class, engine, mixture):
        if key in known:
            return key, away
    raise LookupError(f"no evidence near {device_class}, {engine}")
