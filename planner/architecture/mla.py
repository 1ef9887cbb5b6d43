"""Multi-head latent attention (MLA) and the indexer of sparse attention (DSA).

Each token leaves one latent of r + dr elements in the cache: a compressed key-and-value of r (`kv_lora_rank`) and one
rotary key of dr (`qk_rope_head_dim`) that all heads share. It cannot be dealt out to tensor-parallel devices.
Prefill expands the latent to keys of dn + dr and values of dv per head; decode folds the expansion into the query and
output projections and works on the latent itself.

Sources: DeepSeek-V2 (arXiv 2405.04434), section 2.1; DeepSeek-V3.2 (arXiv 2512.02556), section 2.1, for the indexer.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.architecture.builders import Layer, join, linear, norm
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix, Mixing


@dataclass(frozen=True)
class LatentShape:
    """Sizes of one MLA layer.

    q_rank   query latent (None: queries come straight from the hidden state)
    kv_rank  key-value latent r
    nope, rope, v   per head: key without positions dn, rotary key dr, value dv
    bias     on the projections from the hidden state and to it
    """

    heads: int
    q_rank: int | None
    kv_rank: int
    nope: int
    rope: int
    v: int
    bias: bool = False


def latent_shape(k: Keys, hidden: int, heads: int) -> LatentShape:
    """MLA sizes from a config; `num_key_value_heads` and `head_dim` of such files mean nothing here."""
    return LatentShape(
        heads, k.optional("q_lora_rank", least=1), k.integer("kv_lora_rank"), k.integer("qk_nope_head_dim", least=0),
        k.integer("qk_rope_head_dim", least=0), k.integer("v_head_dim", null=max(hidden // heads, 1)),
        k.flag("attention_bias"),
    )  # fmt: skip


def mla(hidden: int, s: LatentShape, *, prefix: str = "self_attn.", top: int | None = None) -> Layer:
    """One MLA layer: projections, the latent's cache, and the work between tokens.

    top  tokens attended at most (sparse attention), although all latents are kept
    """
    heads, qk = s.heads, s.nope + s.rope
    latent = s.kv_rank + s.rope
    if s.q_rank is None:
        query = [linear(f"{prefix}q_proj", heads * qk, hidden, "attention", units=heads)]
    else:
        query = [
            linear(f"{prefix}q_a_proj", s.q_rank, hidden, "attention", bias=s.bias, units=1),
            norm(f"{prefix}q_a_layernorm", s.q_rank),
            linear(f"{prefix}q_b_proj", heads * qk, s.q_rank, "attention", units=heads),
        ]
    return join(
        query,
        linear(f"{prefix}kv_a_proj_with_mqa", latent, hidden, "attention", bias=s.bias, units=1),
        norm(f"{prefix}kv_a_layernorm", s.kv_rank),
        linear(f"{prefix}kv_b_proj", heads * (s.nope + s.v), s.kv_rank, "attention", units=heads),
        linear(f"{prefix}o_proj", hidden, heads * s.v, "attention", bias=s.bias, units=heads),
        Cache("latent", latent, top=top),
        Mixing(2 * heads * (qk + s.v), decode=2 * heads * (latent + s.kv_rank), top=top),
    )


def indexer(hidden: int, q_rank: int, heads: int, dim: int, *, prefix: str = "self_attn.indexer.") -> Layer:
    """The lightning indexer: it scores all earlier tokens, `heads` small heads against one key of `dim` per token."""
    return join(
        linear(f"{prefix}wq_b", heads * dim, q_rank, "indexer", units=1),
        linear(f"{prefix}wk", dim, hidden, "indexer", units=1),
        Matrix(f"{prefix}k_norm", dim, 1, "norm", "vector", bias=dim),
        linear(f"{prefix}weights_proj", heads, hidden, "indexer", units=1),
        Cache("full", dim, role="index"),
        Mixing(2 * heads * dim),
    )
