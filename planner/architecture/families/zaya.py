"""ZAYA1: compressed convolutional attention (CCA) with one expert of many per token, chosen by a small network.

Sources: Compressed Convolutional Attention (arXiv 2510.04476); the checkpoint's tensor list.
"""

from __future__ import annotations

from planner.architecture.builders import Layer, convolution, experts, join, linear, norm, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix, Mixing

CCA = "self_attn.qkv_proj."


@family("zaya")
def zaya(k: Keys) -> Body:
    """Every layer keeps keys and values, the last convolution inputs, and the half value that comes a token late."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    window = k.optional("sliding_window") or None
    kinds = layer_kinds(k, s.layers) or ["hybrid"] * s.layers
    mixers = {
        kind: _attention(k, s.hidden, s.heads, kv, dim, window if "sliding" in kind else None) for kind in set(kinds)
    }
    common = join(
        pre_norms(s.hidden),
        [vector(f"{where}_residual_scale.{name}", s.hidden) for where in ("post_attention", "post_mlp")
         for name in ("hidden_states_scale", "hidden_states_bias", "residual_scale", "residual_bias")],
    )  # fmt: skip
    layers = [join(mixers[kind], _moe(k, s.hidden, first=i == 0), common) for i, kind in enumerate(kinds)]
    outside = [vector(f"model.input_hidden_states_{name}", s.hidden) for name in ("scale", "bias")]
    return decoder(s, layers, kv, outside=outside, head_bias=k.flag("lm_head_bias"))


def _attention(k: Keys, hidden: int, heads: int, kv: int, dim: int, window: int | None) -> Layer:
    """Queries and keys pass two short convolutions, one per channel and one per head; half of each value is delayed."""
    bias = k.flag("attention_bias")
    first, second = k.integer("cca_time0", 2), k.integer("cca_time1", 2)
    channels = (heads + kv) * dim
    return join(
        linear(f"{CCA}q_proj", heads * dim, hidden, "attention", bias=bias, units=heads),
        linear(f"{CCA}k_proj", kv * dim, hidden, "attention", bias=bias, units=kv),
        linear(f"{CCA}v_proj_current", kv * dim // 2, hidden, "attention", bias=bias, units=kv),
        linear(f"{CCA}v_proj_delayed", kv * dim // 2, hidden, "attention", bias=bias, units=kv),
        convolution(f"{CCA}conv_qk_depthwise", channels, first, "attention", bias=True, units=kv),
        convolution(f"{CCA}conv_qk_grouped", channels, dim * second, "attention", bias=True, units=kv),
        vector("self_attn.qk_norm.temp", kv, "attention", units=kv),
        linear("self_attn.o_proj", hidden, heads * dim, "attention", bias=bias, units=heads),
        Cache("window" if window else "full", 2 * kv * dim, window, units=kv),
        Cache("state", fixed=channels * (first + second - 2), units=kv, role="conv"),
        Cache("state", fixed=kv * dim // 2, units=kv, role="ssm"),
        Mixing(4 * heads * dim, window=window),
    )


def _moe(k: Keys, hidden: int, first: bool) -> tuple[Matrix, ...]:
    """Experts, and a router of several layers with one choice more (to skip); it also sees the last router's state."""
    count, used = counts(k)
    size, gate = k.integer("router_hidden_size", 256), "mlp.gate."
    return (
        linear(f"{gate}down_proj", size, hidden, "router", bias=True, units=1),
        linear(f"{gate}router_mlp.fc1", size, size, "router", bias=True, units=1),
        linear(f"{gate}router_mlp.fc2", size, size, "router", bias=True, units=1),
        linear(f"{gate}router_mlp.out_proj", count + 1, size, "router", units=1),
        norm(f"{gate}router_mlp.norm", size),
        vector(f"{gate}router_states_scale", 0 if first else size, "router"),
        *experts(hidden, k.integer("moe_intermediate_size"), count, used),
    )
