"""Where each device's memory goes, and how many requests the rest holds.

    room for conversation memory = usable x utilisation - weights - tables and rounding - activation peak - runtime
                                 - graphs (where inside)

Tables and rounding: see loading.py. Activation peak: the larger of the sampler's warm-up and of one full step's
intermediate results, max(S x V x 38.6 B, T x (6 I / tp + 8 H) B), found in the start logs of vLLM (20 of 23 logs
within 10 %).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Final

from planner.architecture import Architecture
from planner.devices import Device
from planner.engines import Engine
from planner.loading import tables_bytes
from planner.units import gib
from planner.work import Work

# Bytes per token of a step and unit of width: intermediate results of the MLP and of the residual stream at 16 bit.
MLP_BYTES: Final = 6.0
STREAM_BYTES: Final = 8.0
# More requests than any memory holds: stands for a stage that keeps nothing of them.
BOUNDLESS: Final = 2**62
# What nvidia-smi shows and an engine does not see on a discrete NVIDIA GPU: 79.2 of 79.65 GiB on an H100, 22.06 of
# 22.49 on an A10G, 139.8 of 140.4 on an H200, 39.5 of 40 on an A100 (vLLM start logs).
UNSEEN: Final = 0.45 * 2**30


@dataclass(frozen=True)
class Budget:
    """The memory of the fullest device of one copy, in bytes; parts add up to `usable` with `outside` and `free`.

    usable            what the device exposes to programs
    outside           what the engine leaves alone (1 - utilisation)
    weights           what the checkpoint stores of it
    tables            tables and rounding: what the loaded model takes beyond that
    activations, runtime, graphs   what else is taken before any conversation
    pool              room for conversation memory, 0 when the rest does not fit
    short             bytes missing to load at all (0 when it loads)
    request           bytes one request of this scenario keeps at its full length
    once, own         bytes kept once for all, and by each: where requests share a prefix, instead of `request` each
    concurrent        requests that fit at once in one copy (0: not one)
    pool_tokens       tokens of such requests that the pool holds, each with this device's share of its entries
    slope, fixed      bytes per further token and per sequence
    stage             pipeline stage of that device
    """

    usable: float
    outside: float
    weights: float
    tables: float
    activations: float
    runtime: float
    graphs: float
    pool: float
    short: float
    request: float
    concurrent: int
    pool_tokens: int
    slope: float
    fixed: float
    graphs_inside: bool
    stage: int
    once: float
    own: float

    @property
    def parts(self) -> dict[str, float]:
        """Name -> bytes, in drawing order; they sum to `usable` when the model loads."""
        return {
            "weights": self.weights, "tables and rounding": self.tables, "activations": self.activations,
            "runtime": self.runtime, "graphs": self.graphs,
            "room for conversations": self.pool, "left alone by the engine": self.outside,
        }  # fmt: skip

    def held(self, requests: int) -> float:
        """Bytes that so many requests keep at once on the device."""
        return min(requests * self.request, self.once + requests * self.own) if requests else 0.0

    def each(self, requests: int) -> str:
        """What so many requests keep, in words: 1.12 GiB each, or a shared beginning once and the rest of each."""
        if self.held(requests) >= requests * self.request:
            return f"{gib(self.request)} each"
        return f"{gib(self.once)} once for their shared beginning and {gib(self.own)} each"

    @property
    def further(self) -> str:
        """What more takes, in words: a further conversation where requests share their beginning, else a token."""
        if self.own < self.request:
            return f"{gib(self.own)} for a further one, its beginning being shared"
        return f"{gib(self.slope)} for a further token" if self.slope else "the same at any length"

    @property
    def loaded(self) -> float:
        """Bytes of the loaded model, as the engine reports them."""
        return self.weights + self.tables

    @property
    def taken(self) -> float:
        """Bytes taken before any conversation, inside the engine's share."""
        return self.loaded + self.activations + self.runtime + (self.graphs if self.graphs_inside else 0.0)


def unseen_bytes(device: Device) -> float:
    """Bytes that the device's own tool shows and an engine does not see."""
    return UNSEEN if device.vendor == "NVIDIA" and device.kind == "gpu" else 0.0


def mlp_width(arch: Architecture) -> int:
    """The widest feed-forward layer a token passes through (all its experts together)."""
    widths = [
        m.cols * m.active_copies
        for b, m in arch.matrices("text")
        if m.role in ("mlp", "experts", "shared") and m.kind == "linear" and m.rows == arch.hidden
    ]
    return round(max(widths, default=4 * arch.hidden))


