"""MiniMax M2 and M3: experts in each layer; M3 attends to blocks of tokens that an index branch picks.

MiniMax-Text-01 with its linear attention is another family. Sources: the checkpoints' tensor lists.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import Layer, attention, join, linear, mlp, norm
from planner.architecture.decoder import decoder, grouped, next_token_layers, pre_norms, sizes
from planner.architecture.experts import MIXTRAL, counts, dense_first, mixed, moe, per_layer
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix, Mixing

MOE = "block_sparse_moe."


@family("minimax_m2")
def minimax_m2(k: Keys) -> Body:
    """MiniMax M2 to M2.7: norms over the full width of queries and keys, experts as wide as `intermediate_size`."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    layer = join(
        attention(s.hidden, s.heads, kv, dim, qk_norm=s.heads * dim, k_norm=kv * dim),
        moe(s.hidden, k.integer("intermediate_size"), *counts(k), prefix=MOE, names=MIXTRAL),
        pre_norms(s.hidden),
    )
    return decoder(s, [layer] * s.layers, kv)


@family("minimax_m3", "minimax_m3_vl_text")
def minimax_m3(k: Keys) -> Body:
    """MiniMax M3 (text): dense layers of `dense_intermediate_size`, then experts and a shared one.

    Sparse layers attend to `sparse_topk_blocks` blocks of `sparse_block_size` tokens, picked by small index heads over
    one index key per token.
    """
    s = sizes(k)
    kv, dim = grouped(k, s)
    dense_attention = attention(s.hidden, s.heads, kv, dim, qk_norm=dim)
    sparse = _sparse_layers(k, s.layers)
    sparse_attention = _sparse_attention(k, s.hidden, dense_attention) if any(sparse) else dense_attention
    shared = k.integer("shared_intermediate_size", 0, null=0, least=0)

    def routed() -> tuple[Matrix, ...]:
        return moe(s.hidden, k.integer("intermediate_size"), *counts(k), shared=shared, prefix=MOE, names=MIXTRAL)

    mlps = mixed(dense_first(k, s.layers), routed, lambda: mlp(s.hidden, k.integer("dense_intermediate_size")))
    layers = [
        join(sparse_attention if is_sparse else dense_attention, m, pre_norms(s.hidden))
        for is_sparse, m in zip(sparse, mlps, strict=True)
    ]
    correction = (f"{MOE}e_score_correction_bias", counts(k)[0])
    return decoder(s, layers, kv, extra=next_token_layers(k, s, layers[-1], correction=correction))


def _sparse_layers(k: Keys, layers: int) -> list[bool]:
    """Layers with block-sparse attention: by `layer_types`, else by the list in `sparse_attention_config`."""
    if (kinds := layer_kinds(k, layers)) is not None:
        return ["sparse" in kind for kind in kinds]
    section = k.section("sparse_attention_config")
    listed = section.items("sparse_attention_freq", None)
    if listed is None:
        return [False] * layers
    return [bool(flag) for flag in per_layer(k, "sparse_attention_freq", listed, layers)]


def _sparse_attention(k: Keys, hidden: int, dense: Layer) -> Layer:
    section = k.section("sparse_attention_config")

    def size(flat: str, nested: str, default: int) -> int:
        return section.integer(nested) if section.has(nested) else k.integer(flat, default)

    heads, dim = size("index_n_heads", "sparse_num_index_heads", 4), size("index_head_dim", "sparse_index_dim", 128)
    block = size("index_block_size", "sparse_block_size", 128)
    top = block * size("index_topk_blocks", "sparse_topk_blocks", 16)
    matrices, caches, mixing = dense
    narrowed = (matrices, tuple(replace(c, top=top) for c in caches), tuple(replace(m, top=top) for m in mixing))
    prefix = "self_attn.index_"
    return join(
        narrowed,
        linear(f"{prefix}q_proj", heads * dim, hidden, "indexer", units=1),
        linear(f"{prefix}k_proj", dim, hidden, "indexer", units=1),
        norm(f"{prefix}q_norm", dim), norm(f"{prefix}k_norm", dim),
        Cache("full", dim, role="index"), Mixing(2 * heads * dim),
    )  # fmt: skip
