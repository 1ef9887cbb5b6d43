"""Jamba: Mamba layers with attention in every eighth and experts in every second one.

Source: the checkpoints' tensor lists (transformers 5.24 class).
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, mlp
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, moe
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ssm import mamba1, time_step_rank


@family("jamba")
def jamba(k: Keys) -> Body:
    """Layer i has attention where i % period == offset, and experts by a period and offset of their own.

    Experts are as wide as the dense MLP; a single expert is the dense MLP.
    """
    s = sizes(k)
    kv, dim = grouped(k, s)
    width = k.integer("intermediate_size")
    count, used = counts(k)
    mixers = {
        True: attention(s.hidden, s.heads, kv, dim),
        False: mamba1(
            s.hidden, k.integer("mamba_expand", 2) * s.hidden, k.integer("mamba_d_state", 16),
            k.integer("mamba_d_conv", 4), time_step_rank(k, "mamba_dt_rank", s.hidden), norms=True, prefix="mamba.",
            bias=k.flag("mamba_proj_bias"), conv_bias=k.flag("mamba_conv_bias", True),
        ),
    }  # fmt: skip
    mlps = {
        True: moe(s.hidden, width, count, used, prefix="feed_forward.", gate="router"),
        False: mlp(s.hidden, width, prefix="feed_forward."),
    }
    norms = pre_norms(s.hidden, "input_layernorm", "pre_ff_layernorm")
    full = _every(k, "attn_layer", s.layers, 8, 4)
    sparse = _every(k, "expert_layer", s.layers, 2, 1)
    layers = [join(mixers[f], mlps[e and count > 1], norms) for f, e in zip(full, sparse, strict=True)]
    return decoder(s, layers, kv, final="model.final_layernorm")


def _every(k: Keys, name: str, layers: int, period: int, offset: int) -> list[bool]:
    """Which layers are chosen by `{name}_period` and `{name}_offset`."""
    period = k.integer(f"{name}_period", period, most=MOST_LAYERS)
    offset = k.integer(f"{name}_offset", offset, least=0, most=MOST_LAYERS)
    return [i % period == offset for i in range(layers)]
