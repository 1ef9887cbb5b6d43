"""GLM-5.3-Flash: Kimi's delta attention in three of four layers, sparse latent attention in the fourth, four streams.

Source: the tensor list of the transformers 5.24 class.
"""

from __future__ import annotations

from planner.architecture.builders import Layer, join, linear, mlp, vector
from planner.architecture.decoder import Sizes, decoder, pre_norms, sizes
from planner.architecture.delta import Delta, kda, linear_layers
from planner.architecture.experts import deepseek_moe, mixed, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.families.deepseek import index_layers
from planner.architecture.families.deepseek_v4 import hyper_connection
from planner.architecture.families.kimi_linear import kda_sizes
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Mixing
from planner.architecture.mla import LatentShape, indexer, latent_shape, mla


@family("glm5_next_text")
def glm5_next(k: Keys) -> Body:
    """The first three layers are dense; the indexer scores pools of `index_kpool` tokens."""
    s = sizes(k)
    shape, streams = latent_shape(k, s.hidden, s.heads), k.integer("hc_mult", most=64)
    top = k.integer("index_topk")
    chooser = _indexer(k, s, shape)
    attend = mla(s.hidden, shape, top=top)
    delta = _delta(k, s.hidden)
    mixers = [
        delta if is_linear else join(attend, chooser) if has_indexer else attend
        for is_linear, has_indexer in zip(linear_layers(k, s.layers), index_layers(k, s.layers), strict=True)
    ]
    feeds = mixed(
        sparse_kinds(k, s.layers) or [i >= 3 for i in range(s.layers)],
        lambda: deepseek_moe(k, s.hidden), lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )  # fmt: skip
    around = join(
        pre_norms(s.hidden), hyper_connection("attn_hc", streams, s.hidden),
        hyper_connection("ffn_hc", streams, s.hidden),
    )  # fmt: skip
    return decoder(s, [join(a, m, around) for a, m in zip(mixers, feeds, strict=True)], s.heads)


def _delta(k: Keys, hidden: int) -> Layer:
    heads, dim, kernel = kda_sizes(k, 64)
    return kda(hidden, Delta(heads, heads, dim, dim, kernel))


def _indexer(k: Keys, s: Sizes, shape: LatentShape) -> Layer:
    """An index key, a gate that weighs it in its pool, and whether it is there: all three are kept."""
    if shape.q_rank is None:
        raise k.refuse("q_lora_rank is null, but the indexer reads the query latent. Give q_lora_rank a number.")
    heads, dim, pool = k.integer("index_n_heads"), k.integer("index_head_dim"), k.integer("index_kpool", 16, most=4096)
    matrices, _, _ = indexer(s.hidden, shape.q_rank, heads, dim)
    prefix = "self_attn.indexer.index_kpool_compress_"
    return join(
        matrices, vector(f"{prefix}ape", pool * dim, "indexer"),
        linear(f"{prefix}gate", dim, s.hidden, "indexer", units=1),
        Cache("full", 2 * dim + 1, role="index"), Mixing(2 * heads * dim / pool),
    )  # fmt: skip
