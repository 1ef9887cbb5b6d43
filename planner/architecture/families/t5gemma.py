"""T5Gemma: two Gemma 2 stacks, the decoder with cross-attention. Source: tensor list of transformers 5.24."""

from __future__ import annotations

from planner.architecture.builders import head, join, mlp, norm, outer, stack, table
from planner.architecture.crossing import MOST, attend, crossing
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Cache, Matrix, Mixing
from planner.architecture.sections import class_defaults

NAMES = ("q_proj", "k_proj", "v_proj", "o_proj")


@family("t5gemma")
def t5gemma(k: Keys) -> Body:
    """Each half has its own sizes and its own table; the decoder's table is the output head."""
    defaults = class_defaults().get("gemma2")
    far, near = k.section("encoder", defaults), k.section("decoder", defaults)
    encoder, hidden, layers = _half(far), near.integer("hidden_size"), near.integer("num_hidden_layers", most=MOST)
    heads, vocab = near.integer("num_attention_heads"), near.integer("vocab_size", k.integer("vocab_size", 256000))
    kv, dim, bias = near.kv_heads(heads), near.head_dim(hidden, heads), near.flag("attention_bias")
    window = near.optional("sliding_window", least=1)
    kinds = near.items("layer_types") or [("sliding_attention", "full_attention")[i % 2] for i in range(layers)]
    if len(kinds) != layers:
        raise k.refuse(f"decoder.layer_types has {len(kinds)} entries, but the decoder has {layers} layers.")

    def layer(kind: str) -> tuple[Cache, Mixing]:
        reach = window if kind == "sliding_attention" else None
        return Cache("window" if reach else "full", 2 * kv * dim, reach, units=kv), Mixing(
            4 * heads * dim, window=reach
        )

    body = (
        *attend(hidden, heads, kv, dim, "self_attn.", NAMES, bias=bias),
        *mlp(hidden, near.integer("intermediate_size")),
        *_norms(hidden),
        norm("pre_cross_attn_layernorm", hidden), norm("post_cross_attn_layernorm", hidden),
    )  # fmt: skip
    cross = attend(hidden, heads, kv, dim, "", NAMES, bias=bias)
    tied = k.flag("tie_word_embeddings", True)
    own_table = [] if tied else [table("model.decoder.embed_tokens", vocab, hidden, "other")]
    return Body(
        blocks=[
            *encoder,
            *stack([join(body, *layer(kind)) for kind in kinds], "model.decoder.layers.{i}."),
            crossing(layers, "model.decoder.layers.{i}.cross_attn.", cross, heads, kv, dim),
            outer(*own_table, norm("model.decoder.norm", hidden),
                  head(vocab, hidden, tied=False, name="model.decoder.embed_tokens" if tied else "lm_head.out_proj")),
        ],
        n_layers=layers, hidden=hidden, vocab=vocab, heads=heads, kv_heads=kv, tied=False,
    )  # fmt: skip


def _half(k: Keys) -> list[Block]:
    """The encoder: bidirectional Gemma 2 layers and the input table."""
    hidden, heads, layers = (
        k.integer("hidden_size"), k.integer("num_attention_heads"), k.integer("num_hidden_layers", most=MOST),
    )  # fmt: skip
    kv, dim = k.kv_heads(heads), k.head_dim(hidden, heads)
    matrices = (
        *attend(hidden, heads, kv, dim, "self_attn.", NAMES, bias=k.flag("attention_bias")),
        *mlp(hidden, k.integer("intermediate_size")),
        *_norms(hidden),
    )
    return [
        outer(table("model.encoder.embed_tokens", k.integer("vocab_size"), hidden), norm("model.encoder.norm", hidden)),
        *stack([join(matrices)] * layers, "model.encoder.layers.{i}."),
    ]


def _norms(hidden: int) -> tuple[Matrix, ...]:
    return tuple(
        norm(f"{when}_{what}_layernorm", hidden) for when in ("pre", "post") for what in ("self_attn", "feedforward")
    )
