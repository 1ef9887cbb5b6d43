"""The smallest single changes that make a scenario hold what is asked: each candidate is tried, not assumed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from planner import memory
from planner.devices import Device, load_devices
from planner.errors import PlannerError
from planner.plan import Plan, asked_per_copy, budget_of, limits, work_of
from planner.precision import FORMATS, KV_FORMATS
from planner.scenario import Scenario
from planner.units import count

MOST_DEVICES: Final = 64

# Weight formats tried, in the order of how little they take from quality; the engine decides which set applies.
HF_STEPS: Final = ("fp8", "int8", "int4")
GGUF_STEPS: Final = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K")


@dataclass(frozen=True)
class Change:
    """Scenario keys with the values that flip a finding, and the same in words."""

    choices: dict[str, Any]
    sentence: str


def holds(s: Scenario, device: Device | None = None) -> bool:
    """Whether memory holds the asked requests (the verdict is "fits")."""
    return memory.verdict(budget_of(s, device), asked_per_copy(s)) == "fits"


def alternatives(p: Plan) -> list[Change]:
    """Single changes after which the scenario fits, smallest first: KV bits, weight bits, load, context, devices."""
    return list(_tried(p))


def _try(s: Scenario, sentence: str, **choices: Any) -> Change | None:
    try:
        changed = s.change(**choices)
        return Change(choices, sentence) if holds(changed) else None
    except PlannerError:
        return None


def _first(*changes: Change | None) -> Iterator[Change]:
    for change in changes:
        if change is not None:
            yield change
            return


def _tried(p: Plan) -> Iterator[Change]:
    s = p.scenario
    asked = asked_per_copy(s)
    loads = p.fits != "cannot load"
    fewer = p.memory.concurrent * s.copies
    if loads:
        eight = "q8_0" if p.engine.name == "llama.cpp" else "fp8"
        if eight in KV_FORMATS and KV_FORMATS[eight].bytes_per_element < KV_FORMATS[p.kv].bytes_per_element:
            yield from _first(_try(s, "8-bit conversation memory (KV cache)", kv=eight))
    steps = GGUF_STEPS if "gguf" in p.engine.formats else HF_STEPS
    now = p.work.rows.stored_bytes.sum()
    lighter = (
        (name, s.change(weights=name)) for name in steps if name in FORMATS
    )
    yield from _first(
        *(
            _try(s, f"{FORMATS[name].label} weights", weights=name)
            for name, changed in lighter
            if work_of(changed).rows.stored_bytes.sum() < now
        )
    )
    if s.load == "closed" and loads and 0 < fewer < s.users:
        yield from _first(_try(s, f"{count(fewer)} users", users=fewer))
    if loads:
        yield from _first(_shorter(s, asked))
    yield from _first(*(_more(s, n) for n in _device_counts(p)))
    if s.load == "closed" and loads and 0 < p.memory.concurrent < asked:
        copies = -(-s.users // p.memory.concurrent)
        yield from _first(_try(s, f"{count(copies)} copies", copies=copies))
    yield from _first(_other_device(p))


def _device_counts(p: Plan) -> list[int]:
    """Numbers of devices per copy worth trying: those that the heads divide by, or any for engines that deal layers."""
    heads = p.architecture.heads or 1
    now, groups = p.scenario.devices, p.scenario.attention_data_parallel
    return [
        n * now
        for n in (2, 3, 4, 5, 6, 8, 12, 16, 32)
        if n * now <= MOST_DEVICES and (not p.engine.tensor_parallel or heads % (n * now // groups or 1) == 0)
    ]


def _more(s: Scenario, devices: int) -> Change | None:
    return _try(s, f"{devices} devices per copy instead of {s.devices}", devices=devices)


def _shorter(s: Scenario, asked: int) -> Change | None:
    """The longest prompt, in steps of 256 tokens, with which all asked requests are held."""
    low, high = 0, s.prompt // 256
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _holds_prompt(s, middle * 256) else (low, middle - 1)
    del asked
    if low < 1 or low * 256 >= s.prompt:
        return None
    return _try(s, f"prompts of {count(low * 256)} tokens", prompt=low * 256, shared_prefix=min(s.shared_prefix, low * 256 - 1))


def _holds_prompt(s: Scenario, prompt: int) -> bool:
    return holds(s.change(prompt=prompt, shared_prefix=min(s.shared_prefix, prompt - 1)))


def _other_device(p: Plan) -> Change | None:
    """The device with the least memory on which the scenario fits unchanged (announced ones and CPUs left out)."""
    s, engine = p.scenario, p.engine
    candidates = sorted(
        (d for d in load_devices() if engine.runs_on(d) and not d.announced and d.kind != "cpu"
         and d.memory_bytes_usable > p.device.memory_bytes_usable),
        key=lambda d: (d.memory_bytes_usable, -d.bandwidth),
    )  # fmt: skip
    for device in candidates:
        utilization, seqs, step_tokens = limits(s, device)
        room = memory.budget(p.work, device, engine, utilization=utilization, seqs=seqs, step_tokens=step_tokens,
                             request_tokens=s.prompt + s.output)  # fmt: skip
        if memory.verdict(room, asked_per_copy(s)) == "fits":
            return Change({"device": device.label}, device.label)
    return None
