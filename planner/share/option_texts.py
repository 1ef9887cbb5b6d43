"""Values of choices <-> the texts that stand for them in the form and in links."""

from __future__ import annotations

import math
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
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            number = math.nan
        if math.isnan(number):
            raise PlannerError(f"{name} = {text[:40]!r} is not a number; expected {expected(name)}.")
        return number if kind(name) is float or math.isinf(number) else _whole(number)
    return text


def _whole(number: float) -> int | float:
    return int(number) if number.is_integer() else number
