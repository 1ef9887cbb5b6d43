"""Grouped-query attention with DeepSeek's mixture of experts: GLM-4.5, dots.llm1, Ling, Solar Open, Hy3, EXAONE MoE.

The first layers are dense, the others have many narrow routed experts and shared ones. They differ in biases, query
and key norms, windows and names.

Sources: the checkpoints' tensor lists; the model code in transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.architecture.builders import Layer, attention, join, mlp
from planner.architecture.decoder import Sizes, decoder, grouped, next_token_layers, pre_norms, sizes
from planner.architecture.experts import counts, deepseek_mlps, deepseek_moe, dense_first, mixed, moe, per_layer
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_windows
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix


def _body(k: Keys, s: Sizes, kv: int, attentions: Sequence[Layer], mlps: Sequence[tuple[Matrix, ...]],
          correction: str = "mlp.gate.e_score_correction_bias",
          embedding: str = "model.embed_tokens") -> Body:  # fmt: skip
    layers = [join(a, m, pre_norms(s.hidden)) for a, m in zip(attentions, mlps, strict=True)]
    mtp = next_token_layers(k, s, layers[-1], correction=(correction, counts(k)[0]))
    return decoder(s, layers, kv, extra=mtp, embedding=embedding)


@family("deepseek")
def deepseek_v1(k: Keys) -> Body:
    """DeepSeek-MoE 16B: plain attention; its mixture is the one that V2 took over."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    attn = attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"))
    return _body(k, s, kv, [attn] * s.layers, deepseek_mlps(k, s.hidden, s.layers))


@family("dots1")
def dots1(k: Keys) -> Body:
    """dots.llm1: norms on queries and keys of each head."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias")
    attentions = [
        attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window)
        for window in layer_windows(k, s.layers, "late")
    ]
    return _body(k, s, kv, attentions, deepseek_mlps(k, s.hidden, s.layers))


@family("glm4_moe", "glm4v_moe_text", "sarvam_moe")
def glm4_moe(k: Keys) -> Body:
    """GLM-4.5 to 4.7: `attention_bias` is on q, k, v only; norms on queries and keys if `use_qk_norm` (Air: none)."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    attn = attention(
        s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), out_bias=False,
        qk_norm=dim if k.flag("use_qk_norm") else 0,
    )  # fmt: skip
    return _body(k, s, kv, [attn] * s.layers, deepseek_mlps(k, s.hidden, s.layers))


@family("solar_open")
def solar_open(k: Keys) -> Body:
    """Solar Open 100B: GLM-4.5 with experts in each layer."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    attn = attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), out_bias=False)
    return _body(k, s, kv, [attn] * s.layers, [deepseek_moe(k, s.hidden)] * s.layers)


@family("hy_v3")
def hy_v3(k: Keys) -> Body:
    """Hy3: one dense layer, norms on queries and keys."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    attn = attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=dim)
    mlps = deepseek_mlps(
        k, s.hidden, s.layers, first=1, shared_key="num_shared_experts", gate="router.gate", shared_name="shared_mlp.",
        bias=k.flag("mlp_bias"),
    )  # fmt: skip
    return _body(k, s, kv, [attn] * s.layers, mlps, "mlp.expert_bias")


@family("exaone_moe")
def exaone_moe(k: Keys) -> Body:
    """K-EXAONE: three sliding layers, then a full one; `is_moe_layer` or `mlp_layer_types` may list the sparse ones."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    attentions = [
        attention(s.hidden, s.heads, kv, dim, qk_norm=dim, window=window)
        for window in layer_windows(k, s.layers, "last of", period=4)
    ]
    listed = k.items("is_moe_layer", None)
    sparse = dense_first(k, s.layers, 1) if listed is None else [
        bool(flag) for flag in per_layer(k, "is_moe_layer", listed, s.layers)
    ]  # fmt: skip
    mlps = mixed(
        sparse, lambda: deepseek_moe(k, s.hidden, shared_key="num_shared_experts"),
        lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )  # fmt: skip
    return _body(k, s, kv, attentions, mlps)


@family("bailing_moe", "bailing_moe_v2")
def bailing_moe(k: Keys) -> Body:
    """Ling and Ring 1 and 2: fused query, key and value; a shared expert may have a width of its own."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    attn = attention(
        s.hidden, s.heads, kv, dim, prefix="attention.", names=("query_key_value", "dense"),
        bias=k.flag("use_qkv_bias"), out_bias=k.flag("use_bias"), qk_norm=dim if k.flag("use_qk_norm") else 0,
        norm_names=("query_layernorm", "key_layernorm"),
    )  # fmt: skip

    def routed() -> tuple[Matrix, ...]:
        width = k.integer("moe_intermediate_size")
        each = k.optional("moe_shared_expert_intermediate_size", least=1) or width
        shared = k.integer("num_shared_experts", 0, null=0, least=0, most=10_000) * each
        return moe(s.hidden, width, *counts(k), shared=shared)

    mlps = mixed(dense_first(k, s.layers), routed, lambda: mlp(s.hidden, k.integer("intermediate_size")))
    return _body(k, s, kv, [attn] * s.layers, mlps, "mlp.gate.expert_bias", "model.word_embeddings")
