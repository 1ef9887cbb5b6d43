"""Qwen3-Next, Qwen3.5 and 3.6: gated DeltaNet in most layers, full attention in every fourth.

Sources: Gated DeltaNet (arXiv 2412.06464); the checkpoints' tensor lists (transformers 5.24 classes).
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.architecture.builders import Layer, attention, convolution, join, linear, mlp, norm, vector
from planner.architecture.decoder import Sizes, decoder, grouped, pre_norms, sizes
from planner.architecture.delta import Delta, delta_sizes, linear_layers
from planner.architecture.experts import qwen_mlps, qwen_moe
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Block, Matrix


@family("qwen3_next")
def qwen3_next(k: Keys) -> Body:
    """Qwen3-Next: query, key, value and gate of a linear layer in one matrix, the two scalars per head in another."""
    s = sizes(k)
    d = delta_sizes(k, 16, 32, 128, 128)
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
    d = delta_sizes(k, 16, 32, 128, 128)
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
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=dim, gate=True),
        pre_norms(s.hidden),
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
    kinds = linear_layers(k, s.layers)
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
