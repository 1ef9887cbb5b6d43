"""Qwen3-Next, Qwen3.5 and OLMo Hybrid: gated DeltaNet in most layers, full attention in every fourth.

Sources: Gated DeltaNet (arXiv 2412.06464); the checkpoints' tensor lists (transformers 5.24 classes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planner.architecture.builders import Layer, attention, convolution, join, linear, mlp, norm, vector
from planner.architecture.decoder import Sizes, decoder, grouped, pre_norms, sizes
from planner.architecture.experts import qwen_mlps, qwen_moe
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.ssm import DELTA_RULE, conv_state, recurrence, split_convolutions


@dataclass(frozen=True)
class Delta:
    """Sizes of a gated DeltaNet layer: key and value heads, their dimensions, and the convolution's kernel."""

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
        """A matrix of key dimension x value dimension per value head, and the last inputs of the convolutions."""
        return join(
            recurrence(self.value_heads * self.key_dim * self.value_dim, DELTA_RULE, units=self.value_heads),
            conv_state(2 * self.keys + self.values, self.kernel, units=self.key_heads),
        )


def delta(k: Keys, key_heads: int, value_heads: int, key_dim: int, value_dim: int) -> Delta:
    """Sizes from the keys `linear_*`, with these defaults."""
    return Delta(
        k.integer("linear_num_key_heads", key_heads, null=key_heads),
        k.integer("linear_num_value_heads", value_heads, null=value_heads),
        k.integer("linear_key_head_dim", key_dim, null=key_dim),
        k.integer("linear_value_head_dim", value_dim, null=value_dim), k.integer("linear_conv_kernel_dim", 4),
    )  # fmt: skip


def is_linear(k: Keys, layers: int, interval: int = 4) -> list[bool]:
    """Which layers are linear: as `layer_types` says, else all but every `full_attention_interval`-th."""
    kinds = layer_kinds(k, layers)
    if kinds is not None:
        return [kind == "linear_attention" for kind in kinds]
    interval = k.integer("full_attention_interval", interval, null=interval, most=MOST_LAYERS)
    return [(i + 1) % interval != 0 for i in range(layers)]


@family("qwen3_next")
def qwen3_next(k: Keys) -> Body:
    """Qwen3-Next: query, key, value and gate of the linear layers in one matrix, the two scalars per head in another."""
    s = sizes(k)
    d = delta(k, 16, 32, 128, 128)
    inputs = [
        linear("linear_attn.in_proj_qkvz", 2 * d.keys + 2 * d.values, s.hidden, "mixer", units=d.key_heads),
        linear("linear_attn.in_proj_ba", 2 * d.value_heads, s.hidden, "mixer", units=d.key_heads),
    ]
    return _qwen(k, s, d, inputs, qwen_mlps(k, s.hidden, s.layers))


@family("qwen3_5_text")
def qwen3_5(k: Keys) -> Body:
    """Qwen3.5 and 3.6, dense."""
    s = sizes(k)
    return _qwen3_5(k, s, [mlp(s.hidden, k.integer("intermediate_size"))] * s.layers)


@family("qwen3_5_moe_text")
def qwen3_5_moe(k: Keys) -> Body:
    """Qwen3.5 and 3.6 with experts in every layer."""
    s = sizes(k)
    return _qwen3_5(k, s, [qwen_moe(k, s.hidden)] * s.layers)


def _qwen3_5(k: Keys, s: Sizes, mlps: Sequence[tuple[Matrix, ...]]) -> Body:
    d = delta(k, 16, 32, 128, 128)
    inputs = [
        linear("linear_attn.in_proj_qkv", 2 * d.keys + d.values, s.hidden, "mixer", units=d.key_heads),
        linear("linear_attn.in_proj_z", d.values, s.hidden, "mixer", units=d.value_heads),
        linear("linear_attn.in_proj_b", d.value_heads, s.hidden, "mixer"),
        linear("linear_attn.in_proj_a", d.value_heads, s.hidden, "mixer"),
    ]
    return _qwen(k, s, d, inputs, mlps)


