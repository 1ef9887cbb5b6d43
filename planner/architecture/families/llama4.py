"""Llama 4 (text): one routed and one shared expert per token, chunked attention but for every fourth layer.

Sources: the checkpoints meta-llama/Llama-4-Scout-17B-16E and Maverick-17B-128E.
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, mlp, router
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, fused_experts, mixed
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_chunks
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix


@family("llama4_text")
def llama4_text(k: Keys) -> Body:
    """Scout (sparse in each layer) and Maverick (in every other); query and key norms have no weight."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias")
    prefix = "feed_forward."

    def routed() -> tuple[Matrix, ...]:
        count, used = counts(k)
        width = k.integer("intermediate_size")
        return (
            router(s.hidden, count, name=f"{prefix}router"),
            *fused_experts(s.hidden, width, count, used, prefix=f"{prefix}experts."),
            *mlp(s.hidden, width, prefix=f"{prefix}shared_expert.", role="shared"),
        )

    mlps = mixed(
        _sparse(k, s.layers), routed, lambda: mlp(s.hidden, k.integer("intermediate_size_mlp"), prefix=prefix)
    )
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, window=chunk, kind="chunk" if chunk else None),
             feed_forward, pre_norms(s.hidden))
        for chunk, feed_forward in zip(layer_chunks(k, s.layers), mlps, strict=True)
    ]  # fmt: skip
    return decoder(s, layers, kv)


def _sparse(k: Keys, layers: int) -> list[bool]:
    """Layers with experts: those in `moe_layers`, else every `interleave_moe_layer_step`-th."""
    listed = k.items("moe_layers", None)
    if listed is not None:
        return [i in listed for i in range(layers)]
    step = k.integer("interleave_moe_layer_step", 1, null=1, most=MOST_LAYERS)
    return [(i + 1) % step == 0 for i in range(layers)]
