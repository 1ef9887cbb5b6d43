"""Encoder-decoders: T5, BART and its kin (Pegasus, Marian, M2M, Blenderbot), Whisper, Moonshine.

Both halves count; the decoder's caches are of two kinds: each decoder layer keeps its own keys and values for every
token it writes, and those of the encoder's output once. The second kind is listed in a block of its own. Sources:
tensor lists of transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from planner.architecture.builders import Layer, head, join, linear, mlp, norm, outer, stack, table
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Cache, Matrix, Mixing
from planner.architecture.vision import whisper_encoder

QKVO = ("q_proj", "k_proj", "v_proj", "out_proj")
MOST = 1000  # layers of either half


def attend(hidden: int, heads: int, kv: int, dim: int, prefix: str, names: Sequence[str] = QKVO, *, bias: bool = False,
           key_bias: bool | None = None) -> tuple[Matrix, ...]:  # fmt: skip
    """The four matrices of an attention, without its cache."""
    q, k, v, o = (prefix + n for n in names)
    return (
        linear(q, heads * dim, hidden, "attention", bias=bias, units=heads),
        linear(k, kv * dim, hidden, "attention", bias=bias if key_bias is None else key_bias, units=kv),
        linear(v, kv * dim, hidden, "attention", bias=bias, units=kv),
        linear(o, hidden, heads * dim, "attention", bias=bias, units=heads),
    )


def own(heads: int, kv: int, dim: int) -> tuple[Cache, Mixing]:
    """Cache and work of a decoder's attention to its own tokens."""
    return Cache("full", 2 * kv * dim, units=kv), Mixing(4 * heads * dim)


def crossing(layers: int, prefix: str, matrices: tuple[Matrix, ...], heads: int, kv: int, dim: int,
             source: int | None = None) -> Block:  # fmt: skip
    """The attention of all decoder layers to the encoder's output, of at most `source` entries."""
    cache = Cache("cross", 2 * kv * dim, source, units=kv)
    return Block(
        prefix, tuple(range(layers)), matrices, (cache,), (Mixing(4 * heads * dim, window=source, cross=True),)
    )


def both(parts: Iterable[Matrix], *more: Matrix | Cache | Mixing) -> Layer:
    """One layer of matrices, caches and mixing."""
    return join(tuple(parts), *more)


@family("t5", "mt5", "umt5", "longt5")
def t5(k: Keys) -> Body:
    """T5, v1.1 and Flan: one table for both halves, relative positions in the first layer only, no biases."""
    hidden, heads, vocab = (
        k.integer("hidden_size", 512),
        k.integer("num_attention_heads", 8),
        k.integer("vocab_size", 32128),
    )
    dim, width = k.integer("head_dim", 64), k.integer("intermediate_size", 2048)
    encoder = k.integer("num_hidden_layers", 6, most=MOST)
    decoder = k.integer("num_decoder_layers", encoder, null=encoder, most=MOST)
    gated = (k.text("feed_forward_proj", "relu") or "relu").startswith("gated-")
    positions = table(
        "layer.0.SelfAttention.relative_attention_bias",
        k.integer("relative_attention_num_buckets", 32),
        heads,
        "positions",
    )
    every = k.data.get("model_type") == "umt5"  # UMT5 has the position table in each layer
    names = ("q", "k", "v", "o")
    own_attention = (
        *attend(hidden, heads, heads, dim, "layer.0.SelfAttention.", names),
        norm("layer.0.layer_norm", hidden),
    )
    ways = ("wi_0", "wi_1", "wo") if gated else ("", "wi", "wo")

    def feed(place: int) -> tuple[Matrix, ...]:
        root = f"layer.{place}."
        return (
            *mlp(hidden, width, gated=gated, prefix=root + "DenseReluDense.", names=ways),
            norm(root + "layer_norm", hidden),
        )

    def halves(count: int, layer: tuple[Matrix, ...], *more: Cache | Mixing) -> list[Layer]:
        return [both((*layer, positions) if every or i == 0 else layer, *more) for i in range(count)]

    cross = (*attend(hidden, heads, heads, dim, "EncDecAttention.", names), norm("layer_norm", hidden))
    tied = k.tied()
    return Body(
        blocks=[
            outer(table("shared", vocab, hidden)),
            *stack(halves(encoder, (*own_attention, *feed(1))), "encoder.block.{i}."),
            *stack(halves(decoder, (*own_attention, *feed(2)), *own(heads, heads, dim)), "decoder.block.{i}."),
            crossing(decoder, "decoder.block.{i}.layer.1.", cross, heads, heads, dim),
            outer(norm("encoder.final_layer_norm", hidden), norm("decoder.final_layer_norm", hidden),
                  head(vocab, hidden, tied=tied)),
        ],
        n_layers=decoder, hidden=hidden, vocab=vocab, heads=heads, kv_heads=heads, tied=tied,
    )  # fmt: skip