def activation_bytes(arch: Architecture, engine: Engine, seqs: int, tokens: int, tensor: int) -> float:
    """Peak bytes of intermediate results on one device.

    seqs    requests the engine admits; tokens: tokens in its largest step; tensor: devices sharing each layer
    """
    sampler = seqs * arch.vocab * engine.sampler_bytes
    step = tokens * (MLP_BYTES * mlp_width(arch) / tensor + STREAM_BYTES * arch.hidden)
    return float(max(sampler, step))


@dataclass(frozen=True)
class _Stage:
    """What a device of one pipeline stage must hold, whatever device it is, in bytes."""

    weights: float
    tables: float
    request: float
    once: float
    own: float
    block: float
    slope: float
    fixed: float


@lru_cache(maxsize=1024)
def _stages(work: Work, engine: Engine, request_tokens: int, shared: int) -> tuple[_Stage, ...]:
    """Each pipeline stage's weights, tables, one request, one block and rates: alike for all devices, counted once."""
    tables = tables_bytes(work, engine)
    caches, out = work.caches, []
    for stage, weights in enumerate(work.weights_per_stage):
        once, own = (float(part) for part in caches.shared_parts(request_tokens, shared, stage))
        one, block = (float(caches.sequence_bytes(n, stage)) for n in (request_tokens, work.store.block))
        out.append(_Stage(float(weights), tables[stage], one, once, own, block, caches.slope_bytes(stage),
                          caches.fixed_bytes(stage)))  # fmt: skip
    return tuple(out)


def budget(work: Work, device: Device, engine: Engine, *, utilization: float, seqs: int, step_tokens: int,
           request_tokens: int, shared_tokens: int = 0, known: dict[str, Any] | None = None) -> Budget:  # fmt: skip
    """The memory budget of the fullest device.

    utilization     share of the device memory that the engine takes
    seqs            requests it admits; step_tokens: tokens in its largest step
    request_tokens  prompt + output of one request
    shared_tokens   the first of them, where all requests share them and the engine keeps them once
    known           measured bytes that replace an estimate: `usable`, `weights` (as loaded), `activations`, `runtime`,
                    `graphs`
    """
    known = known or {}
    layout = work.layout
    usable = known.get("usable", device.memory_bytes_usable)
    seen = usable if "usable" in known else usable - unseen_bytes(device)
    activations = known.get("activations", activation_bytes(work.arch, engine, seqs, step_tokens, layout.tensor))
    runtime = known.get("runtime", engine.runtime_bytes[layout.tensor > 1])
    graphs = known.get("graphs", engine.graphs_bytes)
    best: Budget | None = None
    for stage, need in enumerate(_stages(work, engine, request_tokens, shared_tokens)):
        weights = known.get("weights", need.weights)
        tables = 0.0 if "weights" in known else need.tables
        inside = weights + tables + activations + runtime + (graphs if engine.graphs_inside else 0.0)
        room = seen * utilization - inside
        if not engine.graphs_inside:
            room = min(room, seen - inside - graphs)
        request = need.request
        pool = max(room, 0.0)
        groups = layout.attention_data
        # A stage that keeps nothing of a request never limits how many there are.
        most = max(pool // request, (pool - need.once) // need.own) if request > 0 else 0
        concurrent = int(most) * groups if request > 0 else BOUNDLESS if room > 0 else 0
        tokens = _pool_tokens(work, pool, need, request_tokens)
        found = Budget(usable, max(usable - inside - pool - (0 if engine.graphs_inside else graphs), 0.0), weights,
                       tables, activations, runtime, graphs, pool, max(-room, 0.0), request, concurrent, tokens,
                       need.slope, need.fixed, engine.graphs_inside, stage, need.once, need.own)  # fmt: skip
        if best is None or (found.concurrent, -found.short, found.pool) < (best.concurrent, -best.short, best.pool):
            best = found
    assert best is not None
    return replace(best, concurrent=seqs) if best.concurrent == BOUNDLESS else best


def _pool_tokens(work: Work, pool: float, need: _Stage, request_tokens: int) -> int:
    """Tokens the pool holds: whole blocks where every token costs the same, else in requests of this length."""
    if need.request <= 0:
        return 0
    block = work.store.block
    if work.caches.uniform:
        return int(pool // need.block) * block
    return int(pool / need.request * request_tokens) // block * block


def verdict(budget: Budget, asked: int) -> str:
    """One of the four verdicts for `asked` requests at once in one copy."""
    if budget.short > 0:
        return "cannot load"
    if budget.concurrent < 1:
        return "cannot hold one request"
    return "holds fewer than asked" if budget.concurrent < asked else "fits"
