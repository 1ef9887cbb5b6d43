"""A dense decoder described by its traits: what nearly all of them share, and where they part.

A family is a `Traits`: which matrices carry a bias, which norms there are, which layers slide, and the checkpoint's
names. `dense` turns one and a config into the ledger. H hidden, A query heads, K KV heads, D head dimension, F MLP
width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from planner.architecture.builders import Layer, attention, join, mlp, norm, table
from planner.architecture.decoder import Sizes, decoder, sizes
from planner.architecture.families import Body, family
from planner.architecture.families.windows import Rule, layer_windows
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix

Flag = bool | str  # a text names the key of the config that decides


@dataclass(frozen=True)
class Traits:
    """What sets one family apart; the defaults are those of Llama.

    qkv_bias, out_bias, mlp_bias, head_bias, norm_bias   whether these carry biases (out_bias None: as qkv_bias)
    norm_weight      whether norms have a weight at all
    gated            gate and up projections (SwiGLU and kin), or up alone
    gqa              whether the config can give KV heads; without, each query head has its own (MHA)
    qk_norm          norms of queries and keys: of size D ("head"), of A x D and K x D ("width"), or none
    qk_norm_bias, qk_norm_key   whether they carry biases; the key that switches them on ("": always)
    window, period   which layers slide where the file has no `layer_types` (see windows.py)
    width_times      MLP width in multiples of H where neither the file nor the class gives it (0: they must)
    positions        rows of a learned position table beyond max_position_embeddings (None: no table)
    embedding, layer, final_norm, head, position_table   names in the checkpoint; no final norm: ""
    attention        names of q, k, v and o; two names: of the fused qkv, and o
    mlp              names of gate, up and down; two names: of up (or of gate and up in one), and down
    norms, qk_names, embedding_norms   names of a layer's norms, of query and key norm, of norms after the embedding
    extra            further matrices of a layer, given the keys, H and F
    """

    qkv_bias: Flag = "attention_bias"
    out_bias: Flag | None = None
    mlp_bias: Flag = False
    head_bias: Flag = False
    norm_bias: Flag = False
    norm_weight: bool = True
    gated: bool = True
    gqa: bool = True
    qk_norm: Literal["", "head", "width"] = ""
    qk_norm_bias: bool = False
    qk_norm_key: str = ""
    window: Rule = "types"
    period: int = 1
    width_times: int = 0
    positions: int | None = None
    embedding: str = "model.embed_tokens"
    layer: str = "model.layers.{i}."
    final_norm: str = "model.norm"
    head: str = "lm_head"
    position_table: str = ""
    attention: Sequence[str] = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj")
    mlp: Sequence[str] = ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj")
    norms: Sequence[str] = ("input_layernorm", "post_attention_layernorm")
    qk_names: Sequence[str] = ("self_attn.q_norm", "self_attn.k_norm")
    embedding_norms: Sequence[str] = ()
    extra: Callable[[Keys, int, int], tuple[Matrix, ...]] | None = None


def says(k: Keys, flag: Flag) -> bool:
    """A trait that is fixed, or that a key of the config decides."""
    return k.flag(flag) if isinstance(flag, str) else flag


def mlp_width(k: Keys, traits: Traits, hidden: int) -> int:
    """F: as given; null or absent means a multiple of H in the families that say so."""
    if not traits.width_times:
        return k.integer("intermediate_size")
    usual = traits.width_times * hidden
    return k.integer("intermediate_size", usual, null=usual)


def dense_attention(k: Keys, traits: Traits, s: Sizes, kv_heads: int, dim: int, window: int | None = None) -> Layer:
    """Attention of one layer with the family's biases, norms and names."""
    bias = says(k, traits.qkv_bias)
    kind = traits.qk_norm if not traits.qk_norm_key or k.flag(traits.qk_norm_key) else ""
    query, key = {"": (0, 0), "head": (dim, dim), "width": (s.heads * dim, kv_heads * dim)}[kind]
    return attention(
        s.hidden, s.heads, kv_heads, dim, bias=bias,
        out_bias=bias if traits.out_bias is None else says(k, traits.out_bias),
        qk_norm=query, k_norm=key, norm_bias=traits.qk_norm_bias, window=window,
        prefix="", names=traits.attention, norm_names=traits.qk_names,
    )  # fmt: skip


def dense_mlp(k: Keys, traits: Traits, hidden: int, width: int) -> tuple[Matrix, ...]:
    """MLP of one layer with the family's biases and names."""
    return mlp(hidden, width, gated=traits.gated, bias=says(k, traits.mlp_bias), prefix="", names=traits.mlp)


def layer_norms(k: Keys, traits: Traits, hidden: int, names: Sequence[str]) -> tuple[Matrix, ...]:
    """Norms of these names over H, with weight and bias as the family has them."""
    bias = says(k, traits.norm_bias)
    return tuple(norm(name, hidden if traits.norm_weight else 0, bias=bias) for name in names)


def dense_layers(k: Keys, traits: Traits, s: Sizes, kv_heads: int, *, width: int | None = None,
                 feed_forward: tuple[Matrix, ...] | None = None) -> list[Layer]:  # fmt: skip
    """The layers; `feed_forward` stands in place of the MLP, `width` in place of the width the keys give."""
    dim = k.head_dim(s.hidden, s.heads)
    if feed_forward is None:
        width = mlp_width(k, traits, s.hidden) if width is None else width
        feed_forward = dense_mlp(k, traits, s.hidden, width)
    extra = traits.extra(k, s.hidden, width or 0) if traits.extra else ()
    norms = layer_norms(k, traits, s.hidden, traits.norms)
    windows = layer_windows(k, s.layers, traits.window, period=traits.period)
    kinds = {
        window: join(dense_attention(k, traits, s, kv_heads, dim, window), feed_forward, norms, extra)
        for window in set(windows)
    }
    return [kinds[window] for window in windows]


def outside(k: Keys, traits: Traits, hidden: int) -> tuple[Matrix, ...]:
    """What stands once beside embedding, final norm and head: learned positions, norms after the embedding."""
    norms = layer_norms(k, traits, hidden, traits.embedding_norms)
    if traits.positions is None:
        return norms
    rows = k.integer("max_position_embeddings") + traits.positions
    return (table(traits.position_table, rows, hidden, "positions", units=1), *norms)


def dense(k: Keys, traits: Traits, *, kv_heads: int | None = None, width: int | None = None,
          feed_forward: tuple[Matrix, ...] | None = None, extra: Sequence[Block] = ()) -> Body:  # fmt: skip
    """The ledger of a dense decoder.

    kv_heads      where the family's keys say it in a way of their own
    width, feed_forward   likewise the MLP's width, or matrices in its place
    extra         further blocks
    """
    s = sizes(k)
    if kv_heads is None:
        kv_heads = k.kv_heads(s.heads) if traits.gqa else s.heads
    layers = dense_layers(k, traits, s, kv_heads, width=width, feed_forward=feed_forward)
    return decoder(
        s, layers, kv_heads, extra=extra, prefix=traits.layer, embedding=traits.embedding,
        final=traits.final_norm if traits.norm_weight else "", norm_bias=says(k, traits.norm_bias),
        head_bias=says(k, traits.head_bias), head_name=traits.head, outside=outside(k, traits, s.hidden),
    )  # fmt: skip


def register(traits: Traits, *model_types: str) -> None:
    """A family that its traits describe wholly."""

    def read(k: Keys) -> Body:
        return dense(k, traits)

    family(*model_types)(read)
