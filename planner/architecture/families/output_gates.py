"""Mixtures of experts of 2026 with attention sinks or output gates: Flint, Beam; and Doge, small and dense or sparse.

Sources: the classes of the same names in transformers 5.24.
"""

from __future__ import annotations

from math import isqrt

from planner.architecture.builders import Layer, attention, join, linear, mlp, table, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, mixed, moe, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix

FOUR_NORMS = (
    "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm",
)  # fmt: skip


def _windows(k: Keys, full: list[bool]) -> list[int | None]:
    """The window of each layer: as `layer_types` lists them, else none in the `full` layers."""
    kinds = layer_kinds(k, len(full))
    if kinds is not None:
        full = ["sliding" not in kind for kind in kinds]
    window = None if all(full) else k.optional("sliding_window") or None
    return [None if whole else window for whole in full]


@family("flint")
def flint(k: Keys) -> Body:
    """Flint: a sink per head, a shared expert without gate, the first two layers dense; most layers slide."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    full = [i < 2 or i % 4 == 1 or i == s.layers - 1 for i in range(s.layers)]
    dense = k.items("mlp_only_layers", None)
    dense_at = {0, 1} if dense is None else set(dense)
    step = k.integer("decoder_sparse_step", 1, null=1, most=MOST_LAYERS)
    mlps = mixed(
        [i not in dense_at and (i + 1) % step == 0 for i in range(s.layers)],
        lambda: moe(s.hidden, k.integer("moe_intermediate_size"), *counts(k), shared_name="shared_expert.",
                    shared=k.integer("shared_expert_intermediate_size", 0, null=0, least=0)),
        lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )  # fmt: skip
    sink = vector("self_attn.sinks", s.heads, "attention", units=s.heads)
    bias = k.flag("attention_bias")
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window), sink, feed,
             pre_norms(s.hidden))
        for window, feed in zip(_windows(k, full), mlps, strict=True)
    ]  # fmt: skip
    return decoder(s, layers, kv)


@family("beam")
def beam(k: Keys) -> Body:
    """Beam: an output gate as wide as all heads, four norms, three dense layers first; every sixth layer is full."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    full = [(i + 1) % 6 == 0 or i == s.layers - 1 for i in range(s.layers)]
    mlps = mixed(
        sparse_kinds(k, s.layers) or [i >= 3 for i in range(s.layers)],
        lambda: moe(s.hidden, k.integer("moe_intermediate_size"), *counts(k)),
        lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )
    gate = (
        linear("self_attn.gate_proj", s.heads * dim, s.hidden, "attention", units=s.heads),
        vector("self_attn.gate_bias", s.heads, "attention", units=s.heads),
    )
    bias = k.flag("attention_bias")
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window), gate, feed,
             pre_norms(s.hidden, *FOUR_NORMS))
        for window, feed in zip(_windows(k, full), mlps, strict=True)
    ]  # fmt: skip
    return decoder(s, layers, kv)


@family("doge")
def doge(k: Keys) -> Body:
    """Doge: a dynamic mask from the values, scaled residuals; `is_moe` adds a large table of one-row experts."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias")
    own = (
        vector("self_attn.A", kv, "attention", units=kv),
        linear("self_attn.dt_proj", kv, kv * dim, "attention", bias=bias, units=kv),
        vector("input_residual", s.hidden), vector("post_attention_residual", s.hidden),
    )  # fmt: skip
    window = k.optional("sliding_window") or None
    feed = mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias"))
    layer: Layer = join(
        attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window), own, feed,
        _rows_as_experts(k, s.hidden) if k.flag("is_moe") else (), pre_norms(s.hidden),
    )  # fmt: skip
    return decoder(s, [layer] * s.layers, kv)


def _rows_as_experts(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """Doge's experts are rows of two tables; the router scores two halves of a square grid of them."""
    count = k.integer("num_experts")
    return (
        linear("mlp.router_gate", 2 * isqrt(count), hidden, "router", units=1),
        table("mlp.down_embed", count, hidden, "experts"),
        table("mlp.up_embed", count, hidden, "experts"),
    )


