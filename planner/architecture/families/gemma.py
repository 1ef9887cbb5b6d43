"""Gemma 1 to 3 (text), VaultGemma, Cohere Command R and R7B, GLM-4 and ChatGLM.

Sources: the checkpoints' tensor lists; the transformers 5.24 classes; for ChatGLM the model code beside the checkpoint.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.families import Body, family
from planner.architecture.families.dense import Traits, dense, register
from planner.architecture.keys import Keys

# Gemma 2 and 3 have a norm before and after both attention and MLP.
AROUND = (
    "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm",
)  # fmt: skip
register(Traits(), "gemma")
register(Traits(norms=AROUND, window="even"), "gemma2")
register(Traits(norms=AROUND, qk_norm="head", window="last of", period=6), "gemma3_text")
register(Traits(norms=("input_layernorm", "pre_feedforward_layernorm"), window="even"), "vaultgemma")

# Command R: attention and MLP side by side behind one LayerNorm without bias.
COHERE = Traits(norms=("input_layernorm",), qk_norm="width", qk_norm_key="use_qk_norm")
register(COHERE, "cohere")
register(replace(COHERE, qk_norm="", qk_norm_key="", window="last of", period=4), "cohere2")

# GLM-4: gate and up are one matrix; the output projection has no bias. The 0414 models add a norm after each part.
GLM = Traits(out_bias=False, mlp=("mlp.gate_up_proj", "mlp.down_proj"))
register(GLM, "glm")
register(replace(GLM, norms=(*GLM.norms, "post_self_attn_layernorm", "post_mlp_layernorm")), "glm4")

CHATGLM = Traits(
    out_bias="add_bias_linear", mlp_bias="add_bias_linear", embedding="transformer.embedding.word_embeddings",
    layer="transformer.encoder.layers.{i}.", final_norm="transformer.encoder.final_layernorm",
    head="transformer.output_layer", attention=("self_attention.query_key_value", "self_attention.dense"),
    mlp=("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"),
)  # fmt: skip


@family("chatglm")
def chatglm(k: Keys) -> Body:
    """ChatGLM 2 and 3, GLM-4-9B: `multi_query_attention` switches the KV groups on. ChatGLM 1 is another model."""
    if not k.has("num_layers", "ffn_hidden_size") or k.has("position_encoding_2d"):
        raise k.refuse(
            "This is a config of ChatGLM 1 (it has inner_hidden_size or position_encoding_2d), whose two-dimensional "
            "positions the planner does not know. Use ChatGLM 2, 3 or GLM-4."
        )
    heads = k.integer("num_attention_heads")
    kv_heads = k.integer("multi_query_group_num", most=heads) if k.flag("multi_query_attention") else heads
    bias = k.flag("add_qkv_bias") or k.flag("add_bias_linear")
    return dense(k, replace(CHATGLM, qkv_bias=bias), kv_heads=kv_heads)
