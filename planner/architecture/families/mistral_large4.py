"""Mistral Large 4: latent attention chosen by an indexer; every fourth layer has no positions and a smaller latent.

Source: the class of the same name in transformers 5.24.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import Layer, join, linear, mlp, norm, vector
from planner.architecture.decoder import decoder, pre_norms, sizes
from planner.architecture.experts import deepseek_moe, mixed, per_layer, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Cache, Matrix, Mixing
from planner.architecture.mla import LatentShape, mla

INDEX = "self_attn.indexer."


@family("mistral_large4_text")
def mistral_large4(k: Keys) -> Body:
    """Mistral Large 4 (text): queries straight from the hidden state, learnt softmax scales per head."""
    s = sizes(k)
    shape = LatentShape(
        s.heads, None, k.integer("kv_lora_rank"), k.integer("qk_nope_head_dim", least=0),
        k.integer("qk_rope_head_dim", 64, least=0), k.integer("v_head_dim"), k.flag("attention_bias"),
    )  # fmt: skip
    # Without positions the rotary part of queries and keys is one more part of the plain one.
    without = replace(shape, nope=shape.nope + shape.rope, rope=0)
    top = k.integer("index_topk")
    scales = [vector(f"self_attn.softmax_scaling.{name}", s.heads, "attention") for name in ("scale", "bias")]
    mixers = {
        (rotary, chooses): join(
            mla(s.hidden, shape if rotary else without, top=top), scales, _indexer(k, s.hidden) if chooses else ()
        )
        for rotary in (False, True) for chooses in (False, True)
    }  # fmt: skip
    first = k.integer("first_k_dense_replace", 1, null=0, least=0, most=MOST_LAYERS)
    mlps = mixed(
        sparse_kinds(k, s.layers) or [i >= first for i in range(s.layers)],
        lambda: deepseek_moe(k, s.hidden), lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )  # fmt: skip
    _refuse_shared_caches(k, s.layers)
    layers = [
        join(mixers[kind], feed, pre_norms(s.hidden))
        for kind, feed in zip(zip(_rotary(k, s.layers), _choosing(k, s.layers), strict=True), mlps, strict=True)
    ]
    alpha = vector("model.rotary_emb.alpha", shape.rope // 2)
    return decoder(s, layers, s.heads, outside=[alpha])


def _rotary(k: Keys, layers: int) -> list[bool]:
    """Layers with positions: a 1 in `no_rope_layers`, else all but every fourth."""
    listed = k.items("no_rope_layers", None)
    if listed is None:
        step = k.integer("no_rope_layer_interval", 4, null=4, most=MOST_LAYERS)
        return [(i + 1) % step != 0 for i in range(layers)]
    return [bool(entry) for entry in per_layer(k, "no_rope_layers", listed, layers)]


def _choosing(k: Keys, layers: int) -> list[bool]:
    """Layers with an indexer of their own; the others attend to what the last one chose."""
    listed = k.raw("indexer_types", None)
    if listed is None:
        listed = k.raw("index_topk_pattern", None)
    if isinstance(listed, (str, list)):
        return [entry in ("full", "F") for entry in per_layer(k, "indexer_types", list(listed), layers)]
    step = k.integer("index_topk_freq", 1, most=MOST_LAYERS)
    offset = k.integer("index_skip_topk_offset", 2, least=0, most=MOST_LAYERS)
    return [max(i - offset + 1, 0) % step == 0 for i in range(layers)]


def _refuse_shared_caches(k: Keys, layers: int) -> None:
    sources = k.items("kv_source_layers", None)
    if sources is not None and sources != list(range(layers)):
        raise k.refuse(
            "kv_source_layers makes layers share their caches, which the planner does not know of this model. "
            "Give each layer its own number, or remove the key."
        )


def _indexer(k: Keys, hidden: int) -> Layer:
    heads, dim = k.integer("index_n_heads"), k.integer("index_head_dim")
    return join(
        linear(f"{INDEX}wq_b", heads * dim, hidden, "indexer", units=1),
        linear(f"{INDEX}wk", dim, hidden, "indexer", units=1),
        Matrix(f"{INDEX}k_norm", dim, 1, "norm", "vector", bias=dim), norm(f"{INDEX}q_input_norm", hidden, bias=True),
        linear("self_attn.indexers_proj", heads, hidden, "indexer", units=1),
        *(vector(f"{INDEX}softmax_scaling.{name}", heads, "indexer") for name in ("scale", "bias")),
        Cache("full", dim, role="index"), Mixing(2 * heads * dim),
    )  # fmt: skip
