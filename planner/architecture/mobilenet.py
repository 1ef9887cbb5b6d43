"""MobileNet V5 (300M), the image encoder of Gemma 3n: a convolutional network of one fixed shape.

Blocks are those of MobileNet V4 (arXiv 2404.10518): inverted residuals of depthwise and 1 x 1 convolutions, and
multi-query attention made of 1 x 1 convolutions. Source: the network's definition in timm 1.0; its total is
294,126,912, which completes the published totals of Gemma 3n.
"""

from __future__ import annotations

from typing import Final

from planner.architecture.builders import convolution, norm, vector
from planner.architecture.ledger import Block, Matrix

NAME: Final = "mobilenetv5_300m_enc"
WIDTH: Final = 2048
_STEM: Final = 64


def mobilenet_v5(root: str) -> tuple[list[Block], int]:
    """The network's blocks and the width of what it gives to the language model."""
    stages = root + "blocks."
    stem = (Matrix("conv", _STEM, 9 * 3, "vision", "conv", _STEM), norm("bn", _STEM))
    fusion = (*_residual(640 + 1280, WIDTH, times=2, scale=False, prefix="ffn."), norm("norm", WIDTH))
    return [
        Block(root + "conv_stem.", (0,), stem, part="vision"),
        Block(stages + "0.{i}.", (0,), _edge(_STEM, 128), part="vision"),
        Block(stages + "0.{i}.", (1, 2), _edge(128, 128), part="vision"),
        Block(stages + "1.{i}.", (0,), _residual(128, 256, first=3, middle=5, times=6), part="vision"),
        Block(stages + "1.{i}.", (1, 3), _residual(256, 256, first=5), part="vision"),
        Block(stages + "1.{i}.", (2, 4), _residual(256, 256, first=3), part="vision"),
        Block(stages + "2.{i}.", (0,), _residual(256, 640, first=5, middle=5, times=6), part="vision"),
        Block(stages + "2.{i}.", tuple(range(1, 8)), _residual(640, 640, first=5), part="vision"),
        Block(stages + "2.{i}.", (8,), _residual(640, 640, times=1), part="vision"),
        Block(stages + "2.{i}.", tuple(range(9, 37, 2)), _attention(640, 12, 64, narrowed=True), part="vision"),
        Block(stages + "2.{i}.", tuple(range(10, 37, 2)), _residual(640, 640, times=2), part="vision"),
        Block(stages + "3.{i}.", (0,), _residual(640, 1280, first=5, middle=5, times=6), part="vision"),
        Block(stages + "3.{i}.", tuple(range(1, 39, 2)), _attention(1280, 16, 96), part="vision"),
        Block(stages + "3.{i}.", tuple(range(2, 39, 2)), _residual(1280, 1280, times=2), part="vision"),
        Block(root + "msfa.", (0,), fusion, part="vision"),
    ], WIDTH


def _point(name: str, rows: int, cols: int) -> Matrix:
    """A 1 x 1 convolution."""
    return Matrix(name, rows, cols, "vision", "conv")


def _edge(wide: int, out: int) -> tuple[Matrix, ...]:
    """An inverted residual whose first convolution is a whole one, four times as wide inside."""
    return (
        Matrix("conv_exp", 4 * wide, 9 * wide, "vision", "conv"), norm("bn1", 4 * wide),
        _point("conv_pwl", out, 4 * wide), norm("bn2", out),
    )  # fmt: skip


def _residual(wide: int, out: int, *, first: int = 0, middle: int = 0, times: int = 4, scale: bool = True,
              prefix: str = "") -> tuple[Matrix, ...]:  # fmt: skip
    """An inverted residual `times` as wide inside, with depthwise kernels before and between (0: none)."""
    inner = times * wide
    return (
        *_depthwise(f"{prefix}dw_start", wide, first),
        _point(f"{prefix}pw_exp.conv", inner, wide), norm(f"{prefix}pw_exp.bn", inner),
        *_depthwise(f"{prefix}dw_mid", inner, middle),
        _point(f"{prefix}pw_proj.conv", out, inner), norm(f"{prefix}pw_proj.bn", out),
        *([vector(f"{prefix}layer_scale.gamma", out, "vision")] if scale else []),
    )  # fmt: skip


def _depthwise(name: str, channels: int, kernel: int, conv: str = ".conv", normed: str = ".bn") -> tuple[Matrix, ...]:
    if not kernel:
        return ()
    return convolution(name + conv, channels, kernel * kernel, "vision"), norm(name + normed, channels)


def _attention(wide: int, heads: int, dim: int, *, narrowed: bool = False) -> tuple[Matrix, ...]:
    """Multi-query attention over the map; narrowed: keys and values are those of a map of half the size."""
    pools = [
        matrix for side in ("key", "value")
        for matrix in _depthwise(f"attn.{side}.", wide, 3 if narrowed else 0, "down_conv", "norm")
    ]  # fmt: skip
    return (
        norm("norm", wide), *pools, _point("attn.query.proj", heads * dim, wide), _point("attn.key.proj", dim, wide),
        _point("attn.value.proj", dim, wide), _point("attn.output.proj", wide, heads * dim),
        vector("layer_scale.gamma", wide, "vision"),
    )  # fmt: skip
