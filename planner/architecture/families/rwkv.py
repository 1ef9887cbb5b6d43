"""RWKV 4 to 7: recurrent models whose layers keep one state and the last input of both halves.

Sources: RWKV (arXiv 2305.13048); Eagle and Finch (arXiv 2404.05892), appendix with the parameter counts
13 D^2 L + 14 D L + 4 D + 2 D V and 13 D^2 L + 464 D L + 4 D + 2 D V; RWKV-7 (arXiv 2503.14456), whose World models have
191,034,624 to 2,947,735,040 parameters; the checkpoints' tensor lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.architecture.builders import Layer, join, linear, norm, vector
from planner.architecture.decoder import Sizes, decoder
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix
from planner.architecture.ssm import DELTA_RULE, OUTER_PRODUCT, recurrence


@family("rwkv")
def rwkv4(k: Keys) -> Body:
    """RWKV-4: one decay per channel; the state is a numerator, a denominator and a maximum per channel."""
    s, inner = _sizes(k, tied=k.tied())
    layer = join(
        _time_mix(s.hidden, inner, ("time_mix_key", "time_mix_value", "time_mix_receptance"), gate=False),
        vector("attention.time_decay", inner, "mixer", units=inner),
        vector("attention.time_first", inner, "mixer", units=inner),
        _channel_mix(s.hidden, k.integer("intermediate_size", 4 * s.hidden, null=4 * s.hidden)),
        _shift_states(s.hidden), recurrence(3 * inner, OUTER_PRODUCT, units=inner),
    )  # fmt: skip
    return _decoder(s, [layer] * s.layers)


@family("rwkv5")
def rwkv5(k: Keys) -> Body:
    """RWKV-5 (Eagle): heads with a matrix state, and an output gate."""
    s, inner = _sizes(k, tied=False)
    names = ("time_mix_key", "time_mix_value", "time_mix_receptance", "time_mix_gate")
    layer = join(
        _time_mix(s.hidden, inner, names, gate=True),
        vector("attention.time_decay", inner, "mixer", units=s.heads),
        _heads(k, s, inner),
    )
    return _decoder(s, [layer] * s.layers)


@family("rwkv6")
def rwkv6(k: Keys) -> Body:
    """RWKV-6 (Finch): mixing and decay depend on the input through low-rank projections."""
    s, inner = _sizes(k, tied=False)
    mix, decay = (64, 128) if s.hidden == 4096 else (32, 64)
    names = tuple(f"time_maa_{x}" for x in "xwkvrg")
    layer = join(
        _time_mix(s.hidden, inner, names, gate=True),
        linear("attention.time_maa_w1", 5 * mix, s.hidden, "mixer", units=1),
        linear("attention.time_maa_w2", s.hidden, mix, "mixer", copies=5, units=1),
        vector("attention.time_decay", inner, "mixer", units=s.heads),
        linear("attention.time_decay_w1", decay, s.hidden, "mixer", units=1),
        linear("attention.time_decay_w2", inner, decay, "mixer", units=s.heads),
        _heads(k, s, inner, names=("time_maa_k", "time_maa_r")),
    )
    return _decoder(s, [layer] * s.layers)


@family("rwkv7")
def rwkv7(k: Keys) -> Body:
    """RWKV-7 (Goose): a delta rule with low-rank projections for decay, in-context rate, value residual and gate."""
    hidden, dim = k.integer("hidden_size"), k.integer("head_dim", 64, null=64)
    heads = k.integer("num_heads", max(hidden // dim, 1), null=max(hidden // dim, 1))
    s = Sizes(hidden, k.layers(), k.integer("vocab_size"), heads, k.tied())
    bias = k.flag("norm_bias", True)
    ratio = k.number("hidden_ratio", 4.0, least=1, most=64) if k.raw("hidden_ratio", 4.0) is not None else 4.0
    width = k.integer("intermediate_size", int(hidden * ratio), null=int(hidden * ratio))
    width = -(-width // 32) * 32
    ranks = {
        "w": k.integer("decay_low_rank_dim", r := _rank(1.8 * hidden**0.5), null=r),
        "a": k.integer("a_low_rank_dim", r, null=r),
        "v": k.integer("v_low_rank_dim", r := _rank(1.3 * hidden**0.5), null=r),
        "g": k.integer("gate_low_rank_dim", r := _rank(0.6 * hidden**0.8), null=r),
    }
    first = _rwkv7_layer(s, dim, width, {name: rank for name, rank in ranks.items() if name != "v"}, bias)
    first = join(first, norm("pre_norm", hidden, bias=bias) if k.flag("norm_first", True) else ())
    rest = _rwkv7_layer(s, dim, width, ranks, bias)
    return decoder(s, [first, *[rest] * (s.layers - 1)], s.heads, embedding="model.embeddings", norm_bias=bias)


def _rwkv7_layer(s: Sizes, dim: int, width: int, ranks: dict[str, int], bias: bool) -> Layer:
    """The first layer makes the values that the others mix in, so it has no projection for that."""
    hidden, inner = s.hidden, s.heads * dim
    low_rank = [
        matrix
        for name, rank in ranks.items()
        for matrix in (
            linear(f"attn.{name}_lora.lora.0", rank, hidden, "mixer", units=1),
            linear(f"attn.{name}_lora.lora.2", inner, rank, "mixer", bias=name != "g", units=s.heads),
        )
    ]
    return join(
        [vector(f"attn.x_{x}", hidden, "mixer") for x in "rwkvag"],
        [vector(f"attn.{name}", inner, "mixer", units=s.heads) for name in ("k_k", "k_a", "r_k")],
        [linear(f"attn.{x}_proj", inner, hidden, "mixer", units=s.heads) for x in "rkv"],
        linear("attn.o_proj", hidden, inner, "mixer", units=s.heads), low_rank,
        norm("attn.g_norm", inner, bias=True),
        vector("ffn.x_k", hidden, "mlp"), linear("ffn.key", width, hidden, "mlp"),
        linear("ffn.value", hidden, width, "mlp", units=width),
        norm("attn_norm", hidden, bias=bias), norm("ffn_norm", hidden, bias=bias),
        _shift_states(hidden), recurrence(inner * dim, DELTA_RULE, units=s.heads),
    )  # fmt: skip


def _rank(size: float) -> int:
    """The rank that RWKV-7 derives from the hidden size where the config gives none: a multiple of 32."""
    return max(32, round(size / 32) * 32)


def _sizes(k: Keys, tied: bool) -> tuple[Sizes, int]:
    """Sizes and the width of attention; heads are `head_size` wide. Published RWKV-5 and 6 have a head of their own."""
    hidden = k.integer("hidden_size")
    inner = k.integer("attention_hidden_size", hidden, null=hidden)
    if not tied and k.flag("tie_word_embeddings"):
        k.warn("RWKV checkpoints store a head of their own; tie_word_embeddings is not obeyed.")
    heads = max(inner // k.integer("head_size", 64, null=64), 1)
    return Sizes(hidden, k.layers(), k.integer("vocab_size"), heads, tied), inner


def _time_mix(hidden: int, inner: int, names: Sequence[str], gate: bool) -> list[Matrix]:
    """Projections of the time-mixing half and the vectors that blend a token with the one before it."""
    projections = ("key", "value", "receptance", "gate") if gate else ("key", "value", "receptance")
    return [
        *(vector(f"attention.{name}", hidden, "mixer") for name in names),
        *(linear(f"attention.{name}", inner, hidden, "mixer", units=inner) for name in projections),
        linear("attention.output", hidden, inner, "mixer", units=inner),
    ]


def _channel_mix(hidden: int, width: int,
                 names: Sequence[str] = ("time_mix_key", "time_mix_receptance")) -> list[Matrix]:  # fmt: skip
    """The other half: a gated MLP, and the layer's norms."""
    return [
        *(vector(f"feed_forward.{name}", hidden, "mlp") for name in names),
        linear("feed_forward.key", width, hidden, "mlp"),
        linear("feed_forward.receptance", hidden, hidden, "mlp", units=1),
        linear("feed_forward.value", hidden, width, "mlp", units=width),
        norm("ln1", hidden, bias=True), norm("ln2", hidden, bias=True),
    ]  # fmt: skip


