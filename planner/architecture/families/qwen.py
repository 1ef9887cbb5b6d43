"""Qwen 1 to 3, Molmo 2, and the Phi 3 family.

Sources: the checkpoints' tensor lists; the transformers 5.24 classes; for Qwen 1 the model code beside the checkpoint.
"""

from __future__ import annotations

from planner.architecture.builders import outer, table
from planner.architecture.families import Body, family
from planner.architecture.families.dense import Traits, dense, register
from planner.architecture.keys import Keys

# Query, key and value always have biases, the output never; no key says so.
QWEN2 = Traits(qkv_bias=True, out_bias=False, window="late")
register(QWEN2, "qwen2")
register(Traits(qk_norm="head", window="late"), "qwen3")

QWEN1 = Traits(
    qkv_bias=True, out_bias=False, embedding="transformer.wte", layer="transformer.h.{i}.",
    final_norm="transformer.ln_f", attention=("attn.c_attn", "attn.c_proj"),
    mlp=("mlp.w2", "mlp.w1", "mlp.c_proj"), norms=("ln_1", "ln_2"), gqa=False,
)  # fmt: skip


@family("qwen")
def qwen(k: Keys) -> Body:
    """Qwen 1: `intermediate_size` is twice the width of each of its two input matrices."""
    return dense(k, QWEN1, width=k.integer("intermediate_size", least=2) // 2)


register(
    Traits(
        qkv_bias=False, attention=("self_attn.qkv_proj", "self_attn.o_proj"),
        mlp=("mlp.gate_up_proj", "mlp.down_proj"), window="all",
    ),
    "phi3",
)  # fmt: skip


@family("molmo2_text")
def molmo2(k: Keys) -> Body:
    """Molmo 2: Qwen 3 whose embedding has rows for image marks, of which the head has none."""
    traits = Traits(qk_norm="head") if k.text("qk_norm_type", "qwen3") == "qwen3" else Traits(qk_norm="width")
    body = dense(k, traits)
    marks = table("model.embed_tokens.new", k.integer("additional_vocab_size", 128, least=0), body.hidden)
    body.blocks.append(outer(marks))
    return body
