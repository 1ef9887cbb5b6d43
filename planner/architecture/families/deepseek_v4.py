"""DeepSeek V4: one shared key-value head, compressed along the sequence; hyper-connections; hash-routed first layers.

Each layer keeps the last `sliding_window` tokens of one vector that is key and value at once. `compress_ratios` says
what it keeps of all earlier ones: 0 nothing; 4 (CSA) a vector for every 4 tokens, of which an indexer picks
`index_topk`; 128 (HCA) a vector for every 128 tokens, all attended.

Sources: the checkpoint's tensor list and the published model code (transformers 5.24, deepseek_v4).
"""

from __future__ import annotations

from typing import Final

from planner.architecture.builders import Layer, join, linear, norm, vector
from planner.architecture.decoder import Sizes, decoder, next_token_layers, sizes
from planner.architecture.experts import MIXTRAL, counts, moe, per_layer
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix, Mixing, Role

LAYER_TYPES: Final = {
    "sliding_attention": 0, "compressed_sparse_attention": 4, "heavily_compressed_attention": 128,
}  # fmt: skip
SPARSE: Final = 4  # the ratio whose layers have an indexer and overlap their compression windows


@family("deepseek_v4", "deepseek_ref")
def deepseek_v4(k: Keys) -> Body:
    """DeepSeek V4; the token-to-expert tables of its hash-routed layers are integers, not parameters."""
    s = sizes(k)
    streams = k.integer("hc_mult", most=64)
    count, used = counts(k)
    width = k.integer("moe_intermediate_size")
    shared = k.integer("n_shared_experts", 0, null=0, least=0, most=10_000) * width
    common = (
        moe(s.hidden, width, count, used, shared=shared, prefix="ffn.", names=MIXTRAL, shared_names=MIXTRAL,
            shared_bias=k.flag("mlp_bias")),
        norm("attn_norm", s.hidden), norm("ffn_norm", s.hidden),
        hyper_connection("hc_attn", streams, s.hidden), hyper_connection("hc_ffn", streams, s.hidden),
    )  # fmt: skip
    layers = [join(_attention(k, s, ratio), *common) for ratio in _ratios(k, s.layers)]
    mixing_head = (
        linear("hc_head_fn", streams, streams * s.hidden, "other", units=1),
        vector("hc_head_base", streams),
        vector("hc_head_scale", 1),
    )
    mtp = next_token_layers(k, s, layers[-1], correction=("ffn.gate.bias", count), prefix="mtp.{i}.", first=0)
    return decoder(
        s, layers, 1, prefix="layers.{i}.", embedding="embed", final="norm", head_name="head",
        outside=mixing_head, extra=mtp,
    )  # fmt: skip


def _ratios(k: Keys, layers: int) -> list[int]:
    """Tokens per compressed entry in each layer; 0: the window only."""
    listed = k.items("compress_ratios", None)
    if listed is None and (types := k.items("layer_types", None)) is not None:
        listed = [LAYER_TYPES.get(str(kind), -1) for kind in types]
    if listed is None:  # the class default: two HCA layers, then HCA and CSA in turn
        listed = [SPARSE if i >= 2 and i % 2 else 128 for i in range(layers)]
    ratios = per_layer(k, "compress_ratios", listed, layers)
    if not all(isinstance(r, int) and 0 <= r <= 1_000_000 for r in ratios):
        raise k.refuse(f"compress_ratios is {ratios!r:.60}; expected a whole number per layer, such as 0, 4 or 128.")
    return [int(str(r)) for r in ratios]


def _attention(k: Keys, s: Sizes, ratio: int) -> Layer:
    heads, dim = s.heads, k.integer("head_dim")
    rank, groups, out_rank = k.integer("q_lora_rank"), k.integer("o_groups"), k.integer("o_lora_rank")
    window = k.integer("sliding_window")
    pair = 4 * heads * dim  # key and value are the same vector of `dim`
    if heads * dim % groups:
        raise k.refuse(f"o_groups is {groups}, which does not divide {heads} heads x {dim}. Correct o_groups.")
    parts = join(
        linear("attn.wq_a", rank, s.hidden, "attention", units=1), norm("attn.q_norm", rank),
        linear("attn.wq_b", heads * dim, rank, "attention", units=heads),
        linear("attn.wkv", dim, s.hidden, "attention", units=1), norm("attn.kv_norm", dim),
        linear("attn.wo_a", groups * out_rank, heads * dim // groups, "attention", units=groups),
        linear("attn.wo_b", s.hidden, groups * out_rank, "attention", units=groups),
        vector("attn.attn_sink", heads, "attention", units=heads),
        Cache("window", dim, window, in_library=2 * dim), Mixing(pair, window=window),
    )  # fmt: skip
    if ratio == 0:
        return parts
    compressor = _compressor("attn.compressor.", s.hidden, dim, ratio, "attention")
    if ratio != SPARSE:
        return join(parts, compressor, Cache("latent", -(-dim // ratio)), Mixing(pair / ratio))
    index_heads, index_dim = k.integer("index_n_heads"), k.integer("index_head_dim")
    top = k.integer("index_topk") * ratio
    return join(
        parts, compressor, Cache("latent", -(-dim // ratio), top=top), Mixing(pair / ratio, top=top),
        _compressor("attn.indexer.compressor.", s.hidden, index_dim, ratio, "indexer"),
        linear("attn.indexer.wq_b", index_heads * index_dim, rank, "indexer", units=1),
        linear("attn.indexer.weights_proj", index_heads, s.hidden, "indexer", units=1),
        # Published figures of this model count the index keys with the KV cache, hence no role of their own.
        Cache("latent", -(-index_dim // ratio)), Mixing(2 * index_heads * index_dim / ratio),
    )  # fmt: skip


def _compressor(prefix: str, hidden: int, dim: int, ratio: int, role: Role) -> tuple[Matrix, ...]:
    """Weighted sum of `ratio` tokens into one vector; sparse layers overlap neighbouring groups, so twice as wide."""
    wide = 2 * dim if ratio == SPARSE else dim
    return (
        linear(f"{prefix}wkv", wide, hidden, role, units=1),
        linear(f"{prefix}wgate", wide, hidden, role, units=1),
        Matrix(f"{prefix}ape", ratio, wide, role, "vector"),
        norm(f"{prefix}norm", dim),
    )


def hyper_connection(name: str, streams: int, hidden: int) -> tuple[Matrix, ...]:
    """Mixing of the `streams` residual streams around a sublayer: read weights, write weights, and a square matrix."""
    rows = (2 + streams) * streams
    return (
        linear(f"{name}_fn", rows, streams * hidden, "other", units=1),
        vector(f"{name}_base", rows),
        vector(f"{name}_scale", 3),
    )
