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
from planner.caches import Caches
from planner.layout import Array, Layout, Number, Stages, share
from planner.mixing import Mixing
from planner.precision import Weights, weight_rows
from planner.storage import Storage

ATTENTION_ROLES: Final = ("attention", "indexer", "mixer")

# The half of an encoder-decoder that reads the prompt, by the names of its checkpoint (not `encoder_attn.`). Some
# decoders have the word in their names too (ChatGLM), but nothing attends to them across.
_ENCODER: Final = re.compile(r"(?:^|\.)encoder\.")


@lru_cache(maxsize=512)
def has_encoder(arch: Architecture) -> bool:
    """Whether one half of the model reads the prompt and the other writes the answer."""
    crossed = any(cache.kind == "cross" for _, cache in arch.caches())
    return crossed and any(_ENCODER.search(b.prefix + m.name) for b, m in arch.matrices("text"))


class Work:
    """Bytes and FLOPs of one copy of `arch` with these weights, storage and layout (all figures per device).

    encoded  tokens of the prompt, where the model has an encoder to read them: the decoder keeps those it writes
    caches   what sequences leave in memory; mixing: work between their tokens
    """

    def __init__(self, arch: Architecture, weights: str, store: Storage, layout: Layout, encoded: int = 0) -> None:
        self.arch = arch
        self.layout = layout
        self.store = store
        self.format = weights
        self.encoded = encoded
        self.rows: Weights = weight_rows(arch, weights)
        rows = self.rows
        attention = np.isin(rows.role, ATTENTION_ROLES)
        pieces = np.where(attention, layout.attention_tensor, layout.tensor)
        self._share = share(rows.units, pieces)
        if layout.expert_parallel:
            experts = rows.role == "experts"
            self._share = np.where(experts, share(rows.copies, layout.tensor), self._share)
        self._text = rows.part == "text"
        encoder = np.array([bool(_ENCODER.search(name)) for name in rows.names], bool) & self._text & has_encoder(arch)
        # What a token of the answer passes through, and what one of the prompt does.
        self._answer = self._text & ~encoder
        self._prompt = encoder if encoder.any() else self._text
        read = encoded if encoder.any() else None
        self.caches = Caches(arch, store, layout, read)
        self.mixing = Mixing(arch, layout.attention_tensor, read)
        self._stages = Stages(arch.n_layers, layout.pipeline)

    # What is kept ---------------------------------------------------------------------------------------------

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
        return self._stages.count(rows.names[entry], layers, outer)

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
        one token exactly k. Where whole experts are dealt out, this is what the average device reads: the busiest of a
        real step reads more, which a ceiling, that nothing real may beat, does not count.
        """
        always, stored, used, one = self._reads
        n = np.asarray(tokens, float)
        if not len(one):
            return np.full(n.shape, always)
        missed = np.power(1 - used / stored, n[..., None])
        return np.asarray(always + np.sum(stored * (1 - missed) * one, axis=-1))

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

    def decode_flops(self, context: Number) -> dict[str, Array]:
        """FLOPs of one further token of one sequence at this context, per device, by compute type."""
        return self.step_flops(1.0, 1.0, context)

    def step_flops(self, batch: Number, local: Number, context: Number) -> dict[str, Array]:
        """FLOPs of a decode step on one device, by compute type.

        batch  sequences in the step; local: those that the device's own attention group attends for. All broadcast.
        """
        b, own = np.asarray(batch, float), np.asarray(local, float)
        attention = self.mixing.step(context) * own
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
        attention = self.mixing.prefill(t, h)
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
        return work(self.arch, self.format, self.store, Layout(), self.encoded)

    def reading(self, prompt: int) -> Work:
        """The Work of the same copy with prompts of so many tokens: itself, where no encoder reads them."""
        return work(self.arch, self.format, self.store, self.layout, prompt)


def work(arch: Architecture, weights: str, store: Storage, layout: Layout, prompt: int = 0) -> Work:
    """The Work of these choices, kept for repeated use; `prompt`: tokens, which matter where an encoder reads them."""
    return _work(arch, weights, store, layout, prompt if has_encoder(arch) else 0)


@lru_cache(maxsize=512)
def _work(arch: Architecture, weights: str, store: Storage, layout: Layout, encoded: int) -> Work:
    return Work(arch, weights, store, layout, encoded)


def total(flops: dict[str, Any]) -> Any:
    """FLOPs of all compute types together."""
    return sum(flops.values())
