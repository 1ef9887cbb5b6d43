"""Qwen's mixtures of experts and relatives with the same tensor names.

Qwen2-MoE, Qwen3-MoE, OLMoE, FlexOlmo, Mellum, Kolibri. The sparse MLP itself is `qwen_moe` in `experts.py`; Qwen3-Next
and Qwen3.5 use it too. Sources: the checkpoints' tensor lists.
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, mlp
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, mixed, moe, qwen_mlps, qwen_moe, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_windows
from planner.architecture.keys import Keys


@family("qwen2_moe")
def qwen2_moe(k: Keys) -> Body:
    """Qwen1.5-MoE and Qwen2-57B-A14B: biases on q, k, v, and a gated shared expert."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias, windows = k.flag("qkv_bias", True), layer_windows(k, s.layers, "odd early")
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, out_bias=False, window=window), sparse,
             pre_norms(s.hidden))
        for window, sparse in zip(windows, qwen_mlps(k, s.hidden, s.layers), strict=True)
    ]  # fmt: skip
    return decoder(s, layers, kv)


@family("qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text")
def qwen3_moe(k: Keys) -> Body:
    """Qwen3-30B-A3B to Coder-480B: norms on queries and keys, no shared expert.

    `intermediate_size` is in the files, yet unused where all layers are sparse.
    """
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias")
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window), sparse, pre_norms(s.hidden))
        for window, sparse in zip(layer_windows(k, s.layers, "flagged"), qwen_mlps(k, s.hidden, s.layers), strict=True)
    ]
    return decoder(s, layers, kv)


@family("mellum")
def mellum(k: Keys) -> Body:
    """Mellum 2: Qwen3-MoE whose sparse layers are listed in `mlp_layer_types` and sliding ones in `layer_types`."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias")
    mlps = mixed(
        sparse_kinds(k, s.layers) or [True] * s.layers,
        lambda: qwen_moe(k, s.hidden), lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )  # fmt: skip
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window), sparse, pre_norms(s.hidden))
        for window, sparse in zip(layer_windows(k, s.layers, "types"), mlps, strict=True)
    ]
    return decoder(s, layers, kv)


@family("kolibri1")
def kolibri(k: Keys) -> Body:
    """Kolibri: a shared expert without gate, four norms a layer, every fifth layer full."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    shared = k.integer("shared_expert_intermediate_size", 0, null=0, least=0)
    sparse = moe(s.hidden, k.integer("moe_intermediate_size"), *counts(k), shared=shared)
    norms = pre_norms(
        s.hidden, "input_layernorm", "post_attention_layernorm", "post_self_attn_layernorm", "post_mlp_layernorm"
    )
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, qk_norm=dim, window=window), sparse, norms)
        for window in layer_windows(k, s.layers, "last of", period=5)
    ]
    return decoder(s, layers, kv)


@family("olmoe")
def olmoe(k: Keys) -> Body:
    """OLMoE: experts as wide as `intermediate_size`, norms over the full width of queries and keys."""
    return _olmo(k, "input_layernorm", "post_attention_layernorm")


@family("flex_olmo")
def flex_olmo(k: Keys) -> Body:
    """FlexOlmo: OLMoE with norms after attention and MLP."""
    return _olmo(k, "post_attention_layernorm", "post_feedforward_layernorm")


def _olmo(k: Keys, *norms: str) -> Body:
    s = sizes(k)
    kv, dim = grouped(k, s)
    layer = join(
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=s.heads * dim, k_norm=kv * dim),
        moe(s.hidden, k.integer("intermediate_size"), *counts(k)),
        pre_norms(s.hidden, *norms),
    )
    return decoder(s, [layer] * s.layers, kv)
