"""Values of choices <-> the texts that stand for them in the form and in links."""

from __future__ import annotations

import math
import re
from typing import Any, Final

from planner.errors import PlannerError
from planner.names import named
from planner.precision import FORMATS, KV_FORMATS
from planner.scenario import expected, kind

_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("false", "0", "no", "off")
_LABELS: Final[dict[str, dict[str, str]]] = {
    "load": {"closed": "Users at once", "open": "Arrivals per second"},
    "weights": {"checkpoint": "As published", **{name: f.label for name, f in FORMATS.items()}},
    "kv": {"auto": "As published", **{name: f.label for name, f in KV_FORMATS.items()}},
    "device_kind": {"gpu": "GPU or accelerator", "cpu": "CPU", "apu": "Shared memory (APU)"},
    "window_pages": {"engine": "Engine's way", "freed": "Freed", "kept": "Kept"},
    "state": {"engine": "Engine's way", "fp32": "FP32", "bf16": "BF16"},
}


def labels(field: str) -> dict[str, str]:
    """Value -> option text of a field whose options have texts of their own (empty for others)."""
    return _LABELS.get(field, {})


def to_text(value: Any) -> str:
    """A value as a link writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def to_value(name: str, text: Any) -> Any:
    """A parameter's text as the field's value; option texts become the names behind them."""
    if not isinstance(text, str):
        return text
    options = labels(name)
    if found := named(text, {value: value for value in options}) or named(text, {t: v for v, t in options.items()}):
        return found
    if kind(name) is bool:
        word = text.strip().lower()
        if word not in (*_TRUE, *_FALSE):
            raise PlannerError(f"{name} = {text[:40]!r} cannot be used; expected true or false.")
        return word in _TRUE
    if kind(name) in (int, float):
        number = read_number(text)
        if number is None:
            raise PlannerError(f"{name} = {text[:40]!r} is not a number; expected {expected(name)}{_how(text)}.")
        return number if kind(name) is float or math.isinf(number) else _whole(number)
    return text


# Commas between groups of three digits, and nowhere else: 0,5 and 2,50 are decimals in half of the world.
_GROUPED: Final = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?", re.ASCII)


def read_number(text: str) -> float | None:
    """The number that a text writes, with or without thousands separators (1,000,000); None where it writes none."""
    text = text.strip()
    if _GROUPED.fullmatch(text):
        text = text.replace(",", "")
    try:
        number = math.nan if "_" in text else float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number


def _how(text: str) -> str:
    return ", with a point before the decimals" if "," in text else ""


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else number
