"""OLMo Hybrid: gated DeltaNet in most layers, OLMo 3 attention in every fourth.

Source: the checkpoints' tensor lists (transformers 5.24 class).
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, linear, mlp, norm, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.delta import delta_sizes, linear_layers
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys


@family("olmo_hybrid")
def olmo_hybrid(k: Keys) -> Body:
    """Linear layers have norms before, attention layers after them; query and key norms are as wide as all heads."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    key_heads = k.integer("linear_num_key_heads", s.heads, null=s.heads)
    d = delta_sizes(k, s.heads, s.heads, int(0.75 * s.hidden / key_heads))
    p = "linear_attn."
    mixer = join(
        linear(f"{p}q_proj", d.keys, s.hidden, "mixer", units=d.key_heads),
        linear(f"{p}k_proj", d.keys, s.hidden, "mixer", units=d.key_heads),
        linear(f"{p}v_proj", d.values, s.hidden, "mixer", units=d.value_heads),
        linear(f"{p}g_proj", d.values, s.hidden, "mixer", units=d.value_heads),
        linear(f"{p}a_proj", d.value_heads, s.hidden, "mixer"),
        linear(f"{p}b_proj", d.value_heads, s.hidden, "mixer"),
        d.split_convolutions(p),
        vector(f"{p}A_log", d.value_heads, "mixer", units=d.value_heads),
        vector(f"{p}dt_bias", d.value_heads, "mixer", units=d.value_heads),
        norm(f"{p}o_norm", d.value_dim),
        linear(f"{p}o_proj", s.hidden, d.values, "mixer", units=d.value_heads),
        d.state(), pre_norms(s.hidden, "attention_layer_norm", "feedforward_layer_norm"),
    )  # fmt: skip
    full = join(
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=s.heads * dim, k_norm=kv * dim),
        pre_norms(s.hidden, "post_attention_layernorm", "post_feedforward_layernorm"),
    )
    feed = mlp(s.hidden, k.integer("intermediate_size"))
    return decoder(s, [join(mixer if kind else full, feed) for kind in linear_layers(k, s.layers)], kv)