def _qwen(k: Keys, s: Sizes, d: Delta, inputs: Sequence[Matrix], mlps: Sequence[tuple[Matrix, ...]]) -> Body:
    """Both kinds of layer; in a full layer the query projection also yields the output gate."""
    kv, dim = grouped(k, s)
    full = join(
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=dim, gate=True), pre_norms(s.hidden)
    )
    mixer = join(
        inputs,
        convolution("linear_attn.conv1d", 2 * d.keys + d.values, d.kernel, units=d.key_heads),
        vector("linear_attn.A_log", d.value_heads, "mixer", units=d.value_heads),
        vector("linear_attn.dt_bias", d.value_heads, "mixer", units=d.value_heads),
        norm("linear_attn.norm", d.value_dim),
        linear("linear_attn.out_proj", s.hidden, d.values, "mixer", units=d.value_heads),
        d.state(), pre_norms(s.hidden),
    )  # fmt: skip
    kinds = is_linear(k, s.layers)
    layers = [join(mixer if kind else full, feed) for kind, feed in zip(kinds, mlps, strict=True)]
    return decoder(s, layers, kv, extra=_next_token(k, s, join(full, mlps[-1])))


def _next_token(k: Keys, s: Sizes, layer: Layer) -> list[Block]:
    """Qwen's multi-token-prediction layers: full attention with the model's MLP, one projection before them all."""
    count = k.integer("mtp_num_hidden_layers", 0, null=0, least=0, most=MOST_LAYERS)
    if not count:
        return []
    frame = join(
        linear("fc", s.hidden, 2 * s.hidden, "other", units=1),
        norm("pre_fc_norm_embedding", s.hidden), norm("pre_fc_norm_hidden", s.hidden), norm("norm", s.hidden),
    )  # fmt: skip
    return [
        Block("mtp.", (0,), frame[0], part="mtp"),
        Block("mtp.layers.{i}.", tuple(range(count)), *layer, part="mtp"),
    ]


@family("olmo_hybrid")
def olmo_hybrid(k: Keys) -> Body:
    """OLMo Hybrid: separate projections and convolutions; OLMo 3 attention with norms after it and full-width q, k norms."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    heads = k.integer("linear_num_key_heads", s.heads, null=s.heads)
    d = delta(k, s.heads, s.heads, key_dim := int(0.75 * s.hidden / heads), 2 * k.integer(
        "linear_key_head_dim", key_dim, null=key_dim))  # fmt: skip
    p = "linear_attn."
    mixer = join(
        linear(f"{p}q_proj", d.keys, s.hidden, "mixer", units=d.key_heads),
        linear(f"{p}k_proj", d.keys, s.hidden, "mixer", units=d.key_heads),
        linear(f"{p}v_proj", d.values, s.hidden, "mixer", units=d.value_heads),
        linear(f"{p}g_proj", d.values, s.hidden, "mixer", units=d.value_heads),
        linear(f"{p}a_proj", d.value_heads, s.hidden, "mixer"),
        linear(f"{p}b_proj", d.value_heads, s.hidden, "mixer"),
        split_convolutions(p, d.kernel, d.key_heads, q=d.keys, k=d.keys, v=d.values),
        vector(f"{p}A_log", d.value_heads, "mixer", units=d.value_heads),
        vector(f"{p}dt_bias", d.value_heads, "mixer", units=d.value_heads),
        norm(f"{p}o_norm", d.value_dim),
        linear(f"{p}o_proj", s.hidden, d.values, "mixer", units=d.value_heads),
        d.state(), pre_norms(s.hidden, "attention_layer_norm", "feedforward_layer_norm"),
    )  # fmt: skip
    full = join(
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=s.heads * dim, k_norm=kv * dim),
        pre_norms(s.hidden, "post_attention_layernorm", "post_feedforward_layernorm"),
    )
    feed = mlp(s.hidden, k.integer("intermediate_size"))
    return decoder(s, [join(mixer if kind else full, feed) for kind in is_linear(k, s.layers)], kv)
