"""Latent attention with additions: A.X K1 and K2 (SKT), Hy4 (Tencent).

They add to DeepSeek's layers a norm after the mixture, gates on the attention output, gated norms, sinks, or several
residual streams. Sources: the model code in transformers 5.24 (axk1, axk2, hy_v4).
"""

from __future__ import annotations

from planner.architecture.builders import Layer, join, linear, norm, vector
from planner.architecture.decoder import decoder, next_token_layers, pre_norms, sizes
from planner.architecture.experts import deepseek_mlps, dense_first
from planner.architecture.families import Body, family
from planner.architecture.families.deepseek import index_layers, sparse_attention
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix
from planner.architecture.mla import latent_shape, mla


@family("axk1")
def axk1(k: Keys) -> Body:
    """A.X K1: DeepSeek V3 with a norm after the MLP of sparse layers, and one dense layer."""
    s = sizes(k)
    attn = mla(s.hidden, latent_shape(k, s.hidden, s.heads))
    after = norm("post_mlp_layernorm", s.hidden)
    layers = [
        join(attn, feed_forward, pre_norms(s.hidden), after if is_sparse else ())
        for feed_forward, is_sparse in zip(
            deepseek_mlps(k, s.hidden, s.layers, first=1), dense_first(k, s.layers, 1), strict=True
        )
    ]
    return decoder(s, layers, s.heads, extra=next_token_layers(k, s, layers[-1]))


@family("axk2")
def axk2(k: Keys) -> Body:
    """A.X K2: DeepSeek V3.2 whose query projection yields an output gate too, and whose norms have small gates."""
    s = sizes(k)
    shape = latent_shape(k, s.hidden, s.heads)
    rank = k.integer("gated_norm_rank")
    (matrices, caches, mixing), *_ = sparse_attention(k, s, [True])
    gated_query = linear(
        "self_attn.q_b_proj", s.heads * (shape.nope + shape.rope + shape.v), 2 * (shape.q_rank or 0), "attention",
        units=s.heads,
    )  # fmt: skip
    attn: Layer = (
        tuple(gated_query if m.name == "self_attn.q_b_proj" else m for m in matrices), caches, mixing,
    )  # fmt: skip

    def gated_norm(name: str) -> tuple[Matrix, ...]:
        return (
            norm(f"{name}.norm", s.hidden),
            linear(f"{name}.W_down", rank, s.hidden, "other", units=1),
            linear(f"{name}.W_up", s.hidden, rank, "other", units=1),
        )

    layers = [
        join(
            attn, feed_forward, gated_norm("input_layernorm"),
            gated_norm("post_attention_layernorm") if is_sparse else norm("post_attention_layernorm", s.hidden),
        )
        for feed_forward, is_sparse in zip(
            deepseek_mlps(k, s.hidden, s.layers, first=1), dense_first(k, s.layers, 1), strict=True
        )
    ]  # fmt: skip
    return decoder(s, layers, s.heads)


@family("hy_v4", "hy_v4_vl_text")
def hy_v4(k: Keys) -> Body:
    """Hy4: sparse latent attention with an output gate and sinks, in `hc_mult` residual streams.

    Where the file does not say, the first layer and then every fourth have an indexer.
    """
    s = sizes(k)
    streams, value = k.integer("hc_mult", most=64), k.integer("v_head_dim")
    listed = k.has("indexer_types")
    full = index_layers(k, s.layers) if listed else [i == 0 or (i - 1) % 4 == 0 for i in range(s.layers)]
    gate = linear("self_attn.linear_gate", s.heads * value, s.hidden, "attention", units=s.heads)
    sinks = vector("self_attn.learnable_sink_param", s.heads, "attention", units=s.heads)

    def connection(name: str) -> tuple[Matrix, ...]:
        return (
            linear(f"{name}.hc_fn", 2 * streams, streams * s.hidden, "other", units=1),
            vector(f"{name}.hc_base", 2 * streams),
            vector(f"{name}.hc_scale", 2),
        )

    layers = [
        join(attn, gate, sinks, feed_forward, pre_norms(s.hidden), connection("hc_attn_layer"),
             connection("hc_mlp_layer"))
        for attn, feed_forward in zip(
            sparse_attention(k, s, full), deepseek_mlps(k, s.hidden, s.layers, first=1), strict=True
        )
    ]  # fmt: skip
    mixing_head = (
        linear("model.hc_head_fn", streams, streams * s.hidden, "other", units=1),
        vector("model.hc_head_base", streams),
        vector("model.hc_head_scale", 1),
    )
    return decoder(s, layers, s.heads, outside=mixing_head)
