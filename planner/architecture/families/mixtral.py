"""Mixtures of experts as wide as `intermediate_size`: Mixtral, Phi-MoE, Arctic, DBRX, Aria, Grok-1.

Sources: the checkpoints' tensor lists.
"""

from __future__ import annotations

from typing import Final

from planner.architecture.builders import attention, join, linear, mlp, norm, router
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import MIXTRAL, counts, fused_experts, moe
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_windows
from planner.architecture.keys import MOST_LAYERS, Keys

# Defaults of the classes of DBRX's nested sections (transformers 5.24).
DBRX_ATTENTION: Final = {"kv_n_heads": 1}
DBRX_FFN: Final = {"ffn_hidden_size": 3584, "moe_num_experts": 4, "moe_top_k": 1}


@family("mixtral")
def mixtral(k: Keys) -> Body:
    """Mixtral: Mistral's attention, eight experts of which a token passes two."""
    return _mixtral(k, bias=False, norm_bias=False, head_bias=False)


@family("phimoe")
def phimoe(k: Keys) -> Body:
    """Phi-3.5-MoE and Phi-mini-MoE: Mixtral with biases in attention (q, k, v, o), layer norms and head."""
    return _mixtral(k, bias=k.flag("attention_bias"), norm_bias=True, head_bias=k.flag("lm_head_bias"))


def _mixtral(k: Keys, *, bias: bool, norm_bias: bool, head_bias: bool) -> Body:
    s = sizes(k)
    kv, dim = grouped(k, s)
    routed = moe(s.hidden, k.integer("intermediate_size"), *counts(k), prefix="block_sparse_moe.", names=MIXTRAL)
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, window=window), routed,
             pre_norms(s.hidden, bias=norm_bias))
        for window in layer_windows(k, s.layers, "all")
    ]  # fmt: skip
    return decoder(s, layers, kv, norm_bias=norm_bias, head_bias=head_bias)


@family("arctic")
def arctic(k: Keys) -> Body:
    """Snowflake Arctic: in its sparse layers a dense MLP as wide as the hidden state runs beside the experts."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    step = k.integer("moe_layer_frequency", 2, most=MOST_LAYERS)
    beside = k.flag("parallel_attn_mlp_res") and k.flag("use_residual", True)
    width = k.integer("intermediate_size")
    sparse = join(
        moe(s.hidden, width, *counts(k), prefix="block_sparse_moe.", names=MIXTRAL),
        mlp(s.hidden, s.hidden, prefix="residual_mlp.", names=MIXTRAL) if beside else (),
        norm("residual_layernorm", s.hidden if beside else 0),
    )
    dense = join(mlp(s.hidden, width, prefix="block_sparse_moe.mlp.", names=MIXTRAL))
    layers = [
        join(attention(s.hidden, s.heads, kv, dim), sparse if (i + 1) % step == 0 else dense, pre_norms(s.hidden))
        for i in range(s.layers)
    ]
    return decoder(s, layers, kv)


@family("dbrx")
def dbrx(k: Keys) -> Body:
    """DBRX: sizes in the sections `attn_config` and `ffn_config`, one tensor for the experts of a layer, no biases."""
    s = sizes(k)
    attn, ffn = k.section("attn_config", DBRX_ATTENTION), k.section("ffn_config", DBRX_FFN)
    kv = attn.integer("kv_n_heads", most=s.heads)
    width, (count, used) = ffn.integer("ffn_hidden_size"), counts(ffn)
    dim = k.head_dim(s.hidden, s.heads)
    layer = join(
        attention(s.hidden, s.heads, kv, dim, prefix="norm_attn_norm.attn.", names=("Wqkv", "out_proj")),
        router(s.hidden, count, name="ffn.router.layer"),
        linear("ffn.experts.mlp.w1", width, s.hidden, "experts", copies=count, used=used),
        linear("ffn.experts.mlp.v1", width, s.hidden, "experts", copies=count, used=used),
        linear("ffn.experts.mlp.w2", s.hidden, width, "experts", copies=count, used=used, units=width),
        norm("norm_attn_norm.norm_1", s.hidden), norm("norm_attn_norm.norm_2", s.hidden),
    )  # fmt: skip
    return decoder(s, [layer] * s.layers, kv, prefix="transformer.blocks.{i}.", embedding="transformer.wte",
                   final="transformer.norm_f")  # fmt: skip


@family("aria_text", "aria_moe_lm")
def aria(k: Keys) -> Body:
    """Aria (text): fused experts and a shared one, all multiples of `intermediate_size` wide."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    width, (count, used) = k.integer("intermediate_size"), counts(k)
    shared = k.integer("moe_num_shared_experts", 0, null=0, least=0, most=10_000) * width
    layer = join(
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias")),
        router(s.hidden, count, name="mlp.router"),
        fused_experts(s.hidden, width, count, used, names=("fc1", "fc2")),
        mlp(s.hidden, shared, bias=k.flag("mlp_bias"), prefix="mlp.shared_experts.", role="shared") if shared else (),
        pre_norms(s.hidden),
    )
    return decoder(s, [layer] * s.layers, kv)


@family("grok-1")
def grok(k: Keys) -> Body:
    """Grok-1 (tied head) and Grok-2: four norms per layer; in Grok-2 a dense MLP runs beside narrower experts."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    width = k.integer("intermediate_size")
    layer = join(
        attention(s.hidden, s.heads, kv, dim, prefix="attn."),
        moe(s.hidden, k.integer("moe_intermediate_size", width, null=width), *counts(k), prefix="moe_block.",
            names=("linear", "linear_v", "linear_1")),
        mlp(s.hidden, width if k.flag("residual_moe") else 0),
        pre_norms(s.hidden, "pre_attn_norm", "post_attn_norm", "pre_moe_norm", "post_moe_norm"),
    )  # fmt: skip
    return decoder(s, [layer] * s.layers, kv)
