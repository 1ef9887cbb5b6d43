"""gpt-oss: experts in each layer, biases everywhere, attention sinks, every other layer with a window.

Sources: the checkpoints openai/gpt-oss-20b and 120b (20,914,757,184 and 116,829,156,672 parameters).
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, router, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, fused_experts
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_windows
from planner.architecture.keys import Keys


@family("gpt_oss")
def gpt_oss(k: Keys) -> Body:
    """gpt-oss 20b and 120b: router and experts have biases too; a sink per head; even layers slide."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias", True)
    count, used = counts(k)
    sparse = (
        router(s.hidden, count, bias=True, name="mlp.router"),
        *fused_experts(s.hidden, k.integer("intermediate_size"), count, used, bias=True),
    )
    layers = [
        join(
            attention(s.hidden, s.heads, kv, dim, bias=bias, window=window),
            vector("self_attn.sinks", s.heads, "attention", units=s.heads), sparse, pre_norms(s.hidden),
        )
        for window in layer_windows(k, s.layers, "even")
    ]  # fmt: skip
    return decoder(s, layers, kv)
