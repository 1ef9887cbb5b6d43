"""Numbers as people read them. SI inside; conversion happens only here."""

from __future__ import annotations

import math
from typing import Final

GB: Final = 1e9
GIB: Final = float(2**30)


def rounded(value: float, significant: int = 3) -> float:
    """A number rounded to so many significant digits."""
    if value == 0 or not math.isfinite(value):
        return value
    return round(value, significant - 1 - math.floor(math.log10(abs(value))))


def digits(value: float, significant: int = 3) -> str:
    """A number with so many significant digits, thousands separated, no exponent: 1,230 or 0.0123."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else "unlimited"
    # Rounding first: 99.96 becomes 100, which has no digit after the point left.
    near = rounded(value, significant)
    places = significant - 1 - math.floor(math.log10(abs(near)))
    return f"{near:,.{max(places, 0)}f}"


def gib(size: float) -> str:
    """Bytes as GiB (2^30), or as MiB or KiB when that is far below one."""
    if abs(size) < 0.5 * 2**20 and size:
        return f"{digits(size / 2**10)} KiB"
    if abs(size) < 0.1 * GIB and size:
        return f"{digits(size / 2**20)} MiB"
    return f"{digits(size / GIB)} GiB"


def gb(size: float) -> str:
    """Bytes as GB (10^9)."""
    return f"{digits(size / GB)} GB"


def both(size: float) -> str:
    """Bytes as GiB with GB in brackets, where a capacity is judged."""
    return f"{gib(size)} ({gb(size)})"


def count(value: float) -> str:
    """A whole number with thousands separators."""
    return f"{round(value):,}"


def exact(value: float, significant: int = 6) -> str:
    """A number with at most so many significant digits and no zeros at its end; from 10^-4 to 10^15 no exponent."""
    near = rounded(value, significant)
    return f"{near:,.15g}" if abs(near) < 1e15 else f"{near:g}"


def rate(value: float) -> str:
    """A rate with three significant digits."""
    return digits(value)


def duration(seconds: float) -> str:
    """Seconds as minutes, s, ms or µs."""
    near = rounded(seconds)
    if near >= 120:
        return f"{digits(near / 60)} min"
    if near >= 1 or near == 0:
        return f"{digits(near)} s"
    return f"{digits(near * 1e3)} ms" if near >= 1e-3 else f"{digits(near * 1e6)} µs"


def between(low: float, high: float, significant: int = 2) -> str:
    """A range of numbers: 0.17 to 0.49; one number where both are the same at so many digits."""
    first, last = digits(low, significant), digits(high, significant)
    return last if first == last else f"{first} to {last}"


def span(low: float, high: float, significant: int = 2) -> str:
    """A range of times in one unit: 26 to 47 ms."""
    most = rounded(high, significant)
    if most >= 120 and low >= 60:
        return f"{between(low / 60, high / 60, significant)} min"
    size, unit = (1.0, "s") if most >= 1 or most == 0 else (1e-3, "ms") if most >= 1e-3 else (1e-6, "µs")
    return f"{between(low / size, high / size, significant)} {unit}"


def params(value: float) -> str:
    """A number of parameters: 8.03 B, 596 M."""
    for size, unit in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if rounded(value) >= size:
            return f"{digits(value / size)} {unit}"
    return digits(value)


def few(number: float) -> str:
    """A mean number of requests: whole from ten on."""
    return count(number) if number >= 10 or abs(number - round(number)) < 0.05 else digits(number, 2)
