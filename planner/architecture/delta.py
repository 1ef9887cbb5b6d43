"""Delta-rule layers: gated DeltaNet (Qwen3-Next, OLMo Hybrid) and Kimi Delta Attention (KDA).

Each head keeps a matrix of key dimension x value dimension; a token reads what its key holds there, replaces it in part
by its value, and reads with its query. Short convolutions run over queries, keys and values.

Sources: Gated DeltaNet (arXiv 2412.06464); Kimi Linear (arXiv 2510.26692); the checkpoints' tensor lists.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.architecture.builders import Layer, convolution, join, linear, norm, vector
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix
from planner.architecture.ssm import DELTA_RULE, conv_state, recurrence, within_chunk

# Tokens per chunk in prefill: keys with keys, queries with keys, and those weights on values (flash-linear-attention
# and the reference implementation use 64; solving the small triangular system is not counted).
CHUNK: Final = 64


@dataclass(frozen=True)
class Delta:
    """Sizes of a delta-rule layer: key and value heads, their dimensions, and the convolutions' kernel."""

    key_heads: int
    value_heads: int
    key_dim: int
    value_dim: int
    kernel: int

    @property
    def keys(self) -> int:
        """Width of all key heads (and of all query heads)."""
        return self.key_heads * self.key_dim

    @property
    def values(self) -> int:
        """Width of all value heads."""
        return self.value_heads * self.value_dim

    def state(self) -> Layer:
        """The matrix of each value head, and the last inputs of the convolutions."""
        return join(
            recurrence(self.value_heads * self.key_dim * self.value_dim, DELTA_RULE, units=self.value_heads),
            within_chunk(2 * self.value_heads * (2 * self.key_dim + self.value_dim), CHUNK),
            conv_state(2 * self.keys + self.values, self.kernel, units=self.key_heads),
        )

    def split_convolutions(self, prefix: str) -> list[Matrix]:
        """One convolution each for queries, keys and values."""
        widths = (("q_conv1d", self.keys), ("k_conv1d", self.keys), ("v_conv1d", self.values))
        return [convolution(prefix + name, width, self.kernel, units=self.key_heads) for name, width in widths]


def delta_sizes(k: Keys, key_heads: int, value_heads: int, key_dim: int, value_dim: int | None = None) -> Delta:
    """Sizes from the keys `linear_*`, with these defaults (`value_dim` None: twice the key dimension)."""
    dim = k.integer("linear_key_head_dim", key_dim, null=key_dim)
    value_dim = 2 * dim if value_dim is None else value_dim
    return Delta(
        k.integer("linear_num_key_heads", key_heads, null=key_heads),
        k.integer("linear_num_value_heads", value_heads, null=value_heads),
        dim, k.integer("linear_value_head_dim", value_dim, null=value_dim), k.integer("linear_conv_kernel_dim", 4),
    )  # fmt: skip


def linear_layers(k: Keys, layers: int, interval: int = 4, key: str = "full_attention_interval") -> list[bool]:
    """Which layers are linear: as `layer_types` says, else all but every `interval`-th (or what `key` says)."""
    kinds = layer_kinds(k, layers)
    if kinds is not None:
        return [kind == "linear_attention" for kind in kinds]
    interval = k.integer(key, interval, null=interval, most=MOST_LAYERS)
    return [(i + 1) % interval != 0 for i in range(layers)]


def kda(hidden: int, d: Delta, *, low_rank: bool = True, low_rank_gate: bool = True,
        prefix: str = "self_attn.") -> Layer:  # fmt: skip
    """Kimi Delta Attention: a forget gate per channel of the key and an output gate.

    low_rank       the forget gate passes through one head's width (f_a_proj, f_b_proj), else it is one matrix (f_proj)
    low_rank_gate  the same for the output gate (g_a_proj, g_b_proj or g_proj)
    """
    return join(
        [linear(f"{prefix}{name}_proj", width, hidden, "mixer", units=d.key_heads)
         for name, width in (("q", d.keys), ("k", d.keys), ("v", d.values))],
        d.split_convolutions(prefix),
        _gate(f"{prefix}f", hidden, d.keys, d, low_rank),
        vector(f"{prefix}dt_bias", d.keys, "mixer", units=d.key_heads),
        vector(f"{prefix}A_log", d.key_heads, "mixer", units=d.key_heads),
        linear(f"{prefix}b_proj", d.key_heads, hidden, "mixer"),
        _gate(f"{prefix}g", hidden, d.values, d, low_rank_gate),
        norm(f"{prefix}o_norm", d.value_dim),
        linear(f"{prefix}o_proj", hidden, d.values, "mixer", units=d.key_heads),
        d.state(),
    )  # fmt: skip


def _gate(name: str, hidden: int, width: int, d: Delta, low_rank: bool) -> list[Matrix]:
    if not low_rank:
        return [linear(f"{name}_proj", width, hidden, "mixer", units=d.key_heads)]
    return [
        linear(f"{name}_a_proj", d.value_dim, hidden, "mixer", units=1),
        linear(f"{name}_b_proj", width, d.value_dim, "mixer", units=d.key_heads),
    ]
