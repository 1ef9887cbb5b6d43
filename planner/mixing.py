"""Work between tokens: FLOPs of attention over the pairs of tokens that see each other, and of scans along the text."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from planner.architecture import Architecture
from planner.layout import Array, Number


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


class Mixing:
    """FLOPs between the tokens of one sequence on one of `devices` that share each attention layer.

    encoded  entries that an encoder made of the prompt (None: no encoder); the decoder's own tokens follow them
    """

    def __init__(self, arch: Architecture, devices: int, encoded: float | None) -> None:
        listed = [(b, m) for b in arch.blocks if b.part == "text" for m in b.mixing]
        own = [(b, m) for b, m in listed if not m.cross]
        count = np.array([b.count * b.runs for b, _ in own], float) / max(devices, 1)
        self._pair = np.array([m.pair for _, m in own], float) * count
        self._pair_decode = np.array([m.pair if m.decode is None else m.decode for _, m in own], float) * count
        self._token = float(np.sum(np.array([m.token for _, m in own], float) * count))
        self._limit = np.array([min(m.window or np.inf, m.top or np.inf) for _, m in own], float)
        # Chunked attention, and scans that work through a prompt chunk by chunk.
        self._chunked = np.array([m.chunked or any(c.kind == "chunk" for c in b.caches) for b, m in own], bool)
        self._encoded = encoded or 0.0
        # Without an encoder, cross-attention looks at images, of which a prompt of text has none.
        crossing = [(b, m) for b, m in listed if m.cross and encoded is not None]
        self._cross = sum(m.pair * (m.window or self._encoded) * b.count / max(devices, 1) for b, m in crossing)

    def step(self, context: Number) -> Array:
        """FLOPs of one further token at this context (any shape)."""
        t = np.maximum(np.asarray(context, float) - self._encoded, 0.0)[..., None]
        seen = self._pair_decode * np.minimum(t, self._limit)
        return np.asarray(np.sum(seen, axis=-1) + self._token + self._cross)

    def prefill(self, tokens: Number, cached: Number = 0) -> Array:
        """FLOPs of a prompt of `tokens` of which the first `cached` are there already (shapes broadcast)."""
        t, h = np.asarray(tokens, float), np.asarray(cached, float)
        pairs = visible_pairs(t[..., None], self._limit, self._chunked) - visible_pairs(
            h[..., None], self._limit, self._chunked
        )
        return np.asarray(np.sum(self._pair * pairs, axis=-1) + self._token * (t - h))
