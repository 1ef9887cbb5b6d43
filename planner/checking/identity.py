"""Whether the measured system is the scenario's: model, size, weight format, engine, device, and whether it fits."""

from __future__ import annotations

import re
from typing import Final

from planner.measurements import Advice, Measured
from planner.plan import Plan
from planner.scenario import model_names
from planner.units import gib, params

_WORD: Final = re.compile(r"[a-z]{3,}")
# A number behind a family's name is its version, unless it is a size (8B).
_VERSIONED: Final = re.compile(r"([a-z]{3,})(?:[\s_-]?v?(\d{1,2})(?![\d]|\.?\d*\s?[bm]\b))?")
_SIZE: Final = re.compile(r"(?<![a-z\d.])(\d{1,4}(?:\.\d{1,3})?)\s?([bm])(?![a-z])")
_MODEL_NUMBER: Final = re.compile(r"[a-z]{0,4}\d{2,5}[a-z]{0,2}")
# Names round their size: 8B holds 8.03 billion, but a 7B 8.5 and a 1B 1.24; counts differ by what they leave out.
_SIZE_TOLERANCE: Final = 0.30
_COUNT_TOLERANCE: Final = 0.05
_FILE_TOLERANCE: Final = 0.10
_LLAMA_CPP: Final = ("ollama", "llama-bench", "llama.cpp")
_RUN_BY: Final = {**dict.fromkeys(_LLAMA_CPP, "llama.cpp"), "vllm-metrics": "vLLM"}


def engine_of(measured: Measured) -> str | None:
    """The engine behind a tool that measures only one; load generators measure any."""
    return _RUN_BY.get(measured.tool)


def same_system(measured: Measured, p: Plan) -> list[Advice]:
    """Warnings where the output names or shows another system than the scenario's."""
    found = (_model(measured, p), _weights(measured, p), _engine(measured, p), _device(measured, p), _fits(measured, p))
    return [Advice("warning", code, sentence) for code, sentence in found if sentence]


def _model(measured: Measured, p: Plan) -> tuple[str, str]:
    mine = f"{p.architecture.model_type} {p.architecture.name} {p.scenario.model}"
    counted = next((row.params for row in measured.rows if row.params), None)
    total = p.architecture.total_params
    other = f"The output is of {measured.model}, the scenario's model is {p.architecture.name}"
    fix = "Choose or paste the model that was measured."
    if counted and abs(counted / total - 1) > _COUNT_TOLERANCE:
        return "other model", f"{other}: {params(counted)} parameters measured, {params(total)} here. {fix}"
    if measured.model is None:
        return "other model", ""
    named, known = _families(measured.model), _families(mine)
    sizes = [] if counted else _sizes(measured.model)
    if named and known and not _same_family(named, known):
        return "other model", f"{other}. {fix}"
    if sizes and abs(sizes[0] / total - 1) > _SIZE_TOLERANCE:
        return "other model", f"{other}, of {params(total)} parameters. {fix}"
    return "other model", ""


def _families(text: str) -> dict[str, str]:
    """Words of a name that name a family of the examples, each with its major version ("" where none follows)."""
    known = {word for name in model_names() for word in _WORD.findall(name.lower())} - _NO_FAMILY
    return {word: major for word, major in _VERSIONED.findall(text.lower()) if word in known}


def _same_family(first: dict[str, str], second: dict[str, str]) -> bool:
    """Whether two names share a family, and its major version where both state one."""
    return any(
        not (first[word] and second[word]) or first[word] == second[word] for word in first.keys() & second.keys()
    )


_NO_FAMILY: Final = frozenset(
    (
        *("instruct", "chat", "base", "mini", "small", "medium", "large", "super", "pro", "flash", "nano", "lite"),
        *("next", "coder", "scout", "typed", "bit"),
    )
)


def _sizes(text: str) -> list[float]:
    """Parameter counts that a name states: 8B, 3.2B, 350M."""
    return [float(n) * (1e9 if unit == "b" else 1e6) for n, unit in _SIZE.findall(text.lower())]


def _weights(measured: Measured, p: Plan) -> tuple[str, str]:
    size = next((row.weight_bytes for row in measured.rows if row.weight_bytes), None)
    mine = float(p.work.rows.stored_bytes[p.work.rows.part == "text"].sum())
    if size is None or abs(size / mine - 1) <= _FILE_TOLERANCE:
        return "other weights", ""
    return "other weights", (
        f"The measured file holds {gib(size)} of weights, the scenario's weights take {gib(mine)}: choose the "
        "format that was measured under “Weights stored as”."
    )


def _engine(measured: Measured, p: Plan) -> tuple[str, str]:
    engine = engine_of(measured)
    if engine is None or p.engine.name.startswith(engine):
        return "other engine", ""
    return "other engine", (
        f"{measured.label} measures {engine}, the scenario's engine is {p.engine.name}: the band is what "
        f"{p.engine.name} reaches. Choose {engine}."
    )


def _device(measured: Measured, p: Plan) -> tuple[str, str]:
    numbers = _MODEL_NUMBER.findall((measured.device or "").lower())
    mine = f"{p.device.label} {p.device.name} {p.device.id}".lower()
    if not numbers or p.device.custom or any(number in mine for number in numbers):
        return "other device", ""
    return (
        "other device",
        f"The output is of {measured.device}, the scenario's device is {p.device.label}. Choose the measured one.",
    )


def _fits(measured: Measured, p: Plan) -> tuple[str, str]:
    if p.loads:
        return "does not fit", ""
    return "does not fit", (
        f"By the plan {p.architecture.name} cannot hold one request on this hardware, yet something ran: model, "
        "weight format or devices chosen here are not the ones measured."
    )
