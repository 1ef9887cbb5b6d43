"""The cells of a published row: texts and numbers, or the reason why a cell is neither."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from planner.errors import PlannerError


class SkippedRow(PlannerError):
    """A row that cannot be predicted; the message is the reason."""


def text(row: Mapping[str, Any], column: str) -> str:
    """A cell as a stripped text; "" where it is blank, absent or not a number."""
    value = row.get(column)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return str(value).strip()


def number(row: Mapping[str, Any], column: str) -> float | None:
    """A cell as a finite number, None where it is blank. Raises SkippedRow for anything else."""
    found = text(row, column)
    if not found:
        return None
    try:
        value = float(found)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SkippedRow(f"{column} is {found:.40}; expected a number")
    return value


def amount(row: Mapping[str, Any], column: str, zero: bool = False) -> float | None:
    """A cell as a positive number (or 0, where that means something), None where it is blank. Raises SkippedRow."""
    value = number(row, column)
    if value is not None and (value < 0 or (value == 0 and not zero)):
        expected = "a number from 0" if zero else "a positive number"
        raise SkippedRow(f"{column} is {text(row, column):.40}; expected {expected}")
    return value


def count(row: Mapping[str, Any], column: str, default: int) -> int:
    """A cell as a positive whole number, `default` where it is blank. Raises SkippedRow for anything else."""
    value = amount(row, column)
    if value is None:
        return default
    if value != int(value):
        raise SkippedRow(f"{column} is {text(row, column):.40}; expected a whole number")
    return min(int(value), 100_000)


def measured_value(row: Mapping[str, Any]) -> float:
    """The row's figure, more than 0. Raises SkippedRow."""
    try:
        value = amount(row, "value")
    except SkippedRow as reason:
        raise SkippedRow(f"no measured value: {reason}") from None
    if value is None:
        raise SkippedRow("no measured value")
    return value
