"""Llama 3.2 Vision's language model: Llama layers, some of which look at the image instead of the text.

Source: tensor list of transformers 5.24 `mllama`; a cross-attention layer keeps keys and values of image tokens.
"""

from __future__ import annotations

from planner.architecture.builders import attention, head, join, linear, mlp, norm, outer, stack, table, vector
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Mixing

# The embedding table holds rows for the image token and its reserved neighbours, which the head does not predict.
EXTRA_ROWS = 8


@family("mllama_text_model")
def mllama_text(k: Keys) -> Body:
    """Self-attention layers as in Llama; `cross_attention_layers` attend to the image."""
    hidden, heads, layers, vocab = (
        k.integer("hidden_size", 4096), k.integer("num_attention_heads", 32), k.layers(),
        k.integer("vocab_size", 128256),
    )  # fmt: skip
    kv, dim, width = k.kv_heads(heads), k.head_dim(hidden, heads), k.integer("intermediate_size", 14336)
    crossing = k.items("cross_attention_layers", [3, 8, 13, 18, 23, 28, 33, 38]) or []
    if not all(isinstance(i, int) and 0 <= i < layers for i in crossing):
        raise k.refuse(f"cross_attention_layers names layers beyond the {layers} there are. Correct one of the two.")
    norms = (norm("input_layernorm", hidden), norm("post_attention_layernorm", hidden))
    plain = join(attention(hidden, heads, kv, dim), mlp(hidden, width), *norms)
    cross = join(
        linear("cross_attn.q_proj", heads * dim, hidden, "attention", units=heads),
        linear("cross_attn.k_proj", kv * dim, hidden, "attention", units=kv),
        linear("cross_attn.v_proj", kv * dim, hidden, "attention", units=kv),
        linear("cross_attn.o_proj", hidden, heads * dim, "attention", units=heads),
        norm("cross_attn.q_norm", dim), norm("cross_attn.k_norm", dim),
        vector("cross_attn_attn_gate", 1), vector("cross_attn_mlp_gate", 1),
        mlp(hidden, width), *norms,
        Cache("cross", 2 * kv * dim, units=kv),
        Mixing(4 * heads * dim, cross=True),
    )  # fmt: skip
    tied = k.tied()
    return Body(
        blocks=[
            outer(table("model.embed_tokens", vocab + EXTRA_ROWS, hidden)),
            *stack([cross if i in set(crossing) else plain for i in range(layers)]),
            outer(norm("model.norm", hidden), head(vocab, hidden, tied=tied)),
        ],
        n_layers=layers, hidden=hidden, vocab=vocab, heads=heads, kv_heads=kv, tied=tied,
    )  # fmt: skip
