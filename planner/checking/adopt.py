"""What an output says about the system, as choices of the scenario: engine, device, model, format and load."""

from __future__ import annotations

import re
from typing import Any, Final

from planner.checking.conditions import conditions
from planner.checking.identity import engine_of, same_system
from planner.devices import find_device
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.measurements import Measured
from planner.plan import Plan
from planner.precision import FORMATS
from planner.scenario import bounds, model_names
from planner.units import rounded

_SEVERAL: Final = re.compile(r"^\s*(\d{1,3})\s?x\s?(.+)$", re.IGNORECASE)
_GGUF: Final = re.compile(r"\b(?:IQ|Q)\d_[A-Z0-9]+(?:_[SML])?(?: - (?:Small|Medium|Large))?", re.IGNORECASE)


def adopted(measured: Measured, p: Plan) -> dict[str, Any]:
    """Choices in which the output differs from the scenario; only what it states and the planner knows."""
    s = p.scenario
    wanted = {**_load(measured, p), **_system(measured, p)}
    # Groups of attention that the measured number of devices cannot form go too; else nothing is offered.
    for more in ({}, {"attention_data_parallel": 1}):
        different = {name: value for name, value in (wanted | more).items() if value != getattr(s, name)}
        try:
            s.change(**different)
        except PlannerError:
            continue
        return different
    return {}


def _load(measured: Measured, p: Plan) -> dict[str, Any]:
    c = conditions(measured, p)
    out: dict[str, Any] = {}
    if measured.prompt_tokens:
        out |= {"prompt": _within("prompt", c.prompt), "shared_prefix": _within("shared_prefix", c.cached)}
    if measured.output_tokens:
        out["output"] = _within("output", c.output)
    if measured.request_rate:
        low, high = bounds("rate")
        rate = min(max(measured.request_rate, low or 0.0), high if high is not None else measured.request_rate)
        return out | {"load": "open", "rate": rounded(rate, 4)}
    if measured.kind == "single" or measured.in_flight or measured.max_concurrency:
        many = measured.max_concurrency or measured.in_flight or 1.0
        out |= {"load": "closed", "users": _within("users", many)}
    return out


def _within(name: str, value: float) -> int:
    low, high = bounds(name)
    return round(min(max(value, low or 0), high if high is not None else value))


def _system(measured: Measured, p: Plan) -> dict[str, Any]:
    out: dict[str, Any] = {}
    engine = engine_of(measured)
    if engine in ENGINES and not p.engine.name.startswith(engine):
        out["engine"] = engine
    if found := _device(measured.device or ""):
        whole = p.scenario.devices * p.scenario.pipeline * p.scenario.copies
        out |= {name: value for name, value in found.items() if name != "devices" or value != whole}
    other = any(advice.code == "other model" for advice in same_system(measured, p))
    if other and (model := _example(measured.model or "")):
        out |= {"model": model, "config": None}
    if weights := _gguf(measured.model or ""):
        out["weights"] = weights
    return out


def _device(text: str) -> dict[str, Any]:
    several = _SEVERAL.match(text)
    count, name = (int(several.group(1)), several.group(2)) if several else (1, text)
    try:
        label = find_device(name.replace("_", " ")).label
    except PlannerError:
        return {}
    return {"device": label, **({"devices": count} if several else {})}


def _plain(text: str) -> str:
    return re.sub(r"[^a-z0-9.]", "", text.lower())


def _example(text: str) -> str | None:
    """The example model whose whole name is in the text, the longest where several are."""
    inside = [name for name in model_names() if _plain(name) in _plain(text)]
    return max(inside, key=len, default=None)


def _gguf(text: str) -> str | None:
    """The GGUF format that a model's name ends in: "Q4_K - Medium" is Q4_K_M."""
    found = _GGUF.search(text)
    if found is None:
        return None
    name = re.sub(r" - ([SML])\w+", lambda m: "_" + m.group(1), found.group(0)).upper()
    return next((known for known in FORMATS if known.upper() == name), None)
