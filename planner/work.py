"""What one copy of a model keeps, reads and computes: bytes and FLOPs per device, as sums over the ledger.

Arrays broadcast: tokens, batch and context may be numpy arrays of any shape. Nothing here knows a device.
"""

from __future__ import annotations

import re
from functools import cached_property, lru_cache
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from planner.architecture import Architecture
from planner.layout import Array, Layout, Number, share
from planner.precision import Weights, weight_rows
from planner.storage import Storage

ATTENTION_ROLES: Final = ("attention", "indexer", "mixer")

# The half of an encoder-decoder that reads the prompt, by the names of its checkpoint (not `encoder_attn.`).
_ENCODER: Final = re.compile(r"(?:^|\.)encoder\.")


def visible_pairs(tokens: Number, window: Array, chunked: npt.ArrayLike = False) -> Array:
    """(query, key) pairs of a causal prompt where each token sees at most `window` keys, itself included.

    tokens   array broadcast against `window` (infinite: no limit); n(n+1)/2 below the window, linear beyond it
    chunked  where true, a token sees its own chunk of `window` tokens only, not the last `window` tokens
    """
    n = np.asarray(tokens, float)
    limit = np.where(np.isfinite(window), window, 0.0)
    inside = np.minimum(n, window)
    sliding = inside * (inside + 1) / 2 + np.maximum(n - window, 0) * limit
    full = np.where(limit > 0, np.floor(n / np.maximum(limit, 1.0)), 0.0)
    rest = n - full * limit
    in_chunks = full * limit * (limit + 1) / 2 + rest * (rest + 1) / 2
    return np.asarray(np.where(chunked, in_chunks, sliding))


