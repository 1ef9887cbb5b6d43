"""T5 and its kin (mT5, UMT5, LongT5), and Switch Transformers with its experts.

Sources: tensor lists of transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.architecture.builders import Layer, experts, head, join, mlp, norm, outer, router, stack, table
from planner.architecture.crossing import MOST, attend, both, crossing, guess_untied, own
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix, Mixing

NAMES = ("q", "k", "v", "o")
Feed = Callable[[int, int], tuple[Matrix, ...]]  # (layer number, layers of that half) -> its MLP under `layer.N.`


@family("t5", "mt5", "umt5", "longt5")
def t5(k: Keys) -> Body:
    """T5, v1.1 and Flan: one table for both halves, relative positions in the first layer only, no biases."""
    hidden, width = k.integer("hidden_size", 512), k.integer("intermediate_size", 2048)
    gated = (k.text("feed_forward_proj", "relu") or "relu").startswith("gated-")
    names = ("wi_0", "wi_1", "wo") if gated else ("", "wi", "wo")
    dense = mlp(hidden, width, gated=gated, prefix="DenseReluDense.", names=names)
    return _halves(k, hidden, lambda i, layers: dense, lambda i, layers: dense)


@family("switch_transformers")
def switch(k: Keys) -> Body:
    """Switch Transformers: T5 whose every n-th layer has experts, of which a token passes through one."""
    hidden, width = k.integer("hidden_size", 768), k.integer("intermediate_size", 2048)
    count = k.integer("num_experts", 8, most=100_000)
    dense = mlp(hidden, width, gated=False, prefix="mlp.", names=("", "wi", "wo"))
    sparse = (
        router(hidden, count, bias=k.flag("router_bias"), name="mlp.router.classifier"),
        *experts(hidden, width, count, 1, gated=False, prefix="mlp.experts.expert_{e}.", names=("", "wi", "wo")),
    )

    def feed(half: str) -> Feed:
        """MLPs of a half: the step between its sparse layers is stated, or a quotient of their number, rounded down."""
        number = k.integer(f"num_sparse_{half}_layers", 3, null=0, least=0, most=MOST)
        stated = k.optional(f"{half}_sparse_step", most=MOST)

        def mlp_of(i: int, layers: int) -> tuple[Matrix, ...]:
            step = stated if stated is not None else layers // number if number else layers
            return sparse if step == 1 or (step > 1 and i % step == 1) else dense

        return mlp_of

    if not k.tied():
        guess_untied(k)
    return _halves(k, hidden, feed("encoder"), feed("decoder"))


def _halves(k: Keys, hidden: int, far: Feed, near: Feed) -> Body:
    """Encoder and decoder of T5 with the MLPs that `far` and `near` give their layers."""
    heads, vocab = k.integer("num_attention_heads", 8), k.integer("vocab_size", 32128)
    dim = k.integer("head_dim", 64)
    encoder = k.integer("num_hidden_layers", 6, most=MOST)
    decoder = k.integer("num_decoder_layers", encoder, null=encoder, most=MOST)
    buckets = k.integer("relative_attention_num_buckets", 32)
    positions = table("layer.0.SelfAttention.relative_attention_bias", buckets, heads, "positions")
    every = k.data.get("model_type") == "umt5"  # UMT5 has the position table in each layer
    attention = (
        *attend(hidden, heads, heads, dim, "layer.0.SelfAttention.", NAMES),
        norm("layer.0.layer_norm", hidden),
    )

    def layer(feed: tuple[Matrix, ...], place: int, first: bool, more: tuple[Cache | Mixing, ...]) -> Layer:
        root = f"layer.{place}."
        named = (replace(m, name=root + m.name) for m in feed)
        own_positions = (positions,) if every or first else ()
        return both((*attention, *named, norm(root + "layer_norm", hidden), *own_positions), *more)

    def half(layers: int, feed: Feed, place: int, *more: Cache | Mixing) -> list[Layer]:
        return [layer(feed(i, layers), place, i == 0, more) for i in range(layers)]

    def summaries(i: int) -> tuple[Matrix, ...]:
        """LongT5's transient global tokens, one for each run of the text: their norm, and positions of their own."""
        if k.text("encoder_attention_type", "local") != "transient-global":
            return ()
        root = "layer.0.TransientGlobalSelfAttention.global_"
        own_positions = (replace(positions, name=root + "relative_attention_bias"),) if i == 0 else ()
        return (norm(root + "input_layer_norm", hidden), *own_positions)

    cross = (*attend(hidden, heads, heads, dim, "EncDecAttention.", NAMES), norm("layer_norm", hidden))
    tied = k.tied()
    return Body(
        blocks=[
            outer(table("shared", vocab, hidden)),
            *stack([join(one, summaries(i)) for i, one in enumerate(half(encoder, far, 1))], "encoder.block.{i}."),
            *stack(half(decoder, near, 2, *own(heads, heads, dim)), "decoder.block.{i}."),
            crossing(decoder, "decoder.block.{i}.layer.1.", cross, heads, heads, dim),
            outer(norm("encoder.final_layer_norm", hidden), norm("decoder.final_layer_norm", hidden),
                  head(vocab, hidden, tied=tied)),
        ],
        n_layers=decoder, hidden=hidden, vocab=vocab, heads=heads, kv_heads=heads, tied=tied,
    )  # fmt: skip
