"""OpenELM: decoders whose heads and MLP width grow from layer to layer.

Source: the model code and config files beside Apple's checkpoints (configuration_openelm, modeling_openelm).
"""

from __future__ import annotations

from typing import Any

from planner.architecture.builders import Layer, attention, join, mlp, norm
from planner.architecture.decoder import Sizes, decoder
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys


def divisible_width(width: float, divisor: int) -> int:
    """The multiple of `divisor` nearest to a width, one more where that would lose over a tenth of it."""
    rounded = max(divisor, int(width + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * width else rounded


def per_layer(k: Keys, name: str, layers: int) -> list[Any]:
    """A list with one positive number per layer."""
    values = k.items(name, None)
    if values is None or len(values) != layers or not all(isinstance(v, (int, float)) and v > 0 for v in values):
        raise k.refuse(
            f"{name} is {str(values)[:60]}; expected {layers} numbers above 0, one per layer. "
            "Correct this key in the config and paste it again."
        )
    return values


@family("openelm")
def openelm(k: Keys) -> Body:
    """OpenELM: lists give query heads, KV heads and MLP multiples of each layer; norms of queries and keys."""
    hidden, dim = k.integer("model_dim"), k.integer("head_dim")
    layers = k.integer("num_transformer_layers", most=MOST_LAYERS)
    divisor, gated = k.integer("ffn_dim_divisor", 256), k.flag("ffn_with_glu", True)
    query, groups = per_layer(k, "num_query_heads", layers), per_layer(k, "num_kv_heads", layers)
    multiples = per_layer(k, "ffn_multipliers", layers)
    qk_norm = dim if k.flag("normalize_qk_projections", True) else 0
    stacked: list[Layer] = []
    for heads, kv_heads, multiple in zip(query, groups, multiples, strict=True):
        mixed = attention(
            hidden, heads, kv_heads, dim, qk_norm=qk_norm, prefix="attn.", names=("qkv_proj", "out_proj")
        )
        width = divisible_width(multiple * hidden, divisor)
        feed_forward = mlp(hidden, width, gated=gated, prefix="ffn.", names=("proj_1", "proj_2"))
        stacked.append(join(mixed, feed_forward, norm("attn_norm", hidden), norm("ffn_norm", hidden)))
    tied = k.flag("share_input_output_layers", True)
    sizes = Sizes(hidden, layers, k.integer("vocab_size"), max(query), tied)
    return decoder(
        sizes, stacked, max(groups), prefix="transformer.layers.{i}.", embedding="transformer.token_embeddings",
        final="transformer.norm",
    )  # fmt: skip
