"""What sequences leave in memory: bytes that one device keeps of each, and what a decode step reads of them.

An encoder-decoder keeps two kinds. Its decoder attends to the encoder's output, one entry for each token of the prompt
(or a fixed number, where the encoder always gives as many), and to the tokens that it wrote itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from planner.architecture import Architecture
from planner.layout import Array, Layout, Number, Stages, share
from planner.storage import Storage

CONV_BYTES = 2.0  # bytes per element of a convolution's last inputs: engines keep them at 16 bit


@dataclass(frozen=True)
class Kept:
    """What some layers, all alike, keep of one sequence on one device.

    layers       how many of them
    tokens       entries that each keeps, in whole blocks
    elements     of an entry, on all devices together; units: pieces (KV heads) that they are dealt out in
    each_bytes   bytes per element
    share        part of an entry that the device holds
    fixed_bytes  bytes of a layer whatever is written
    """

    layers: int
    tokens: int
    elements: int
    units: int
    each_bytes: float
    share: float
    fixed_bytes: float

    @property
    def total_bytes(self) -> float:
        """Bytes of all these layers."""
        entry = self.elements * self.each_bytes * self.share
        return self.layers * (self.fixed_bytes + self.tokens * entry)


class Caches:
    """The caches of one copy of `arch`, layer class by layer class, in bytes per device.

    encoded  tokens of the prompt that an encoder reads (None: no encoder)
    """

    def __init__(self, arch: Architecture, store: Storage, layout: Layout, encoded: float | None) -> None:
        # Cross-attention of a model without an encoder looks at images, of which a prompt of text has none.
        caches = [(b, c) for b, c in arch.caches() if c.kind != "cross" or encoded is not None]
        self._block = store.block
        self._pipeline = layout.pipeline
        self._stages = Stages(arch.n_layers, layout.pipeline)
        self._places = [(b.prefix, b.layers) for b, _ in caches]
        self._layers = np.array([b.count for b, _ in caches], float)
        self._encoded = encoded
        bytes_of = {"kv": store.kv.bytes_per_element, "index": store.index_bytes, "ssm": store.state_bytes,
                    "conv": CONV_BYTES}  # fmt: skip
        per_element = np.array([bytes_of[c.role] for _, c in caches], float)
        shorter = not store.conv_full
        kept = np.array([(c.kernel - 1) / c.kernel if c.kernel and shorter else 1 for _, c in caches], float)
        part = share([c.units for _, c in caches], layout.attention_tensor) if caches else np.zeros(0)
        self._per_element, self._part, self._kinds = per_element, part, [c for _, c in caches]
        slope = np.array([c.elements for _, c in caches], float) * per_element * part
        read = np.array([c.read_elements for _, c in caches], float) * per_element * part
        state = np.array([c.fixed for _, c in caches], float) * per_element * kept * part
        self._window = np.array([c.window or np.inf for _, c in caches], float)
        cross = np.array([c.kind == "cross" for _, c in caches], bool)
        self._cross_read = np.where(cross, read, 0.0)
        entries = self._entries(encoded or 0.0)
        self._fixed = state + np.where(cross, self._blocks(entries) * slope, 0.0)
        self._fixed_read = state + entries * self._cross_read
        self._slope = np.where(cross, 0.0, slope)
        self._read = np.where(cross, 0.0, read)
        self._stored_window = self._window if store.frees_windows else np.full(len(caches), np.inf)
        self._read_limit = np.minimum(self._window, [c.top or np.inf for _, c in caches] if caches else self._window)

    def _entries(self, prompt: Number) -> Array:
        """What the encoder gives for a prompt (any shape), were a class of layers to attend to it [..., class]."""
        return np.where(np.isfinite(self._window), self._window, np.asarray(prompt, float)[..., None])

    def _blocks(self, tokens: Array) -> Array:
        return np.ceil(tokens / self._block) * self._block

    def _own(self, tokens: Number) -> Array:
        """Of so many tokens, those that the decoder itself keeps."""
        return np.maximum(np.asarray(tokens, float) - (self._encoded or 0.0), 0.0)

    @property
    def windowed(self) -> bool:
        """Whether any layers see the last tokens only."""
        return bool(np.isfinite(self._window[self._slope > 0]).any())

    def sequence_bytes(self, tokens: Number, stage: int | None = None) -> Array:
        """Bytes that sequences of `tokens` keep on one device: fixed + sum of min(tokens, window) x slope.

        tokens  any shape, an encoder's included; rounded up to whole blocks
        stage   only that pipeline stage (None: the whole copy's layers)
        """
        t = self._blocks(self._own(tokens))[..., None]
        per_layer = self._fixed + np.minimum(t, self._blocks(self._stored_window)) * self._slope
        return np.asarray((per_layer * self._layers_in(stage)).sum(axis=-1))

    def shared_parts(self, tokens: Number, prefix: Number, stage: int | None = None) -> tuple[Array, Array]:
        """Bytes on one device of sequences of `tokens` whose first `prefix` are the same: once, and for each sequence.

        The engine keeps whole blocks of the prefix once. A layer with a window keeps the prefix's last tokens for those
        who come, and of each sequence's last ones what the prefix does not have.
        """
        each = self.sequence_bytes(tokens, stage)
        if self._encoded is not None:  # the encoder reads each prompt anew
            return np.zeros_like(each), each
        size = np.asarray(tokens, float)[..., None]
        whole = np.floor(np.minimum(np.asarray(prefix, float)[..., None], size) / self._block) * self._block
        window, slope = self._blocks(self._stored_window), self._slope * self._layers_in(stage)
        once = (np.minimum(whole, window) * slope).sum(axis=-1)
        kept = self._blocks(size)
        seen = (np.maximum(np.minimum(kept, window) - (kept - whole), 0.0) * slope).sum(axis=-1)
        return once, each - seen

    def held_bytes(self, tokens: Number, sequences: Number, prefix: Number = 0, stage: int | None = None) -> Array:
        """Bytes that so many sequences keep on one device (all broadcast), at most those of sequences apart."""
        once, own = self.shared_parts(tokens, prefix, stage)
        n = np.asarray(sequences, float)
        return np.asarray(np.minimum(n * self.sequence_bytes(tokens, stage), once + n * own))

    def kept(self, tokens: int, stage: int | None = None) -> list[Kept]:
        """What makes up `sequence_bytes` of one sequence: its layers, those alike together."""
        stored = np.minimum(self._blocks(self._own(tokens)), self._blocks(self._stored_window))
        alike: dict[tuple[int, int, int, float, float, float], float] = {}
        for i, (cache, layers) in enumerate(zip(self._kinds, self._layers_in(stage).tolist(), strict=True)):
            entries = float(stored[i]) if self._slope[i] else 0.0
            key = (round(entries), cache.elements if entries else 0, cache.units, float(self._per_element[i]),
                   float(self._part[i]), float(self._fixed[i]))  # fmt: skip
            alike[key] = alike.get(key, 0.0) + layers
        return [Kept(round(n), *key) for key, n in alike.items() if n and (key[0] or key[5])]

    def _layers_in(self, stage: int | None) -> Array:
        if stage is None or self._pipeline == 1:
            return self._layers
        return np.asarray(self._layers_per_stage[stage])

    @cached_property
    def _layers_per_stage(self) -> Array:
        """Layers of each cache class on each pipeline stage [stage, class]."""
        each = [self._stages.count(name, at, -1) for name, at in self._places]
        return np.array(each).T if each else np.zeros((self._pipeline, 0))

    def slope_bytes(self, stage: int | None = None) -> float:
        """Bytes that each further token keeps without bound, on one device of a pipeline stage (None: all layers)."""
        return float((np.where(np.isfinite(self._stored_window), 0.0, self._slope) * self._layers_in(stage)).sum())

    def fixed_bytes(self, stage: int | None = None) -> float:
        """Bytes a sequence keeps on one device whatever is written (state, encoder entries), of the same layers."""
        return float((self._fixed * self._layers_in(stage)).sum())

    @cached_property
    def uniform(self) -> bool:
        """Whether each token of a sequence keeps the same bytes: no window that ends, nothing fixed."""
        return not np.isfinite(self._stored_window[self._slope > 0]).any() and not self._fixed.any()

    def step_read(self, context: Number) -> Array:
        """Bytes of one sequence that a device reads for one further token at this context (any shape)."""
        t = self._own(context)[..., None]
        return np.asarray(((self._fixed_read + np.minimum(t, self._read_limit) * self._read) * self._layers).sum(-1))

    def prompt_moved(self, tokens: Number) -> Array:
        """Bytes of one sequence that pass through a device's memory once while a prompt of `tokens` is read."""
        if self._encoded is None:
            return self.step_read(tokens)
        return np.asarray((self._entries(tokens) * self._cross_read * self._layers).sum(axis=-1))
