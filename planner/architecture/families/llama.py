"""Dense decoders shaped like Llama: RMS norms, grouped-query attention, gated MLP.

Sources: the checkpoints' tensor lists (transformers 5.24 classes of the same names).
"""

from __future__ import annotations

from planner.architecture.builders import attention, head, join, mlp, norm, outer, stack, table
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys


@family("llama", "internlm2", "yi", "aquila")
def llama(k: Keys) -> Body:
    """Llama 1 to 3 and look-alikes; `attention_bias` is on q, k, v and o."""
    hidden, heads, layers, vocab = (
        k.integer("hidden_size"), k.integer("num_attention_heads"), k.layers(), k.integer("vocab_size"),
    )  # fmt: skip
    kv, dim = k.kv_heads(heads), k.head_dim(hidden, heads)
    bias = k.flag("attention_bias")
    layer = join(
        attention(hidden, heads, kv, dim, bias=bias),
        mlp(hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias")),
        norm("input_layernorm", hidden),
        norm("post_attention_layernorm", hidden),
    )
    tied = k.tied()
    return Body(
        blocks=[
            outer(table("model.embed_tokens", vocab, hidden)),
            *stack([layer] * layers),
            outer(norm("model.norm", hidden), head(vocab, hidden, tied=tied)),
        ],
        n_layers=layers, hidden=hidden, vocab=vocab, heads=heads, kv_heads=kv, tied=tied,
    )  # fmt: skip
