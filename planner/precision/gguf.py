"""GGUF: llama.cpp's block types and the mixes that its file types make of them.

Block sizes are those of ggml-common.h; which tensor gets which type follows llama_tensor_get_type in
llama.cpp's src/llama-quant.cpp (2025), for files made without an importance matrix.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from planner.architecture.ledger import Architecture, Matrix
from planner.precision.layouts import Layout, pieces

# type: (weights per block, bytes per block)
BLOCKS: Final[dict[str, tuple[int, int]]] = {
    "F32": (1, 4), "F16": (1, 2), "Q8_0": (32, 34), "Q6_K": (256, 210), "Q5_K": (256, 176), "Q5_1": (32, 24),
    "Q5_0": (32, 22), "Q4_K": (256, 144), "Q4_1": (32, 20), "Q4_0": (32, 18), "IQ4_NL": (32, 18), "Q3_K": (256, 110),
    "Q2_K": (256, 84), "MXFP4": (32, 17),
}  # fmt: skip

# Types used instead when a row is no multiple of 256 weights.
FALLBACK: Final = {"Q6_K": "Q8_0", "Q5_K": "Q5_1", "Q4_K": "Q5_0", "Q3_K": "IQ4_NL", "Q2_K": "IQ4_NL"}

BASE: Final = {
    "Q8_0": "Q8_0", "Q6_K": "Q6_K", "Q5_K_M": "Q5_K", "Q4_K_M": "Q4_K", "Q4_0": "Q4_0", "Q3_K_M": "Q3_K",
    "Q2_K": "Q2_K", "MXFP4_MOE": "Q8_0",
}  # fmt: skip

# Kept at 32 bit: small, and read element by element.
_KEPT = re.compile(r"altup|laurel|per_layer_model_projection|time_mix|relative_attention_bias")
_VALUE = re.compile(r"\b(v_proj|wv|value)$")
_KEY = re.compile(r"\b(k_proj|wk|key)$")
_OUT = re.compile(r"(\bo_proj|out_proj|out_lin|\bdense|c_proj|\bwo)$")
_FUSED = re.compile(r"(qkv_proj|query_key_value|c_attn|Wqkv|W_pack|wqkv|qkv)$")
_DOWN = re.compile(r"(down_proj|w2|fc2|fc_out|c_proj|dense_4h_to_h|output_linear|\bwo|down)$")


@dataclass(frozen=True)
class Shape:
    """What the mixing rules look at in a model."""

    layers: int
    group: float
    experts: int
    tied: bool
    falcon: bool

    @staticmethod
    def of(arch: Architecture) -> Shape:
        """The shape of a model."""
        experts = max((m.copies for _, m in arch.matrices("text") if m.role == "experts"), default=0)
        return Shape(arch.n_layers, arch.heads / max(arch.kv_heads, 1), experts, arch.tied, arch.model_type == "falcon")


def block_layout(kind: str) -> Layout:
    """Layout of one block type."""
    weights, size = BLOCKS[kind]
    return Layout(kind, "fp16", lambda rows, cols: rows * pieces(cols, weights) * size)


LAYOUTS: Final = {kind: block_layout(kind) for kind in BLOCKS}


def mix_layout(file_type: str, matrix: Matrix, path: str, layer: int, shape: Shape) -> Layout:
    """Layout of a matrix of a text model in a file of type such as Q4_K_M.

    path   the matrix's checkpoint name
    layer  its layer number
    """
    if matrix.kind in ("vector", "conv") or matrix.role in ("norm", "router", "positions") or _KEPT.search(path):
        return LAYOUTS["F32"]
    kind = _kind(file_type, matrix, path, layer, shape)
    if matrix.cols % BLOCKS[kind][0]:
        kind = FALLBACK.get(kind, "F16")
        if matrix.cols % BLOCKS[kind][0]:
            kind = "F16"
    return LAYOUTS[kind]


def more_bits(layer: int, layers: int) -> bool:
    """Whether a layer is among the half that the M mixes favour: the first and last eighth, and each third between."""
    return layer < layers // 8 or layer >= 7 * layers // 8 or (layer - layers // 8) % 3 == 2


def _kind(file_type: str, matrix: Matrix, path: str, layer: int, shape: Shape) -> str:
    base = BASE[file_type]
    if matrix.role == "head" or (matrix.role == "embedding" and shape.tied):
        if file_type in ("Q8_0", "MXFP4_MOE") or shape.falcon or matrix.cols % BLOCKS[base][0]:
            return "Q8_0"
        return "Q6_K"
    if file_type == "MXFP4_MOE":
        return "MXFP4" if matrix.role == "experts" else "Q8_0"
    if file_type in ("Q8_0", "Q6_K", "Q4_0"):
        # These three are uniform, but for the head and an eight-expert model's keys and values.
        return "Q8_0" if shape.experts == 8 and _is_kv(matrix, path) else base
    if matrix.role == "attention":
        return _attention(file_type, base, path, layer, shape)
    if matrix.role in ("mlp", "experts", "shared") and _DOWN.search(path):
        return _down(file_type, base, layer, shape)
    return base


def _is_kv(matrix: Matrix, path: str) -> bool:
    return matrix.role == "attention" and bool(_VALUE.search(path) or _KEY.search(path))


def _attention(file_type: str, base: str, path: str, layer: int, shape: Shape) -> str:
    eight = shape.experts == 8
    if _FUSED.search(path):
        return {"Q3_K_M": "Q4_K", "Q4_K_M": "Q5_K", "Q5_K_M": "Q6_K"}.get(file_type, base)
    if _VALUE.search(path):
        kind = base
        if file_type == "Q2_K":
            kind = "Q4_K" if shape.group >= 4 else "Q3_K"
        elif file_type == "Q3_K_M":
            kind = "Q5_K" if layer < 2 else "Q4_K"
        elif more_bits(layer, shape.layers):
            kind = "Q6_K"
        if shape.layers == 80 and kind in ("Q3_K", "Q4_K"):
            kind = "Q5_K"  # models of 80 layers count as 70B, whose values are small enough to be worth it
        return "Q8_0" if eight else kind
    if _KEY.search(path):
        return "Q8_0" if eight else base
    if _OUT.search(path) and not shape.falcon:
        if eight:
            return "Q5_K" if file_type in ("Q2_K", "Q3_K_M", "Q4_K_M") else base
        return {"Q2_K": "Q3_K", "Q3_K_M": "Q4_K"}.get(file_type, base)
    return base


def _down(file_type: str, base: str, layer: int, shape: Shape) -> str:
    more = more_bits(layer, shape.layers)
    if file_type == "Q2_K":
        return "Q3_K"
    if file_type == "Q3_K_M":
        if layer < shape.layers // 16:
            return "Q5_K"
        return "Q4_K" if more or not shape.falcon else "Q3_K"
    if file_type == "Q4_K_M" and shape.falcon:
        return "Q6_K" if layer < shape.layers // 16 else "Q5_K" if more else "Q4_K"
    return "Q6_K" if more else base
