"""How one matrix lies in memory under each storage format: bytes from its rows and columns.

A layout counts everything that is stored beside the numbers themselves: scales, zero points, permutations,
code books. Rows are output features, columns input features; groups and blocks run along the columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Compute = Literal["fp16", "fp8", "int8", "fp4"]


@dataclass(frozen=True)
class Layout:
    """One way of storing a matrix.

    label    short text for tables
    compute  type in which the product runs on a device that has it (weight-only formats are widened to 16 bit first)
    size     bytes of one copy of `rows` x `cols`, without its bias
    """

    label: str
    compute: Compute
    size: Callable[[int, int], int]


def pieces(length: int, size: int) -> int:
    """Groups of `size` that cover `length`; a size below 1 means one group over all of it."""
    return 1 if size < 1 else -(-length // size)


def bits_to_bytes(elements: int, bits: float) -> int:
    """Bytes of `elements` packed at `bits` each."""
    return -int(-elements * bits // 8)


def plain(label: str, width: float, compute: Compute = "fp16") -> Layout:
    """`width` bytes for each element and nothing else."""
    return Layout(label, compute, lambda rows, cols: -int(-rows * cols * width // 1))


FP32 = plain("fp32", 4)
BF16 = plain("bf16", 2)
FP16 = plain("fp16", 2)


def fp8_block(block_rows: int = 128, block_cols: int = 128, scale_bytes: int = 4) -> Layout:
    """FP8 with one scale per tile (DeepSeek-V3 checkpoints: 128 x 128 tiles, `weight_scale_inv` in FP32)."""

    def size(rows: int, cols: int) -> int:
        return rows * cols + scale_bytes * pieces(rows, block_rows) * pieces(cols, block_cols)

    return Layout(f"fp8 {block_rows}x{block_cols}", "fp8", size)


def per_tensor(label: str, compute: Compute, extra: int) -> Layout:
    """One byte per element and `extra` bytes of scales for the whole matrix."""
    return Layout(label, compute, lambda rows, cols: rows * cols + extra)


def per_channel(label: str, compute: Compute, scale_bytes: int = 2, width: float = 1) -> Layout:
    """`width` bytes per element and one scale per output feature."""
    return Layout(label, compute, lambda rows, cols: -int(-rows * cols * width // 1) + scale_bytes * rows)


def grouped(label: str, bits: float, group: int, compute: Compute = "fp16", *, scale_bytes: float = 2,
            zero_bits: float = 0, order: bool = False, extra: int = 0) -> Layout:  # fmt: skip
    """`bits` per element in groups of `group` columns (below 1: the whole row), each with a scale.

    scale_bytes  of each group
    zero_bits    of each group's zero point, packed
    order        a 4-byte group index for each column (GPTQ's `g_idx`)
    extra        bytes once per matrix
    """

    def size(rows: int, cols: int) -> int:
        groups = rows * pieces(cols, group)
        scales = -int(-groups * scale_bytes // 1)
        return bits_to_bytes(rows * cols, bits) + scales + bits_to_bytes(groups, zero_bits) + 4 * cols * order + extra

    return Layout(label, compute, size)


def gptq(bits: float, group: int) -> Layout:
    """GPTQ's packing: codes, packed zero points, FP16 scales, `g_idx`."""
    return grouped(f"gptq {bits:g}-bit", bits, group, zero_bits=bits, order=True)


def awq(bits: float, group: int, zeros: bool = True) -> Layout:
    """AWQ's packing: codes, packed zero points, FP16 scales."""
    return grouped(f"awq {bits:g}-bit", bits, group, zero_bits=bits if zeros else 0)


def mxfp4() -> Layout:
    """OCP microscaling FP4: 32 elements share an 8-bit exponent (Microscaling Formats specification 1.0)."""
    return grouped("mxfp4", 4, 32, "fp4", scale_bytes=1)


def mxfp8() -> Layout:
    """OCP microscaling FP8: 32 elements share an 8-bit exponent."""
    return grouped("mxfp8", 8, 32, "fp8", scale_bytes=1)


def nvfp4(compute: Compute = "fp4", group: int = 16) -> Layout:
    """NVFP4: 16 elements share an FP8 scale; two FP32 scales per matrix (weight, input)."""
    return grouped("nvfp4", 4, group, compute, scale_bytes=1, extra=8)


def bitsandbytes4(double: bool, group: int = 64) -> Layout:
    """nf4/fp4 of bitsandbytes with its maxima per 64 elements: FP32, or bytes with an FP32 per 256 of them (`double`).

    The 16-entry code table (and the 256-entry one of double quantization) is stored with each matrix.
    """

    def size(rows: int, cols: int) -> int:
        maxima = pieces(rows * cols, group)
        stored = maxima + 4 * pieces(maxima, 256) + 1024 if double else 4 * maxima
        return bits_to_bytes(rows * cols, 4) + stored + 64

    return Layout("bnb 4-bit", "fp16", size)


def aqlm(bits_per_code: int, books: int, group_in: int, group_out: int) -> Layout:
    """AQLM: each group of weights is a sum of `books` code-book entries; code books and row scales in FP16."""

    def size(rows: int, cols: int) -> int:
        codes = pieces(rows, group_out) * pieces(cols, group_in) * books
        tables: int = books * 2**bits_per_code * group_in * group_out * 2
        return bits_to_bytes(codes, bits_per_code) + tables + 2 * rows

    return Layout("aqlm", "fp16", size)
