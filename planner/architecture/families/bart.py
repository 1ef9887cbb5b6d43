"""BART and its kin: Pegasus, Marian, M2M, Blenderbot, LED, BigBird-Pegasus, Pegasus-X, NLLB-MoE.

Sources: tensor lists of transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from planner.architecture.builders import Layer, experts, head, linear, mlp, norm, outer, router, stack, table
from planner.architecture.crossing import MOST, attend, both, crossing, decoder_alone, guess_untied, idle, own, split
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix

Encoder = Callable[[Keys, int, int, int], tuple[Matrix, ...]]  # keys, H, heads, D -> an encoder layer's attention
QKV = ("query", "key", "value")


@dataclass(frozen=True)
class Kin:
    """What sets a relative of BART apart.

    extra           rows of the position tables beyond the positions (None: computed, not stored)
    rows            keys with the positions of encoder and decoder
    embedding_norm  a norm after the embedding of each half (or, under this name, after its last layer)
    final_norm      a norm after the last layer of each half
    bias            whether attentions carry biases, or the key that says so
    far             attention of the encoder where it is of another kind than the decoder's
    outside         further matrices of the encoder
    """

    extra: int | None = 2
    rows: tuple[str, str] = ("max_position_embeddings", "max_position_embeddings")
    embedding_norm: bool = True
    final_norm: bool = False
    bias: bool | str = True
    far: Encoder | None = None
    outside: Callable[[Keys, int], tuple[Matrix, ...]] | None = None


def longformer(k: Keys, hidden: int, heads: int, dim: int) -> tuple[Matrix, ...]:
    """LED's encoder: projections for the window, and others for the tokens that see all."""
    inner = "self_attn.longformer_self_attn."
    names = (*QKV, *(f"{name}_global" for name in QKV))
    projections = (linear(inner + n, heads * dim, hidden, "attention", bias=True, units=heads) for n in names)
    return (*projections, linear("self_attn.output", hidden, heads * dim, "attention", bias=True, units=heads))


def big_bird(k: Keys, hidden: int, heads: int, dim: int) -> tuple[Matrix, ...]:
    """BigBird's block-sparse encoder has BERT's names."""
    names = (*(f"self.{name}" for name in QKV), "output")
    return attend(hidden, heads, heads, dim, "self_attn.", names, bias=k.flag("use_bias"))


def global_local(k: Keys, hidden: int, heads: int, dim: int) -> tuple[Matrix, ...]:
    """Pegasus-X: global tokens beside local blocks, normed apart."""
    return (*attend(hidden, heads, heads, dim, "self_attn."), norm("global_self_attn_layer_norm", hidden, bias=True))


