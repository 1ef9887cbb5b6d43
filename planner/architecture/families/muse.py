"""Muse Glimmer (dense) and Muse Spark (experts in a narrower space): output gates, four norms, three windows of four.

Source: the classes of the same names in transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, join, linear, mlp, norm, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, mixed, moe, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_windows
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix


def _gated_attention(k: Keys, hidden: int, heads: int, kv: int, dim: int, window: int | None) -> Layer:
    """Attention whose output is multiplied by a gate as wide as all heads."""
    bias = k.flag("attention_bias")
    return join(
        attention(hidden, heads, kv, dim, bias=bias, window=window),
        linear("self_attn.gate_proj", heads * dim, hidden, "attention", units=heads),
    )


@family("muse_glimmer_text")
def muse_glimmer(k: Keys) -> Body:
    """Muse Glimmer: dense."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    rest = (
        *mlp(s.hidden, k.integer("intermediate_size")),
        *pre_norms(s.hidden, "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm",
                   "post_feedforward_layernorm"),
    )  # fmt: skip
    layers = [
        join(_gated_attention(k, s.hidden, s.heads, kv, dim, window), rest)
        for window in layer_windows(k, s.layers, "last of", period=4)
    ]
    return decoder(s, layers, kv)


@family("muse_spark_text")
def muse_spark(k: Keys) -> Body:
    """Muse Spark: the experts work on `moe_hidden_size` numbers per token, between two projections."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    mlps = mixed(
        sparse_kinds(k, s.layers) or [True] * s.layers,
        lambda: _narrow_moe(k, s.hidden),
        lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )
    rest = (
        *pre_norms(s.hidden, "input_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"),
        vector("post_attention_residual_gate.gate", s.hidden),
        vector("post_feedforward_residual_gate.gate", s.hidden),
    )
    layers = [
        join(_gated_attention(k, s.hidden, s.heads, kv, dim, window), feed, rest)
        for window, feed in zip(layer_windows(k, s.layers, "last of", period=4), mlps, strict=True)
    ]
    return decoder(s, layers, kv)


def _narrow_moe(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    narrow, width = k.integer("moe_hidden_size"), k.integer("moe_intermediate_size")
    router, *experts = moe(narrow, width, *counts(k))
    return (
        linear(router.name, router.rows, hidden, "router", units=1),
        linear("mlp.pre_expert_proj", narrow, hidden, "mlp"), norm("mlp.pre_expert_norm", narrow),
        *experts, norm("mlp.experts.post_expert_norm", narrow),
        linear("mlp.post_expert_proj", hidden, narrow, "mlp"),
    )  # fmt: skip
