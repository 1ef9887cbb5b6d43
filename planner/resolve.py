"""What a scenario's choices come to: layout, format of conversation memory, work, limits and memory budget."""

from __future__ import annotations

import math

from planner import memory
from planner.architecture import Architecture
from planner.devices import Device
from planner.engines import Engine
from planner.layout import Layout
from planner.memory import Budget
from planner.precision import KV_FORMATS, checkpoint_kv
from planner.scenario import Scenario
from planner.storage import storage
from planner.work import Work, work


def layout_of(s: Scenario, engine: Engine) -> Layout:
    """How the scenario spreads one copy; an engine without tensor parallelism deals layers to its devices instead."""
    if engine.tensor_parallel:
        return Layout(s.devices, s.pipeline, s.expert_parallel, s.attention_data_parallel)
    return Layout(1, s.devices * s.pipeline)


def kv_of(s: Scenario, arch: Architecture) -> str:
    """Name of the format of conversation memory: as chosen, else as the checkpoint says, else 16 bit.

    What a Hugging Face checkpoint says is for the engines that load it, not for those of GGUF files.
    """
    if s.kv != "auto":
        return s.kv
    return (checkpoint_kv(arch) if "hf" in s.engine_row.formats else None) or "bf16"


def work_of(s: Scenario, engine: Engine | None = None) -> Work:
    """The Work of the scenario's copy."""
    engine = engine or s.engine_row
    arch = s.architecture
    store = storage(engine, KV_FORMATS[kv_of(s, arch)], s.window_pages, s.state)
    return work(arch, s.weights, store, layout_of(s, engine), s.prompt)


def limits(s: Scenario, device: Device) -> tuple[float, int, int]:
    """Utilisation, requests admitted and tokens per step: as chosen, else the engine's defaults on this device."""
    engine = s.engine_row
    return (
        s.utilization or engine.utilization,
        s.max_num_seqs or engine.max_num_seqs(device),
        s.max_num_batched_tokens or engine.max_num_batched_tokens(device),
    )


def stored_once(s: Scenario) -> int:
    """First tokens that all requests share and the engine keeps once."""
    return s.shared_prefix if s.engine_row.shares_prefix else 0


def budget_of(s: Scenario, device: Device | None = None, done: Work | None = None) -> Budget:
    """The memory budget of the scenario, on its own device or on another."""
    device = device or s.device_row
    utilization, seqs, step_tokens = limits(s, device)
    return memory.budget(
        done or work_of(s), device, s.engine_row, utilization=utilization, seqs=seqs, step_tokens=step_tokens,
        request_tokens=s.prompt + s.output, shared_tokens=stored_once(s),
    )  # fmt: skip


def asked_per_copy(s: Scenario) -> int:
    """Conversations at once that one copy is asked to hold (closed loop); at least one."""
    return math.ceil(s.users / s.copies) if s.load == "closed" else 1
