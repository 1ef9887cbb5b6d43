"""What an engine holds of a model once it is loaded, beyond the bytes of its checkpoint.

    tables and rounding = rotary tables + rounding of each tensor + tiles that kernels widen + copies for latents

Engines that run on PyTorch ask its caching allocator for each tensor and report what that counts as allocated. With it
the weights of vLLM's start logs agree within 2 % in 21 of 22, on CUDA, ROCm and Ascend (docs/evidence.md lists each).
Assumed for SGLang, whose source does the same, without a log of it; not counted for the other engines.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, insort
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from planner.architecture import Architecture
from planner.engines import Engine
from planner.work import Work

MIB: Final = 2**20
# PyTorch c10/cuda/CUDACachingAllocator.cpp: kMinBlockSize, kSmallSize, kSmallBuffer, kMinLargeAlloc, kLargeBuffer and
# kRoundLarge, with the rule of should_split.
BLOCK: Final = 512
SMALL, SMALL_SEGMENT = 1 * MIB, 2 * MIB
LARGE, LARGE_SEGMENT, LARGE_STEP = 10 * MIB, 20 * MIB, 2 * MIB
# Layers alike are allocated alike: beyond so many the rest is taken to cost what these do.
MOST_LAYERS: Final = 128
# Inputs to which a row of MXFP4 codes is widened: 128 bytes of two (triton_kernels tensor_details/layout_details).
TILE: Final = 256
# Matrices that engines on PyTorch keep as one tensor (vLLM QKVParallelLinear, MergedColumnParallelLinear, FusedMoE).
_FUSED: Final = ((re.compile(r"\b[qkv]_proj$"), "qkv"), (re.compile(r"\b(gate|up)_proj$|\bw[13]$"), "gate_up"))
# Bits of one code, widest first: what is stored beyond them (scales, zero points) is a tensor of its own.
_CODES: Final = (32, 16, 8, 6, 5, 4, 3, 2, 1)
# Multimodal rotary positions: vLLM's and SGLang's MRotaryEmbedding keep a table four times as long.
_MULTIMODAL: Final = re.compile(r"qwen\d(_\d)?_(vl|omni)|qwen3_5|glm4v|keye|paddleocr_vl")
# Families that encode positions in another way, or not at all.
_UNROTATED: Final = frozenset({"bloom", "mpt", "t5", "bart", "whisper", "gpt2", "jamba", "nemotron_h"})


def allocated_bytes(sizes: Iterable[float]) -> int:
    """Bytes that PyTorch's caching allocator counts as allocated for tensors of these sizes, asked for in this order.

    Sizes round up to 512 B. Up to 1 MiB they share segments of 2 MiB, up to 10 MiB those of 20 MiB, larger ones get
    segments of whole 2 MiB. What is left of a block is split off for later tensors where it is more than 1 MiB (512 B
    among small ones), and counts as allocated where it is not. Source: PyTorch c10/cuda/CUDACachingAllocator.cpp.
    """
    free: tuple[list[int], list[int]] = ([], [])
    total = 0
    for wanted in sizes:
        size = -(-math.ceil(wanted) // BLOCK) * BLOCK
        small = size <= SMALL
        blocks = free[small]
        at = bisect_left(blocks, size)
        block = blocks.pop(at) if at < len(blocks) else _segment(size)
        left = block - size
        if left >= BLOCK if small else left > SMALL:
            insort(blocks, left)
            block = size
        total += block
    return total


def _segment(size: int) -> int:
    if size <= SMALL:
        return SMALL_SEGMENT
    return LARGE_SEGMENT if size < LARGE else -(-size // LARGE_STEP) * LARGE_STEP


def rotary_widths(arch: Architecture) -> frozenset[int]:
    """Widths of the vectors that rotary positions turn, one table for each; empty where there are none."""
    kept = arch.model_type.removesuffix("_text")
    if kept in _UNROTATED or any(m.role == "positions" for _, m in arch.matrices("text")):
        return frozenset()
    widths = set()
    for _, cache in arch.caches():
        if cache.role == "kv" and cache.kind in ("full", "window", "chunk") and cache.elements:
            widths.add(cache.elements // (2 * cache.units))
        elif cache.kind == "latent":
            widths.add(_value(arch.config, "qk_rope_head_dim") or 64)  # the class default of DeepSeek V2 and V3
    return frozenset(widths)


def _value(config: dict[str, Any], name: str) -> int | None:
    """A whole number of the config or of one of its sections."""
    found = config.get(name)
    if isinstance(found, int):
        return found
    inside = (_value(part, name) for part in config.values() if isinstance(part, dict))
    return next((value for value in inside if value), None)


def rotary_bytes(arch: Architecture, element: float) -> float:
    """Bytes of the cosine and sine tables, shared by all layers: positions x width x `element` bytes, on each device.

    A config that scales its positions states the scaled number (YaRN: original x factor). Source: vLLM
    layers/rotary_embedding (cos_sin_cache); 32 MiB for 131,072 positions of 128 wide heads.
    """
    longer = 4 if _MULTIMODAL.match(arch.model_type) else 1
    return float((arch.max_positions or 0) * longer * element * sum(rotary_widths(arch)))


def _tensors(work: Work) -> list[tuple[int, list[float]]]:
    """Tensors of a layer as an engine keeps them: (entry that places it on a stage, sizes in bytes on one device)."""
    rows, share = work.rows, work.device_share
    groups: dict[tuple[object, ...], tuple[int, float, float]] = {}
    for i, name in enumerate(rows.names):
        if not rows.stored_bytes[i]:
            continue
        fused = name.replace(".{e}", "")
        for pattern, one in _FUSED:
            fused = pattern.sub(one, fused)
        per_layer = share[i] / len(rows.layers[i])
        key = (fused, rows.layers[i], str(rows.formats[i]))
        first, stored, elements = groups.get(key, (i, 0.0, 0.0))
        groups[key] = (first, stored + rows.stored_bytes[i] * per_layer, elements + rows.params[i] * per_layer)
    return [(first, _pieces(stored, elements)) for first, stored, elements in groups.values()]


def _pieces(stored: float, elements: float) -> list[float]:
    """Bytes of the codes, and of the scales and zero points beside them."""
    bits = next((b for b in _CODES if elements * b / 8 <= stored), 0)
    codes = elements * bits / 8
    return [codes, stored - codes] if 1 <= stored - codes < stored else [stored]


def rounding_bytes(work: Work) -> list[float]:
    """Bytes that the allocator adds to the weights on a device of each pipeline stage."""
    tensors = [(work.placed(entry), sizes) for entry, sizes in _tensors(work)]
    return [_rounding([(places[stage], sizes) for places, sizes in tensors]) for stage in range(work.layout.pipeline)]


def _rounding(tensors: list[tuple[float, list[float]]]) -> float:
    deep = max((n for n, _ in tensors), default=0.0)
    scale = max(deep / MOST_LAYERS, 1.0)
    order = [
        size
        for layer in range(min(math.ceil(deep), MOST_LAYERS))
        for n, sizes in tensors if layer < math.ceil(n / scale)
        for size in sizes
    ]  # fmt: skip
    return float(scale * max(allocated_bytes(order) - sum(order), 0.0))


def padded_bytes(work: Work) -> list[float]:
    """Bytes that MXFP4 kernels add by widening each row of an expert's codes to whole tiles, on a device of each stage.

    gpt-oss-120b loads as 64.4 GiB on an H100, not as the 60.8 of its file: 2,880 becomes 3,072 (vLLM start log).
    """
    rows, hidden = work.rows, work.arch.hidden
    widths = {b.prefix + m.name: (m.rows, m.cols) for b, m in work.arch.matrices("text") if m.role == "experts"}
    added = np.zeros(len(rows.names))
    for i in np.flatnonzero((rows.role == "experts") & (rows.formats == "mxfp4")).tolist():
        out, wide = widths[rows.names[i]]
        if out == hidden and not work.layout.expert_parallel:
            wide = max(round(wide * float(work.device_share[i])), 1)
        added[i] = rows.params[i] * work.device_share[i] / 2 * (math.ceil(wide / TILE) * TILE / wide - 1)
    return [float(x) for x in work.by_stage(added)]


def copied_bytes(work: Work) -> list[float]:
    """Bytes of the 16-bit copies that latent attention keeps of a quantized `kv_b_proj`, on a device of each stage.

    Source: vLLM attention/backends/mla (W_UK and W_UV; of an unquantized matrix they are views).
    """
    rows = work.rows
    absorbed = np.array([name.endswith("kv_b_proj") for name in rows.names], bool)
    quantized = ~np.isin(rows.formats, ("bf16", "fp16", "fp32"))
    return [float(x) for x in work.by_stage(np.where(absorbed & quantized, 2 * rows.params * work.device_share, 0.0))]


@lru_cache(maxsize=512)
def tables_bytes(work: Work, engine: Engine) -> tuple[float, ...]:
    """Bytes beyond the checkpoint's own on a device of each pipeline stage: tables, tiles, copies, rounding."""
    if not engine.torch_allocator:
        return (0.0,) * work.layout.pipeline
    table = rotary_bytes(work.arch, engine.rotary_bytes)
    parts = zip(rounding_bytes(work), padded_bytes(work), copied_bytes(work), strict=True)
    return tuple(table + sum(part) for part in parts)