def global_tokens(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """Pegasus-X: vectors that the global tokens start from."""
    return (table("model.encoder.embed_global", k.integer("num_global_tokens", 32), hidden, "positions"),)


BART_KIN: Final[dict[str, Kin]] = {
    "bart": Kin(), "mvp": Kin(), "plbart": Kin(), "mbart": Kin(final_norm=True),
    "pegasus": Kin(0, embedding_norm=False, final_norm=True),
    "blenderbot": Kin(0, embedding_norm=False, final_norm=True),
    "blenderbot-small": Kin(0), "marian": Kin(0, embedding_norm=False),
    "m2m_100": Kin(None, embedding_norm=False, final_norm=True),
    "led": Kin(0, ("max_encoder_position_embeddings", "max_decoder_position_embeddings"), far=longformer),
    "bigbird_pegasus": Kin(0, bias="use_bias", far=big_bird),
    "pegasus_x": Kin(None, embedding_norm=False, final_norm=True, bias=False, far=global_local, outside=global_tokens),
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
    dim, far_dim = split(k, hidden, heads), split(k, hidden, far)
    bias = k.flag(kin.bias) if isinstance(kin.bias, str) else kin.bias

    def layer(attention: tuple[Matrix, ...], key: str) -> tuple[Matrix, ...]:
        return (
            *attention, norm("self_attn_layer_norm", hidden, bias=True),
            *mlp(hidden, k.integer(key, 4096), gated=False, bias=True, prefix="", names=("", "fc1", "fc2")),
            norm("final_layer_norm", hidden, bias=True),
        )  # fmt: skip

    def outside(root: str, positions: str) -> list[Matrix]:
        first = [norm(f"{root}layernorm_embedding", hidden, bias=True)] if kin.embedding_norm else []
        last = [norm(f"{root}layer_norm", hidden, bias=True)] if kin.final_norm else []
        rows = 0 if kin.extra is None else k.integer(positions, 1024) + kin.extra
        return [table(f"{root}embed_positions", rows, hidden, "positions"), *first, *last]

    plain = attend(hidden, heads, heads, dim, "self_attn.", bias=bias)
    other = kin.far(k, hidden, far, far_dim) if kin.far else plain
    further = kin.outside(k, hidden) if kin.outside else ()
    return _both_halves(
        k, vocab, hidden, heads, dim, bias,
        outside=[*outside("model.encoder.", kin.rows[0]), *outside("model.decoder.", kin.rows[1]), *further],
        far=[both(layer(other, "encoder_ffn_dim"))] * encoder,
        near=[both((*layer(plain, "decoder_ffn_dim"), norm("encoder_attn_layer_norm", hidden, bias=True)),
                   *own(heads, heads, dim))] * decoder,
    )  # fmt: skip


def _both_halves(k: Keys, vocab: int, hidden: int, heads: int, dim: int, bias: bool, *, outside: list[Matrix],
                 far: list[Layer], near: list[Layer], cross: str = "encoder_attn.") -> Body:  # fmt: skip
    """Encoder layers `far` and decoder layers `near` around the shared table, with attention from one to the other.

    A file whose class is the decoder alone has no `far`, and nothing for that attention to read.
    """
    tied, alone = k.tied(), decoder_alone(k)
    if alone:
        outside, far = [m for m in outside if not m.name.startswith("model.encoder.")], []
    elif not tied:
        guess_untied(k)
    matrices = attend(hidden, heads, heads, dim, "", bias=bias)
    across = crossing(len(near), "model.decoder.layers.{i}." + cross, matrices, heads, heads, dim)
    return Body(
        blocks=[
            outer(table("model.shared", vocab, hidden), *outside),
            *stack(far, "model.encoder.layers.{i}."), *stack(near, "model.decoder.layers.{i}."),
            idle(across) if alone else across,
            outer(head(vocab, hidden, tied=tied)),
        ],
        n_layers=len(near), hidden=hidden, vocab=vocab, heads=heads, kv_heads=heads, tied=tied,
    )  # fmt: skip


for _name, _kin in BART_KIN.items():
    family(_name)(partial(bart, _kin))


@family("nllb-moe")
def nllb_moe(k: Keys) -> Body:
    """NLLB-MoE: M2M whose every n-th layer has experts, of which a token passes through two."""
    hidden, vocab = k.integer("d_model", 1024), k.integer("vocab_size", 128112)
    heads, far = k.integer("decoder_attention_heads", 16), k.integer("encoder_attention_heads", 16)
    dim, count = split(k, hidden, heads), k.integer("num_experts", 128, most=100_000)
    split(k, hidden, far)
    bias = k.flag("router_bias")
    root, names = "ffn.", ("", "fc1", "fc2")

    def half(prefix: str, *more: Matrix) -> list[tuple[Matrix, ...]]:
        width = k.integer(f"{prefix}_ffn_dim", 4096)
        around = (
            *attend(hidden, heads, heads, dim, "self_attn.", bias=True),
            norm("self_attn_layer_norm", hidden, bias=True), norm("ff_layer_norm", hidden, bias=True), *more,
        )  # fmt: skip
        dense = (*around, *mlp(hidden, width, gated=False, bias=True, prefix=root, names=names))
        sparse = (
            *around, router(hidden, count, bias=bias, name=root + "router.classifier"),
            *experts(hidden, width, count, min(2, count), gated=False, bias=True,
                     prefix=root + "experts.expert_{e}.", names=names),
        )  # fmt: skip
        step = k.integer(f"{prefix}_sparse_step", 4, null=0, least=0, most=MOST)
        layers = k.integer(f"{prefix}_layers", 12, most=MOST)
        return [sparse if step and (i + 1) % step == 0 else dense for i in range(layers)]

    last = [norm(f"model.{name}.layer_norm", hidden, bias=True) for name in ("encoder", "decoder")]
    between = norm("cross_attention_layer_norm", hidden, bias=True)
    return _both_halves(
        k, vocab, hidden, heads, dim, True, outside=last, cross="cross_attention.",
        far=[both(m) for m in half("encoder")],
        near=[both(m, *own(heads, heads, dim)) for m in half("decoder", between)],
    )  # fmt: skip
