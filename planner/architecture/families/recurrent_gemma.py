"""RecurrentGemma (Griffin): gated linear recurrences, with window attention in every third layer.

Source: Griffin (arXiv 2402.19427), section 2; the checkpoints' tensor lists.
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, convolution, join, linear, mlp, vector
from planner.architecture.decoder import decoder, pre_norms, sizes
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ssm import OUTER_PRODUCT, conv_state, recurrence

BLOCK = "temporal_block."


@family("recurrent_gemma")
def recurrent_gemma(k: Keys) -> Body:
    """The pattern of `block_types` repeats; `intermediate_size` is twice the width of the gated MLP."""
    s = sizes(k)
    kv = k.integer("num_key_value_heads", s.heads, null=s.heads) if k.has("num_key_value_heads") else s.heads
    pattern = k.items("block_types", ["recurrent", "recurrent", "attention"]) or ["recurrent"]
    unknown = [kind for kind in pattern if kind not in ("recurrent", "attention")]
    if unknown:
        raise k.refuse(f'block_types holds {unknown[0]!r:.40}; expected "recurrent" or "attention".')
    common = join(
        mlp(s.hidden, k.integer("intermediate_size") // 2, bias=True, prefix="mlp_block."),
        pre_norms(s.hidden, "temporal_pre_norm", "channel_pre_norm"),
    )
    window = k.integer("attention_window_size", 2048)
    mixers = {
        "attention": attention(s.hidden, s.heads, kv, k.head_dim(s.hidden, s.heads), bias=k.flag("attention_bias"),
                               out_bias=True, window=window, prefix=BLOCK),
        "recurrent": _recurrent(k, s.hidden, s.heads),
    }  # fmt: skip
    layers = [join(mixers[pattern[i % len(pattern)]], common) for i in range(s.layers)]
    return decoder(s, layers, kv, final="model.final_norm")


def _recurrent(k: Keys, hidden: int, heads: int) -> Layer:
    """Two branches, one through a convolution and the recurrence; its gates are block-diagonal, a block per head."""
    width = k.integer("lru_width", hidden, null=hidden)
    kernel, dim = k.integer("conv1d_width", 4), width // heads
    return join(
        linear(f"{BLOCK}linear_y", width, hidden, "mixer", bias=True, units=heads),
        linear(f"{BLOCK}linear_x", width, hidden, "mixer", bias=True, units=heads),
        linear(f"{BLOCK}linear_out", hidden, width, "mixer", bias=True, units=heads),
        convolution(f"{BLOCK}conv_1d", width, kernel, bias=True, units=heads),
        linear(f"{BLOCK}rg_lru.input_gate_weight", dim, dim, "mixer", bias=True, copies=heads, units=1),
        linear(f"{BLOCK}rg_lru.recurrent_gate_weight", dim, dim, "mixer", bias=True, copies=heads, units=1),
        vector(f"{BLOCK}rg_lru.recurrent_param", width, "mixer", units=heads),
        recurrence(width, OUTER_PRODUCT, units=heads), conv_state(width, kernel, units=heads),
    )  # fmt: skip