@dataclass(frozen=True)
class Kin:
    """What sets a relative of BART apart.

    extra           rows of the position tables beyond the positions (None: computed, not stored)
    embedding_norm  a norm after the embedding of each half
    final_norm      a norm after the last layer of each half
    """

    extra: int | None = 2
    embedding_norm: bool = True
    final_norm: bool = False


BART_KIN: Final[dict[str, Kin]] = {
    "bart": Kin(), "mvp": Kin(), "plbart": Kin(), "mbart": Kin(final_norm=True),
    "pegasus": Kin(0, embedding_norm=False, final_norm=True),
    "blenderbot": Kin(0, embedding_norm=False, final_norm=True),
    "blenderbot-small": Kin(0), "marian": Kin(0, embedding_norm=False),
    "m2m_100": Kin(None, embedding_norm=False, final_norm=True),
}  # fmt: skip


def bart(kin: Kin, k: Keys) -> Body:
    """BART and its kin: biases everywhere, one table for both halves, positions learnt or stored."""
    if k.flag("use_prompt"):
        raise k.refuse("use_prompt adds trained prompts to each layer, which the planner does not count. Set it false.")
    if not k.flag("share_encoder_decoder_embeddings", True):
        raise k.refuse("share_encoder_decoder_embeddings is false; only shared tables are known to the planner.")
    hidden, vocab = k.integer("d_model", 1024), k.integer("vocab_size", 50265)
    heads, far = k.integer("decoder_attention_heads", 16), k.integer("encoder_attention_heads", 16)
    encoder, decoder = k.integer("encoder_layers", 12, most=MOST), k.integer("decoder_layers", 12, most=MOST)
    dim = _split(k, hidden, heads)
    rows = 0 if kin.extra is None else k.integer("max_position_embeddings", 1024) + kin.extra

    def layer(width: int) -> tuple[Matrix, ...]:
        return (
            *attend(hidden, heads, heads, dim, "self_attn.", bias=True),
            norm("self_attn_layer_norm", hidden, bias=True),
            *mlp(hidden, width, gated=False, bias=True, prefix="", names=("", "fc1", "fc2")),
            norm("final_layer_norm", hidden, bias=True),
        )  # fmt: skip

    def outside(root: str) -> list[Matrix]:
        first = [norm(f"{root}layernorm_embedding", hidden, bias=True)] if kin.embedding_norm else []
        last = [norm(f"{root}layer_norm", hidden, bias=True)] if kin.final_norm else []
        return [table(f"{root}embed_positions", rows, hidden, "positions"), *first, *last]

    _split(k, hidden, far)
    between = norm("encoder_attn_layer_norm", hidden, bias=True)
    tied = k.tied()
    return Body(
        blocks=[
            outer(table("model.shared", vocab, hidden), *outside("model.encoder."), *outside("model.decoder.")),
            *stack([both(layer(k.integer("encoder_ffn_dim", 4096)))] * encoder, "model.encoder.layers.{i}."),
            *stack([both(layer(k.integer("decoder_ffn_dim", 4096)), between, *own(heads, heads, dim))] * decoder,
                   "model.decoder.layers.{i}."),
            crossing(decoder, "model.decoder.layers.{i}.encoder_attn.",
                     attend(hidden, heads, heads, dim, "", bias=True), heads, heads, dim),
            outer(head(vocab, hidden, tied=tied)),
        ],
        n_layers=decoder, hidden=hidden, vocab=vocab, heads=heads, kv_heads=heads, tied=tied,
    )  # fmt: skip


for _name, _kin in BART_KIN.items():
    family(_name)(partial(bart, _kin))


