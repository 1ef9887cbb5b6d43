"""Decoders with multi-head latent attention: DeepSeek V2 to V3.2, Kimi K2, GLM-5, Mistral 4, LongCat and kin.

Sources: the checkpoints' tensor lists; the published model code; DeepSeek-V2 (arXiv 2405.04434), V3 (2412.19437).
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, join, linear, mlp, stack
from planner.architecture.decoder import Sizes, decoder, next_token_layers, pre_norms, sizes
from planner.architecture.experts import counts, deepseek_mlps, moe, per_layer
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix
from planner.architecture.mla import indexer, latent_shape, mla


def _body(k: Keys, s: Sizes, mixers: list[Layer], mlps: list[tuple[Matrix, ...]]) -> Body:
    layers = [join(a, m, pre_norms(s.hidden)) for a, m in zip(mixers, mlps, strict=True)]
    # V3 and its kin store a bias that corrects the routing; it is a buffer, and counted only in these extra layers.
    count = counts(k)[0] if k.raw("num_experts", None) else 0
    correction = ("mlp.gate.e_score_correction_bias", count)
    return decoder(s, layers, s.heads, extra=next_token_layers(k, s, layers[-1], correction=correction))


def _latent(k: Keys, s: Sizes) -> list[Layer]:
    return [mla(s.hidden, latent_shape(k, s.hidden, s.heads))] * s.layers


def _plain_attention(k: Keys, s: Sizes) -> Layer:
    """Attention of Llama's form; the class default of head_dim is that of rotary keys in MLA, and does not count."""
    dim = Keys(k.data, k.where, log=k.log).head_dim(s.hidden, s.heads)
    return attention(s.hidden, s.heads, k.kv_heads(s.heads), dim)


@family("deepseek_v2", "deepseek_v3", "kimi_k2", "sarvam_mla")
def deepseek_v3(k: Keys) -> Body:
    """DeepSeek V2 and V3/R1, Kimi K2: MLA, dense first layers, routed and shared experts.

    The small models inside DeepSeek-VL2 and DeepSeek-OCR have plain attention instead (`use_mla` false).
    """
    s = sizes(k)
    plain = "use_mla" in k.data and not k.flag("use_mla")
    mixers = [_plain_attention(k, s)] * s.layers if plain else _latent(k, s)
    return _body(k, s, mixers, deepseek_mlps(k, s.hidden, s.layers, bias=k.flag("mlp_bias")))


@family("glm4_moe_lite")
def glm4_moe_lite(k: Keys) -> Body:
    """GLM-4.7-Flash: DeepSeek V3 with one dense layer."""
    s = sizes(k)
    return _body(k, s, _latent(k, s), deepseek_mlps(k, s.hidden, s.layers, first=1))


@family("mistral4")
def mistral4(k: Keys) -> Body:
    """Mistral 4 (text): DeepSeek V3 without dense layers unless the config says so."""
    return deepseek_v3(k)


def sparse_attention(k: Keys, s: Sizes, full: list[bool]) -> list[Layer]:
    """MLA that attends to the `index_topk` tokens which an indexer chose; layers without one reuse the last choice."""
    shape = latent_shape(k, s.hidden, s.heads)
    if shape.q_rank is None:
        raise k.refuse(
            "q_lora_rank is null, but the indexer of this model reads the query latent. Give q_lora_rank a number."
        )
    latent = mla(s.hidden, shape, top=k.integer("index_topk"))
    chooser = indexer(s.hidden, shape.q_rank, k.integer("index_n_heads"), k.integer("index_head_dim"))
    return [join(latent, chooser) if has_indexer else latent for has_indexer in full]


@family("deepseek_v32")
def deepseek_v32(k: Keys) -> Body:
    """DeepSeek V3.2: V3 with sparse attention (DSA), an indexer in each layer."""
    s = sizes(k)
    return _body(k, s, sparse_attention(k, s, [True] * s.layers), deepseek_mlps(k, s.hidden, s.layers))


@family("glm_moe_dsa")
def glm_moe_dsa(k: Keys) -> Body:
    """GLM-5: DeepSeek V3.2 whose indexer may stand in some layers only (5.2: 21 of 78)."""
    s = sizes(k)
    return _body(k, s, sparse_attention(k, s, index_layers(k, s.layers)), deepseek_mlps(k, s.hidden, s.layers))


def index_layers(k: Keys, layers: int) -> list[bool]:
    """Layers with an indexer: `indexer_types`, or a pattern of F and S, or every n-th after an offset."""
    listed = k.items("indexer_types", None)
    if listed is None and isinstance(pattern := k.raw("index_topk_pattern", None), (str, list)):
        listed = ["full" if kind in ("F", "full") else "shared" for kind in pattern]
    if listed is not None:
        return [kind == "full" for kind in per_layer(k, "indexer_types", listed, layers)]
    every = k.integer("index_topk_freq", 1, null=1, most=MOST_LAYERS)
    offset = k.integer("index_skip_topk_offset", 2, null=2, least=0, most=MOST_LAYERS)
    return [max(i - offset + 1, 0) % every == 0 for i in range(layers)]


@family("minicpm3", "youtu")
def minicpm3(k: Keys) -> Body:
    """MiniCPM3 and Youtu-LLM: MLA with a dense MLP; values as wide as hidden / heads unless said otherwise."""
    s = sizes(k)
    dense = mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias"))
    return _body(k, s, _latent(k, s), [dense] * s.layers)


@family("longcat_flash")
def longcat_flash(k: Keys) -> Body:
    """LongCat-Flash: a layer is two MLA attentions, two dense MLPs and one mixture with experts that do nothing.

    A token's picks may fall on these `zero_expert_num` experts (rows of the router without weights), so the active
    parameters are an upper bound.
    """
    s = sizes(k)
    shape = latent_shape(k, s.hidden, s.heads)
    width, (count, used) = k.integer("expert_ffn_hidden_size"), counts(k)
    routed = moe(s.hidden, width, count, used)[1:]
    rows = count + k.integer("zero_expert_num", 0, null=0, least=0)
    attention = [
        block for n in (0, 1) for block in stack([mla(s.hidden, shape, prefix="")] * s.layers,
                                                 f"model.layers.{{i}}.self_attn.{n}.")
    ]  # fmt: skip
    rest = join(*(
        (*mlp(s.hidden, k.integer("intermediate_size"), prefix=f"mlps.{n}."),
         *pre_norms(s.hidden, f"input_layernorm.{n}", f"post_attention_layernorm.{n}"))
        for n in (0, 1)
    ))  # fmt: skip
    router = linear("mlp.router.classifier", rows, s.hidden, "router", bias=k.flag("router_bias"), units=1)
    return decoder(s, [join(rest, router, routed)] * s.layers, s.heads, extra=attention)


