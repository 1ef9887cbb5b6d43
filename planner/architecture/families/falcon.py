"""Falcon, BLOOM and MPT: fused query-key-value matrices, ungated MLPs four times as wide.

Sources: the checkpoints' tensor lists (transformers 5.24 classes); for MPT also the keys of the llm-foundry code.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.families import Body, family
from planner.architecture.families.dense import Traits, dense, register
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block

BLOOM = Traits(
    qkv_bias=True, mlp_bias=True, norm_bias=True, gated=False, gqa=False, width_times=4,
    embedding="transformer.word_embeddings", layer="transformer.h.{i}.", final_norm="transformer.ln_f",
    attention=("self_attention.query_key_value", "self_attention.dense"),
    mlp=("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
    embedding_norms=("transformer.word_embeddings_layernorm",),
)  # fmt: skip
register(BLOOM, "bloom")


@family("falcon", "RefinedWeb", "RefinedWebModel")
def falcon(k: Keys) -> Body:
    """Falcon 7B to 180B, Falcon 2 and Falcon-RW; RefinedWeb is what its first files call it.

    The new architecture (40B on) has grouped key and value heads; the old has one (`multi_query`) or as many.
    """
    heads = k.integer("num_attention_heads")
    # The first 40B file has no new_decoder_architecture key, but KV heads of its own.
    new = k.flag("new_decoder_architecture", k.has("n_head_kv"))
    if new or not k.flag("multi_query", True):
        kv_heads = k.integer("num_key_value_heads", heads, null=heads, most=heads)
    else:
        kv_heads = 1
    norms: tuple[str, ...] = ("input_layernorm",)
    if not k.flag("parallel_attn", True):
        norms = ("input_layernorm", "post_attention_layernorm")
    elif k.integer("num_ln_in_parallel_attn", 2 if new else 1, null=2 if new else 1) == 2:
        norms = ("ln_attn", "ln_mlp")
    traits = replace(BLOOM, qkv_bias="bias", mlp_bias="bias", norms=norms, embedding_norms=())
    body = dense(k, traits, kv_heads=kv_heads)
    if not new or kv_heads == heads:
        return body
    k.warn(
        f"The transformers library stores keys and values of this model once per query head; serving engines store its "
        f"{kv_heads} KV heads, a {heads // kv_heads}th of that, and memory is planned so."
    )
    return replace(body, blocks=[_in_library(block, heads, kv_heads) for block in body.blocks])


def _in_library(block: Block, heads: int, kv_heads: int) -> Block:
    """The block with what transformers stores of its caches: each KV head once per query head it serves."""
    caches = tuple(replace(c, in_library=c.elements // kv_heads * heads) for c in block.caches)
    return replace(block, caches=caches)


@family("mpt")
def mpt(k: Keys) -> Body:
    """MPT: no biases unless `no_bias` is false; ALiBi or, without it, a learned position table."""
    heads, attention = k.integer("num_attention_heads"), k.section("attn_config")
    kind = attention.text("attn_type", "multihead_attention")
    kv_heads = heads if kind == "multihead_attention" else attention.integer("kv_n_heads", 1, most=heads)
    bias = not k.flag("no_bias", True)
    learned = not attention.flag("alibi", True) and not attention.flag("rope") and k.flag("learned_pos_emb", True)
    traits = Traits(
        qkv_bias=bias, mlp_bias=bias, norm_bias=bias and "rms" not in (k.text("norm_type") or ""), gated=False,
        positions=0 if learned else None, position_table="transformer.wpe", embedding="transformer.wte",
        layer="transformer.blocks.{i}.", final_norm="transformer.norm_f", attention=("attn.Wqkv", "attn.out_proj"),
        mlp=("ffn.up_proj", "ffn.down_proj"), norms=("norm_1", "norm_2"),
        qk_norm="width" if attention.flag("qk_ln") else "", qk_norm_bias=bias, qk_names=("attn.q_ln", "attn.k_ln"),
    )  # fmt: skip
    width = round(k.number("expansion_ratio", 4, least=0.01, most=1000) * k.integer("hidden_size"))
    return dense(k, traits, kv_heads=kv_heads, width=width)
