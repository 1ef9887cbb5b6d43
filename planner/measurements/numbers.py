"""Text to numbers: what tools print as `1,234.5`, `N/A`, `inf`, `1m13.81s` or `3.56 GiB`, read without surprises."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

# Larger figures are taken for damage: 1e15 s, tokens or bytes is beyond any run of any machine. Smaller ones are zero:
# no tool resolves less than a nanosecond, and nothing may be divided by them.
_LARGEST, _SMALLEST = 1e15, 1e-9
_NUMBER = re.compile(r"[-+]?(?:\d[\d,]*\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?")
_GO_DURATION = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)(h|ms|us|µs|μs|ns|m|s)")
_GO_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ns": 1e-9}
_BYTES = {"KIB": 2.0**10, "MIB": 2.0**20, "GIB": 2.0**30, "TIB": 2.0**40, "KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}


def number(value: object) -> float | None:
    """A finite figure >= 0 from a JSON value or the first number of a text; None for anything else."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return _sane(value)
    if not isinstance(value, str):
        return None
    found = _NUMBER.match(value.strip()[:40])
    return _sane(found.group().replace(",", "")) if found else None


def _sane(value: float | str) -> float | None:
    try:
        figure = float(value)
    except (ValueError, OverflowError):
        return None
    if not math.isfinite(figure) or not 0 <= figure <= _LARGEST:
        return None
    return figure if figure >= _SMALLEST else 0.0


def positive(value: object) -> float | None:
    """As `number`, and None for zero: for a duration or rate that must not be divided by."""
    figure = number(value)
    return figure if figure else None


def count(value: object) -> int | None:
    """As `number`, rounded to a whole count."""
    figure = number(value)
    return None if figure is None else round(figure)


def scaled(value: object, factor: float) -> float | None:
    """`number` times a unit factor, e.g. 1e-3 for milliseconds to seconds."""
    figure = number(value)
    return None if figure is None else figure * factor


def ratio(top: float | None, bottom: float | None) -> float | None:
    """Top / bottom, None where either is unknown or the bottom is zero."""
    return None if top is None or not bottom else top / bottom


def text(value: object) -> str | None:
    """A trimmed non-empty string of at most 200 characters, else None."""
    if not isinstance(value, str) or not value.strip():
        return None
    return value.strip()[:200]


def at(document: object, *path: str) -> Any:
    """The value under nested keys, None where a key is absent or a level is no object."""
    for key in path:
        if not isinstance(document, Mapping):
            return None
        document = document.get(key)
    return document


def go_duration(value: str) -> float | None:
    """Seconds of a Go duration such as `1m13.81s`, `97.88ms` or `2h0m3s`; None where it is not one."""
    parts = _GO_DURATION.findall(value.strip()[:60])
    if not parts or "".join(figure + unit for figure, unit in parts) != value.strip():
        return None
    return sum(float(figure) * _GO_SECONDS[unit] for figure, unit in parts)


def byte_size(value: str) -> float | None:
    """Bytes of a printed size: `3.56 GiB` is 2^30 times, `5.2 GB` is 10^9 times; None without a known unit."""
    parts = value.split()
    if len(parts) != 2 or parts[1].upper() not in _BYTES:
        return None
    return scaled(parts[0], _BYTES[parts[1].upper()])
