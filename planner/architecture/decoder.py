"""What nearly every decoder has around its layers: sizes, embedding, final norm, head, next-token-prediction layers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.architecture.builders import Layer, head, join, linear, norm, outer, stack, table, vector
from planner.architecture.families import Body
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Block, Matrix


@dataclass(frozen=True)
class Sizes:
    """Sizes of a decoder: hidden H, layers L, vocabulary V, query heads A, and whether the head is tied."""

    hidden: int
    layers: int
    vocab: int
    heads: int
    tied: bool


def sizes(k: Keys) -> Sizes:
    """The sizes that every decoder's config gives."""
    return Sizes(
        k.integer("hidden_size"), k.layers(), k.integer("vocab_size"), k.integer("num_attention_heads"), k.tied()
    )


def grouped(k: Keys, s: Sizes) -> tuple[int, int]:
    """KV heads and head dimension of grouped-query attention."""
    return k.kv_heads(s.heads), k.head_dim(s.hidden, s.heads)


def pre_norms(hidden: int, *names: str, bias: bool = False) -> tuple[Matrix, ...]:
    """Norms of a layer: before attention and before the MLP unless other names are given."""
    return tuple(norm(n, hidden, bias=bias) for n in names or ("input_layernorm", "post_attention_layernorm"))


def decoder(s: Sizes, layers: Sequence[Layer], kv_heads: int, *, extra: Sequence[Block] = (),
            prefix: str = "model.layers.{i}.", embedding: str = "model.embed_tokens", final: str = "model.norm",
            norm_bias: bool = False, head_bias: bool = False, head_name: str = "lm_head",
            outside: Sequence[Matrix] = ()) -> Body:  # fmt: skip
    """A decoder made of these layers between an embedding table and a final norm with a head.

    extra    further blocks (next-token-prediction layers)
    outside  further matrices that stand once
    """
    if s.tied and head_bias:  # the head's matrix is the embedding table, its bias is a tensor of its own
        outside = (*outside, vector(f"{head_name}.bias", s.vocab))
    return Body(
        blocks=[
            outer(table(embedding, s.vocab, s.hidden)),
            *stack(layers, prefix),
            outer(norm(final, s.hidden if final else 0, bias=norm_bias), *outside,
                  head(s.vocab, s.hidden, tied=s.tied, bias=head_bias, name=head_name)),
            *extra,
        ],
        n_layers=s.layers, hidden=s.hidden, vocab=s.vocab, heads=s.heads, kv_heads=kv_heads, tied=s.tied,
    )  # fmt: skip


def next_token_layers(k: Keys, s: Sizes, layer: Layer, *, correction: tuple[str, int] | None = None,
                      key: str = "num_nextn_predict_layers", prefix: str = "model.layers.{i}.",
                      first: int | None = None) -> list[Block]:  # fmt: skip
    """Multi-token-prediction layers in DeepSeek's form, numbered after the last layer, apart from the model's total.

    Each is a decoder layer like the last one, a projection of the last hidden state beside the next token's embedding,
    and three norms. Checkpoints store the embedding and the head in them once more; at run time they are shared.

    correction  name and size of the routing bias that the layer stores, where routing has one
    first       number of the first such layer (default: after the model's last)
    """
    count = k.integer(key, 0, null=0, least=0, most=MOST_LAYERS)
    if not count:
        return []
    whole = join(
        layer, linear("eh_proj", s.hidden, 2 * s.hidden, "other", units=1),
        norm("enorm", s.hidden), norm("hnorm", s.hidden), norm("shared_head.norm", s.hidden),
        vector(*correction, "router") if correction else (),
        replace(table("embed_tokens", s.vocab, s.hidden), tied=True),
        head(s.vocab, s.hidden, tied=True, name="shared_head.head"),
    )  # fmt: skip
    start = s.layers if first is None else first
    return [Block(prefix, tuple(range(start, start + count)), *whole, part="mtp")]
