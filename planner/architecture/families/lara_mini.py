"""Lara Mini: gated DeltaNet, window and full attention in turn, experts in every layer.

Source: the tensor list of the transformers 5.24 class under the checkpoint's names.
"""

from __future__ import annotations

from planner.architecture.builders import attention, convolution, join, linear, norm, vector
from planner.architecture.decoder import decoder, pre_norms, sizes
from planner.architecture.delta import delta_sizes
from planner.architecture.experts import counts, moe
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys

PATTERN = ("linear_attention", "sliding_attention", "linear_attention", "full_attention", "sliding_attention")


@family("lara_mini")
def lara_mini(k: Keys) -> Body:
    """One matrix yields queries, keys, values, output gate and two scalars per head of a linear layer."""
    s = sizes(k)
    kv, dim = k.kv_heads(s.heads), k.integer("head_dim", 128)
    d = delta_sizes(k, 8, 16, 128, 128)
    count, used = counts(k)
    common = join(
        moe(s.hidden, k.integer("moe_intermediate_size"), count, used, shared_name="shared_expert.",
            shared=k.integer("shared_expert_intermediate_size", 0, null=0, least=0)),
        pre_norms(s.hidden),
    )  # fmt: skip
    inputs = 2 * d.keys + 2 * d.values + 2 * d.value_heads
    linear_layer = join(
        linear("linear_attn.in_proj", inputs, s.hidden, "mixer", units=d.key_heads),
        convolution("linear_attn.conv1d", 2 * d.keys + d.values, d.kernel, units=d.key_heads),
        vector("linear_attn.A_log", d.value_heads, "mixer", units=d.value_heads),
        vector("linear_attn.dt_bias", d.value_heads, "mixer", units=d.value_heads),
        norm("linear_attn.out_norm", d.value_dim),
        linear("linear_attn.out_proj", s.hidden, d.values, "mixer", units=d.value_heads),
        d.state(),
    )
    windows = {"sliding_attention": k.optional("sliding_window", 512) or None, "full_attention": None}
    mixers = {
        kind: attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=dim, window=window)
        for kind, window in windows.items()
    } | {"linear_attention": linear_layer}
    kinds = layer_kinds(k, s.layers) or [PATTERN[i % len(PATTERN)] for i in range(s.layers)]
    unknown = sorted(set(kinds) - set(mixers))
    if unknown:
        raise k.refuse(f"layer_types holds {unknown[0]!r:.40}; expected {', '.join(mixers)}.")
    return decoder(s, [join(mixers[kind], common) for kind in kinds], kv)
