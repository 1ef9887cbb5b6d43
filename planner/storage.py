"""How an engine stores what sequences leave behind."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engines import Engine
from planner.precision import KvFormat


@dataclass(frozen=True)
class Storage:
    """How an engine stores what sequences leave behind; from the engine, with the scenario's options.

    kv         format of keys, values and latents
    """

    kv: KvFormat
    block: int
    frees_windows: bool
    state_bytes: float
    conv_full: bool
    index_bytes: float


def storage(engine: Engine, kv: KvFormat, window_pages: str = "engine", state: str = "engine") -> Storage:
    """An engine's storage with the options `window_pages` (engine, freed, kept) and `state` (engine, fp32, bf16)."""
    frees = engine.frees_windows if window_pages == "engine" else window_pages == "freed"
    state_bytes = {"engine": engine.state_bytes, "fp32": 4.0, "bf16": 2.0}[state]
    return Storage(kv, engine.block, frees, state_bytes, engine.conv_full, engine.index_bytes)