@family("whisper")
def whisper(k: Keys) -> Body:
    """Whisper: sound in, text out; the encoder gives `max_source_positions` entries whatever was said."""
    hidden, vocab = k.integer("d_model", 384), k.integer("vocab_size", 51865)
    heads, decoder = k.integer("decoder_attention_heads", 6), k.integer("decoder_layers", 4, most=MOST)
    dim, source = _split(k, hidden, heads), k.integer("max_source_positions", 1500)
    section = Keys(k.data, k.where, WHISPER_DEFAULTS, k.log)
    encoder, _ = whisper_encoder(section, "model.encoder.", "text", "mlp")
    layer = (
        *attend(hidden, heads, heads, dim, "self_attn.", bias=True, key_bias=False),
        norm("self_attn_layer_norm", hidden, bias=True),
        *mlp(hidden, k.integer("decoder_ffn_dim", 1536), gated=False, bias=True, prefix="", names=("", "fc1", "fc2")),
        norm("final_layer_norm", hidden, bias=True),
    )
    between = norm("encoder_attn_layer_norm", hidden, bias=True)
    cross = attend(hidden, heads, heads, dim, "", bias=True, key_bias=False)
    tied = k.tied()
    return Body(
        blocks=[
            *encoder,
            outer(table("model.decoder.embed_tokens", vocab, hidden),
                  table("model.decoder.embed_positions", k.integer("max_target_positions", 448), hidden, "positions")),
            *stack([both(layer, between, *own(heads, heads, dim))] * decoder, "model.decoder.layers.{i}."),
            crossing(decoder, "model.decoder.layers.{i}.encoder_attn.", cross, heads, heads, dim, source),
            outer(norm("model.decoder.layer_norm", hidden, bias=True), head(vocab, hidden, tied=tied, name="proj_out")),
        ],
        n_layers=decoder, hidden=hidden, vocab=vocab, heads=heads, kv_heads=heads, tied=tied,
    )  # fmt: skip


# Absent keys of the encoder (config class of transformers 5.24).
WHISPER_DEFAULTS = {"encoder_layers": 4, "encoder_ffn_dim": 1536, "num_mel_bins": 80, "d_model": 384}


@family("moonshine")
def moonshine(k: Keys) -> Body:
    """Moonshine: three convolutions over raw sound, rotary positions, a gated MLP in the decoder only."""
    hidden, width, vocab = (
        k.integer("hidden_size", 288),
        k.integer("intermediate_size", 1152),
        k.integer("vocab_size", 32768),
    )
    encoder = k.integer("encoder_num_hidden_layers", 6, most=MOST)
    decoder = k.integer("decoder_num_hidden_layers", 6, most=MOST)
    heads, far = k.integer("decoder_num_attention_heads", 8), k.integer("encoder_num_attention_heads", 8)
    kv = k.integer("decoder_num_key_value_heads", heads, null=heads)
    far_kv = k.integer("encoder_num_key_value_heads", far, null=far)
    dim, far_dim, bias = _split(k, hidden, heads), _split(k, hidden, far), k.flag("attention_bias")
    names = ("q_proj", "k_proj", "v_proj", "o_proj")

    def feed(rows: int) -> tuple[Matrix, ...]:
        return (linear("mlp.fc1", rows, hidden, "mlp", bias=True), linear("mlp.fc2", hidden, width, "mlp", bias=True))

    norms = (norm("input_layernorm", hidden), norm("post_attention_layernorm", hidden))
    far_layer = (*attend(hidden, far, far_kv, far_dim, "self_attn.", names, bias=bias), *feed(width), *norms)
    near = (
        *attend(hidden, heads, kv, dim, "self_attn.", names, bias=bias), *feed(2 * width), *norms,
        norm("final_layernorm", hidden),
    )  # fmt: skip
    tied = k.tied()
    return Body(
        blocks=[
            outer(
                Matrix("conv1", hidden, 127, "other", "conv"),
                Matrix("conv2", 2 * hidden, 7 * hidden, "other", "conv", 2 * hidden),
                Matrix("conv3", hidden, 6 * hidden, "other", "conv", hidden), norm("groupnorm", hidden, bias=True),
                norm("layer_norm", hidden), prefix="model.encoder.",
            ),
            *stack([both(far_layer)] * encoder, "model.encoder.layers.{i}."),
            outer(table("model.decoder.embed_tokens", vocab, hidden)),
            *stack([both(near, *own(heads, kv, dim))] * decoder, "model.decoder.layers.{i}."),
            crossing(decoder, "model.decoder.layers.{i}.encoder_attn.",
                     attend(hidden, heads, kv, dim, "", names, bias=bias), heads, kv, dim),
            outer(norm("model.decoder.norm", hidden), head(vocab, hidden, tied=tied, name="proj_out")),
        ],
        n_layers=decoder, hidden=hidden, vocab=vocab, heads=heads, kv_heads=kv, tied=tied,
    )  # fmt: skip


def _split(k: Keys, hidden: int, heads: int) -> int:
    if hidden % heads:
        raise k.refuse(f"The width {hidden} is not divided by {heads} attention heads. Correct one of the two.")
    return hidden // heads
