"""Gemma's ear: two convolutions over the spectrum, then Conformer layers (arXiv 2005.08100), in Gemma 3n and Gemma 4.

A layer is half an MLP, attention with relative positions, a gated depthwise convolution, and another half MLP.
Shapes and absent keys: transformers 5.24 classes; both generations hold the same matrices under other names.
"""

from __future__ import annotations

from typing import NamedTuple

from planner.architecture.builders import convolution, linear, norm, vector
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.vision import tower


class _Names(NamedTuple):
    """How one generation calls the parts of a layer; `wrapped` is what its quantizable linears add to their names."""

    halves: tuple[str, str]
    attention: str
    position: str
    post: str
    norms: tuple[str, str, str]
    wrapped: str


GEMMA3N = _Names(
    ("ffw_layer_start.", "ffw_layer_end."), "attention.attn.", "attention.attn.relative_position_embedding.pos_proj",
    "attention.post", ("attention.pre_attn_norm", "attention.post_norm", "norm"), "",
)  # fmt: skip
GEMMA4 = _Names(
    ("feed_forward1.", "feed_forward2."), "self_attn.", "self_attn.relative_k_proj", "self_attn.post",
    ("norm_pre_attn", "norm_post_attn", "norm_out"), ".linear",
)  # fmt: skip


def gemma3n(k: Keys, root: str) -> tuple[list[Block], int]:
    """Gemma 3n's encoder and its width."""
    hidden, heads = k.integer("hidden_size", 1536), k.integer("conf_num_attention_heads", 8)
    first, second = _pair(k, "sscp_conv_channel_size")
    bins = k.integer("input_feat_size", 128)
    for _ in range(2):  # each convolution halves the spectrum
        bins = (bins + 1) // 2
    outside = _subsample("conv_0", "conv_1", first, second, bins * second, hidden)
    matrices = _layer(hidden, heads, k.integer("conf_conv_kernel_size", 5), GEMMA3N)
    count = k.integer("conf_num_hidden_layers", 12, most=1000)
    return tower(root + "conformer.{i}.", count, matrices, outside, root, "audio"), hidden


def gemma4(k: Keys, root: str) -> tuple[list[Block], int]:
    """Gemma 4's encoder with its output projection, and the width of that."""
    hidden, heads = k.integer("hidden_size", 1024), k.integer("num_attention_heads", 8)
    first, second = _pair(k, "subsampling_conv_channels")
    out = k.integer("output_proj_dims", 1536)
    outside = (
        *_subsample("layer0", "layer1", first, second, first // 4 * second, hidden),
        linear("output_proj", out, hidden, "audio", bias=True),
    )
    matrices = _layer(hidden, heads, k.integer("conv_kernel_size", 5), GEMMA4)
    count = k.integer("num_hidden_layers", 12, most=1000)
    return tower(root + "layers.{i}.", count, matrices, outside, root, "audio"), out


def _pair(k: Keys, name: str) -> tuple[int, int]:
    """Channels of the two convolutions."""
    value = k.items(name, [128, 32], most=2) or [128, 32]
    first, last = (Keys({name: size}, k.where).integer(name, most=10**6) for size in (value[0], value[-1]))
    return first, last


def _subsample(name: str, then: str, first: int, second: int, flat: int, hidden: int) -> tuple[Matrix, ...]:
    root = "subsample_conv_projection."
    return (
        Matrix(f"{root}{name}.conv", first, 9, "audio", "conv"), norm(f"{root}{name}.norm", first),
        Matrix(f"{root}{then}.conv", second, 9 * first, "audio", "conv"), norm(f"{root}{then}.norm", second),
        linear(f"{root}input_proj_linear", hidden, flat, "audio"),
    )  # fmt: skip


def _layer(hidden: int, heads: int, kernel: int, names: _Names) -> tuple[Matrix, ...]:
    end, around = names.wrapped, names.attention
    halves = [
        matrix
        for half in names.halves
        for matrix in (
            norm(f"{half}pre_layer_norm", hidden), norm(f"{half}post_layer_norm", hidden),
            linear(f"{half}ffw_layer_1{end}", 4 * hidden, hidden, "audio"),
            linear(f"{half}ffw_layer_2{end}", hidden, 4 * hidden, "audio"),
        )
    ]  # fmt: skip
    return (
        *halves,
        *(linear(f"{around}{n}_proj{end}", hidden, hidden, "audio") for n in "qkv"),
        linear(names.position, hidden, hidden, "audio"), linear(names.post + end, hidden, hidden, "audio"),
        vector(f"{around}per_dim_scale", hidden // heads, "audio"),
        linear(f"lconv1d.linear_start{end}", 2 * hidden, hidden, "audio"),
        convolution("lconv1d.depthwise_conv1d", hidden, kernel, "audio"),
        linear(f"lconv1d.linear_end{end}", hidden, hidden, "audio"),
        norm("lconv1d.pre_layer_norm", hidden), norm("lconv1d.conv_norm", hidden),
        *(norm(name, hidden) for name in names.norms),
    )  # fmt: skip
