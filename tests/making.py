"""Small scenarios and works that several tests start from."""

from __future__ import annotations

from typing import Any

from planner.architecture import Architecture, read_config
from planner.architecture.hand import hand_config
from planner.engines import ENGINES
from planner.layout import Layout
from planner.plan import Plan, plan
from planner.precision import KV_FORMATS
from planner.scenario import Scenario, example
from planner.storage import storage
from planner.work import Work, work

SIZES: dict[str, Any] = {
    "layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "mlp_width": 14336, "vocab": 128256,
}  # fmt: skip


def model(**sizes: Any) -> Architecture:
    """A typed-in decoder, Llama 3.1 8B unless sizes say otherwise."""
    return read_config(hand_config(**(SIZES | sizes)))


def job(arch: Architecture | str, weights: str = "bf16", kv: str = "bf16", engine: str = "vLLM", window: str = "engine",
        state: str = "engine", **layout: Any) -> Work:  # fmt: skip
    """The Work of a model, by name or as an Architecture."""
    arch = example(arch) if isinstance(arch, str) else arch
    return work(arch, weights, storage(ENGINES[engine], KV_FORMATS[kv], window, state), Layout(**layout))


def planned(**choices: Any) -> Plan:
    """The plan of a scenario; Llama 3.1 8B in bf16 on one H100 unless choices say otherwise."""
    usual = {"weights": "bf16", "prompt": 1024, "output": 256}
    if "config" not in choices:
        usual["model"] = "Llama 3.1 8B"
    return plan(Scenario.of(**(usual | choices)))