class Work:
    """Bytes and FLOPs of one copy of `arch` with these weights, storage and layout (all figures per device)."""

    def __init__(self, arch: Architecture, weights: str, store: Storage, layout: Layout) -> None:
        self.arch = arch
        self.layout = layout
        self.store = store
        self.format = weights
        self.rows: Weights = weight_rows(arch, weights)
        rows = self.rows
        attention = np.isin(rows.role, ATTENTION_ROLES)
        pieces = np.where(attention, layout.attention_tensor, layout.tensor)
        self._share = share(rows.units, pieces)
        if layout.expert_parallel:
            experts = rows.role == "experts"
            self._share = np.where(experts, share(rows.copies, layout.tensor), self._share)
        self._text = rows.part == "text"
        encoder = np.array([bool(_ENCODER.search(name)) for name in rows.names], bool) & self._text
        # What a token of the answer passes through, and what one of the prompt does.
        self._answer = self._text & ~encoder
        self._prompt = encoder if encoder.any() else self._text
        # Cross-attention of a model without an encoder looks at images, of which a prompt of text has none.
        caches = [(b, c) for b, c in arch.caches() if c.kind != "cross" or encoder.any()]
        self.layers = np.array([b.count for b, _ in caches], float)
        self._cache_places = [(b.prefix, b.layers) for b, _ in caches]
        window = np.array([c.window or np.inf for _, c in caches], float)
        self.windowed = np.isfinite(window)
        per_element = np.array([self._element_bytes(c.role) for _, c in caches], float)
        shorter = not store.conv_full
        kept = np.array([(c.kernel - 1) / c.kernel if c.kernel and shorter else 1 for _, c in caches], float)
        part = share([c.units for _, c in caches], layout.attention_tensor) if caches else np.zeros(0)
        self.slope = np.array([c.elements for _, c in caches], float) * per_element * part
        self.fixed = np.array([c.fixed for _, c in caches], float) * per_element * kept * part
        self.read = np.array([c.read_elements for _, c in caches], float) * per_element * part
        self.window = window
        cross = np.array([c.kind == "cross" for _, c in caches], bool)
        self._stored_window = np.where(store.frees_windows | cross, window, np.inf)
        self._read_limit = np.minimum(window, [c.top or np.inf for _, c in caches] if caches else window)
        mixing = [(b, m) for b in arch.blocks if b.part == "text" for m in b.mixing if not m.cross]
        count = np.array([b.count * b.runs for b, _ in mixing], float) / max(layout.attention_tensor, 1)
        self._pair = np.array([m.pair for _, m in mixing], float) * count
        self._pair_decode = np.array([m.pair if m.decode is None else m.decode for _, m in mixing], float) * count
        self._token = float(np.sum(np.array([m.token for _, m in mixing], float) * count))
        self._pair_limit = np.array([min(m.window or np.inf, m.top or np.inf) for _, m in mixing], float)
        # Chunked attention, and scans that work through a prompt chunk by chunk.
        self._chunked = np.array([m.chunked or any(c.kind == "chunk" for c in b.caches) for b, m in mixing], bool)

    def _element_bytes(self, role: str) -> float:
        return {"kv": self.store.kv.bytes_per_element, "index": self.store.index_bytes, "ssm": self.store.state_bytes,
                "conv": 2.0}[role]  # fmt: skip

    # What is kept ---------------------------------------------------------------------------------------------

    @cached_property
    def stage_of_layer(self) -> Array:
        """Pipeline stage of each layer: as even as whole layers allow."""
        n = max(self.arch.n_layers, 1)
        return np.minimum(np.arange(n) * self.layout.pipeline // n, self.layout.pipeline - 1)

    def _per_stage(self, name: str, layers: tuple[int, ...], outer: int) -> Array:
        """How many of `layers` fall on each stage; what stands outside the layers goes to `outer`."""
        stages = np.zeros(self.layout.pipeline)
        if "{i}" not in name:
            stages[outer] = len(layers)
        else:
            at = self.stage_of_layer[np.clip(np.array(layers), 0, len(self.stage_of_layer) - 1)]
            np.add.at(stages, at, 1.0)
        return stages

    @property
    def device_share(self) -> Array:
        """Part of each entry of `rows` that one device of its stage holds [entry]."""
        return self._share

    def placed(self, entry: int) -> Array:
        """How many layers of an entry of `rows` each pipeline stage holds [stage]."""
        rows, layers = self.rows, self.rows.layers[entry]
        if rows.part[entry] != "text":
            return np.array([len(layers), *[0] * (self.layout.pipeline - 1)], float)
        outer = 0 if rows.role[entry] in ("embedding", "positions") else -1
        return self._per_stage(rows.names[entry], layers, outer)

    def by_stage(self, values: Array) -> Array:
        """Amounts of all layers of each entry of `rows` [entry], summed on each pipeline stage [stage]."""
        if self.layout.pipeline == 1:
            return np.array([values.sum()])
        out = np.zeros(self.layout.pipeline)
        for entry in np.flatnonzero(values).tolist():
            out += values[entry] * self.placed(entry) / len(self.rows.layers[entry])
        return out

    @cached_property
    def weights_per_stage(self) -> Array:
        """Bytes of weights on a device of each pipeline stage [stage]."""
        return self.by_stage(self.rows.stored_bytes * self._share)

    @cached_property
    def weights_bytes(self) -> float:
        """Bytes of weights on the fullest device."""
        return float(self.weights_per_stage.max())

    def sequence_bytes(self, tokens: Number, stage: int | None = None) -> Array:
        """Bytes that sequences of `tokens` keep on one device: fixed + sum of min(tokens, window) x slope.

        tokens  any shape; rounded up to whole blocks. stage: only that pipeline stage (None: the whole copy's layers)
        """
        t = np.ceil(np.asarray(tokens, float) / self.store.block)[..., None] * self.store.block
        limit = np.ceil(self._stored_window / self.store.block) * self.store.block
        per_layer = self.fixed + np.minimum(t, limit) * self.slope
        return np.asarray((per_layer * self._layers_in(stage)).sum(axis=-1))

    def _layers_in(self, stage: int | None) -> Array:
        if stage is None or self.layout.pipeline == 1:
            return self.layers
        return np.asarray(self._layers_per_stage[stage])

    @cached_property
    def _layers_per_stage(self) -> Array:
        """Layers of each cache class on each pipeline stage [stage, class]."""
        each = [self._per_stage(name, at, -1) for name, at in self._cache_places]
        return np.array(each).T if each else np.zeros((self.layout.pipeline, 0))

    @cached_property
    def slope_bytes(self) -> float:
        """Bytes that each further token keeps without bound, on one device, all its layers."""
        return self.slope_on(None)

    @cached_property
    def fixed_bytes(self) -> float:
        """Bytes a sequence keeps on one device whatever its length (state, encoder entries)."""
        return self.fixed_on(None)

    def slope_on(self, stage: int | None) -> float:
        """`slope_bytes` of the layers of one pipeline stage (None: all)."""
        return float((np.where(np.isfinite(self._stored_window), 0.0, self.slope) * self._layers_in(stage)).sum())

    def fixed_on(self, stage: int | None) -> float:
        """`fixed_bytes` of the layers of one pipeline stage (None: all)."""
        return float((self.fixed * self._layers_in(stage)).sum())

    @cached_property
    def uniform(self) -> bool:
        """Whether each token of a sequence keeps the same bytes: no window that ends, no fixed state."""
        return not np.isfinite(self._stored_window[self.slope > 0]).any() and not self.fixed.any()

    # What a step reads ----------------------------------------------------------------------------------------

    @cached_property
    def _reads(self) -> tuple[float, Array, Array, Array]:
        """Bytes that each step reads; and of routed experts: stored per layer, used by a token, bytes of one."""
        rows = self.rows
        one = np.where(self._answer, rows.read_bytes_one * self._share, 0.0)
        routed = (rows.used < rows.copies) & (one > 0)
        always = float((rows.copies * one)[~routed].sum())
        return always, rows.copies[routed], rows.used[routed], one[routed]

    def weight_read(self, tokens: Number) -> Array:
        """Bytes of weights that a device reads for a step over `tokens` tokens (any shape).

        Tables are looked up, not read. Of E experts with k used, n tokens touch E(1-(1-k/E)^n) under uniform routing;
        one token exactly k.
        """
        always, stored, used, one = self._reads
        n = np.asarray(tokens, float)
        if not len(one):
            return np.full(n.shape, always)
        missed = np.power(1 - used / stored, n[..., None])
        return np.asarray(always + np.sum(stored * (1 - missed) * one, axis=-1))

    def cache_read(self, context: Number) -> Array:
        """Bytes of one sequence's cache that a device reads for one further token at this context (any shape)."""
        t = np.asarray(context, float)[..., None]
        return np.asarray(((self.fixed + np.minimum(t, self._read_limit) * self.read) * self.layers).sum(axis=-1))

    # What a step computes -------------------------------------------------------------------------------------

    @cached_property
    def quantized(self) -> bool:
        """Whether matrices are stored in anything but plain floats."""
        products = self.rows.formats[self._text & (self.rows.kind == "linear")]
        return bool(set(products.tolist()) - {"fp32", "fp16", "bf16"})

    @cached_property
    def computes(self) -> tuple[str, ...]:
        """The compute types of this model's products, attention's first."""
        return ("fp16", *sorted({str(c) for c in self.rows.compute[self._text]} - {"fp16"}))

    def _linear(self, chosen: npt.NDArray[np.bool_]) -> dict[str, float]:
        flops = self.rows.flops * self._share
        return {c: float(flops[chosen & (self.rows.compute == c)].sum()) for c in self.computes}

    @cached_property
    def linear_flops(self) -> dict[str, float]:
        """FLOPs per answer token of matrix products but the head's, per device, by compute type."""
        return self._linear(self._answer & (self.rows.role != "head"))

    @cached_property
    def head_flops(self) -> dict[str, float]:
        """FLOPs of the head per position whose logits are wanted, per device, by compute type."""
        return self._linear(self._answer & (self.rows.role == "head"))

    @cached_property
    def _own_group_flops(self) -> dict[str, float]:
        # Products that a device does for the sequences of its own group only.
        return self._linear(self._answer & np.isin(self.rows.role, ATTENTION_ROLES))

    @cached_property
    def _prompt_flops(self) -> dict[str, float]:
        return self._linear(self._prompt & (self.rows.role != "head"))

    def _attention_flops(self, context: Number) -> Array:
        t = np.asarray(context, float)[..., None]
        return np.asarray(np.sum(self._pair_decode * np.minimum(t, self._pair_limit), axis=-1) + self._token)

    def decode_flops(self, context: Number) -> dict[str, Array]:
        """FLOPs of one further token of one sequence at this context, per device, by compute type."""
        return self.step_flops(1.0, 1.0, context)

    def step_flops(self, batch: Number, local: Number, context: Number) -> dict[str, Array]:
        """FLOPs of a decode step on one device, by compute type.

        batch  sequences in the step; local: those that the device's own attention group attends for. All broadcast.
        """
        b, own = np.asarray(batch, float), np.asarray(local, float)
        attention = self._attention_flops(context) * own
        return {
            c: (self.linear_flops[c] - self._own_group_flops[c] + self.head_flops[c]) * b
            + self._own_group_flops[c] * own + (attention if c == "fp16" else np.zeros_like(attention))
            for c in self.computes
        }  # fmt: skip

    def prefill_flops(self, tokens: Number, cached: Number = 0, logits: Number = 1) -> dict[str, Array]:
        """FLOPs of prefilling a prompt of `tokens` of which the first `cached` are there already, by compute type.

        Linear part for the new tokens, causal attention over all visible pairs, the head for `logits` positions.
        An encoder-decoder reads the prompt with its encoder and starts its decoder once.
        """
        t, h = np.asarray(tokens, float), np.asarray(cached, float)
        limit, chunked = self._pair_limit, self._chunked
        pairs = visible_pairs(t[..., None], limit, chunked) - visible_pairs(h[..., None], limit, chunked)
        attention = np.sum(self._pair * pairs, axis=-1) + self._token * (t - h)
        starts = 0.0 if self._prompt is self._text else 1.0
        return {
            c: self._prompt_flops[c] * (t - h) + starts * self.linear_flops[c]
            + self.head_flops[c] * np.asarray(logits, float)
            + (attention if c == "fp16" else np.zeros_like(attention))
            for c in self.computes
        }  # fmt: skip

    @cached_property
    def whole(self) -> Work:
        """The Work of the same copy on a single device, whose FLOPs are the model's own (nothing replicated)."""
        return work(self.arch, self.format, self.store, Layout())


@lru_cache(maxsize=512)
def work(arch: Architecture, weights: str, store: Storage, layout: Layout) -> Work:
    """The Work of these choices, kept for repeated use."""
    return Work(arch, weights, store, layout)


def total(flops: dict[str, Any]) -> Any:
    """FLOPs of all compute types together."""
    return sum(flops.values())
