"""Chameleon: words and image words in one stream, with norms of queries and keys for each head by itself.

Source: the tensor list of the transformers 5.24 class.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import attention, join, mlp
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix
from planner.architecture.vqvae import chameleon_tokenizer


@family("chameleon")
def chameleon(k: Keys) -> Body:
    """Llama with these norms, and the tokenizer that turns images into words."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    norms = (
        Matrix(f"self_attn.{name}_norm", heads * dim, 1, "norm", "vector", bias=heads * dim, units=heads)
        for name, heads in (("q", s.heads), ("k", kv))
    )
    layer = join(
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias")), norms,
        mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias")), pre_norms(s.hidden),
    )  # fmt: skip
    body = decoder(s, [layer] * s.layers, kv)
    return replace(body, blocks=[*body.blocks, *chameleon_tokenizer(k.section("vq_config"))])
