"""The older GPT families: GPT 1 and 2, Jais, StarCoder (GPT-BigCode), GPT-J, CodeGen, GPT-Neo, GPT-NeoX, CTRL.

LayerNorm with bias, an MLP without a gate and four times as wide, every query head with its own key and value.
Sources: the checkpoints' tensor lists (transformers 5.24 classes of the same names).
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.decoder import decoder, sizes
from planner.architecture.families import Body, family
from planner.architecture.families.dense import Traits, dense, dense_layers, register
from planner.architecture.keys import Keys

GPT2 = Traits(
    qkv_bias=True, mlp_bias=True, norm_bias=True, gated=False, gqa=False, width_times=4, positions=0,
    embedding="transformer.wte", position_table="transformer.wpe", layer="transformer.h.{i}.",
    final_norm="transformer.ln_f", attention=("attn.c_attn", "attn.c_proj"), mlp=("mlp.c_fc", "mlp.c_proj"),
    norms=("ln_1", "ln_2"),
)  # fmt: skip
register(GPT2, "gpt2", "gpt-sw3")
register(
    replace(GPT2, embedding="transformer.tokens_embed", position_table="transformer.positions_embed", final_norm=""),
    "openai-gpt",
)

# Attention and MLP side by side behind one norm; rotary positions; the head has a bias.
GPTJ = replace(
    GPT2, qkv_bias=False, head_bias=True, positions=None, norms=("ln_1",), mlp=("mlp.fc_in", "mlp.fc_out"),
    attention=("attn.q_proj", "attn.k_proj", "attn.v_proj", "attn.out_proj"),
)  # fmt: skip
register(GPTJ, "gptj")
register(replace(GPTJ, attention=("attn.qkv_proj", "attn.out_proj")), "codegen")

# GPT-Neo's local layers mask what is older than window_size, yet keep it in memory: all layers are listed as full.
register(
    replace(
        GPT2, qkv_bias=False, out_bias=True,
        attention=tuple(f"attn.attention.{name}" for name in ("q_proj", "k_proj", "v_proj", "out_proj")),
    ),
    "gpt_neo",
)  # fmt: skip

GPT_NEOX = Traits(
    mlp_bias=True, norm_bias=True, gated=False, gqa=False, width_times=4, embedding="gpt_neox.embed_in",
    layer="gpt_neox.layers.{i}.", final_norm="gpt_neox.final_layer_norm", head="embed_out",
    attention=("attention.query_key_value", "attention.dense"), mlp=("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
)  # fmt: skip
register(GPT_NEOX, "gpt_neox")

# Sinusoidal positions are computed, not stored.
register(
    replace(
        GPT2, head_bias=True, positions=None, embedding="transformer.w", final_norm="transformer.layernorm",
        attention=tuple(f"multi_head_attention.{name}" for name in ("Wq", "Wk", "Wv", "dense")),
        mlp=("ffn.0", "ffn.2"), norms=("layernorm1", "layernorm2"),
    ),
    "ctrl",
)  # fmt: skip


@family("gpt_bigcode")
def gpt_bigcode(k: Keys) -> Body:
    """StarCoder 1 and SantaCoder: GPT-2 in which `multi_query` (default true) leaves one key and value head."""
    return dense(k, GPT2, kv_heads=1 if k.flag("multi_query", True) else k.integer("num_attention_heads"))


@family("jais")
def jais(k: Keys) -> Body:
    """Jais 1: GPT-2 with ALiBi in place of the position table and, with `swiglu`, a gated MLP."""
    traits = GPT2
    if k.text("position_embedding_type", "learned") == "alibi":
        traits = replace(traits, positions=None)
    if k.text("activation_function", "gelu") == "swiglu":
        traits = replace(traits, gated=True, mlp=("mlp.c_fc2", "mlp.c_fc", "mlp.c_proj"))
    return dense(k, traits)


@family("gpt_neox_japanese")
def gpt_neox_japanese(k: Keys) -> Body:
    """GPT-NeoX Japanese: no biases on matrices, but for the attention output of the last layer."""
    traits = replace(
        GPT_NEOX, qkv_bias=False, mlp_bias=False, embedding="gpt_neox_japanese.embed_in", head="embed_out",
        layer="gpt_neox_japanese.layers.{i}.", final_norm="gpt_neox_japanese.final_layer_norm",
        width_times=k.integer("intermediate_multiple_size", 4),
    )  # fmt: skip
    s = sizes(k)
    layers = dense_layers(k, traits, s, s.heads)
    layers[-1] = dense_layers(k, replace(traits, out_bias=True), s, s.heads)[-1]
    return decoder(
        s, layers, s.heads, prefix=traits.layer, embedding=traits.embedding, final=traits.final_norm,
        norm_bias=True, head_name=traits.head,
    )  # fmt: skip