def _heads(k: Keys, s: Sizes, inner: int,
           names: Sequence[str] = ("time_mix_key", "time_mix_receptance")) -> Layer:  # fmt: skip
    """What RWKV-5 and 6 share: bonus, group norm, the MLP of 3.5 x hidden, and a matrix state per head."""
    width = int(3.5 * s.hidden) // 32 * 32
    return join(
        vector("attention.time_faaaa", inner, "mixer", units=s.heads), norm("attention.ln_x", inner, bias=True),
        _channel_mix(s.hidden, k.integer("intermediate_size", width, null=width), names),
        _shift_states(s.hidden), recurrence(inner * inner // s.heads, OUTER_PRODUCT, units=s.heads),
    )  # fmt: skip


def _shift_states(hidden: int) -> Cache:
    """The last input of both halves (token shift)."""
    return Cache("state", fixed=2 * hidden, role="conv")


def _decoder(s: Sizes, layers: list[Layer]) -> Body:
    """The first layer also norms the embedding."""
    first = join(layers[0], norm("pre_ln", s.hidden, bias=True))
    return decoder(s, [first, *layers[1:]], s.heads, prefix="rwkv.blocks.{i}.", embedding="rwkv.embeddings",
                   final="rwkv.ln_out", norm_bias=True, head_name="head")  # fmt: skip
