"""What a checkpoint says about its own storage: weights, KV cache, and in words."""

from __future__ import annotations

from typing import Any, Final

from planner.architecture.ledger import Architecture
from planner.architecture.vocabulary import number_type
from planner.errors import ConfigError
from planner.precision import layouts
from planner.precision.layouts import Layout
from planner.precision.methods import read_scheme
from planner.precision.schemes import Scheme

_PLAIN: Final = {"fp32": layouts.FP32, "fp16": layouts.FP16, "fp8": layouts.plain("fp8", 1, "fp8")}


def checkpoint_scheme(arch: Architecture) -> Scheme | None:
    """The checkpoint's quantization, None where its config names none; ConfigError where it cannot be sized."""
    if not arch.quantization:
        return None
    kept = vars(arch)
    if "_scheme" not in kept:
        kept["_scheme"] = read_scheme(arch.quantization)
    scheme: Scheme = kept["_scheme"]
    return scheme


def default_layout(arch: Architecture) -> Layout:
    """Layout of what is not quantized: the config's dtype, bf16 where it says nothing.

    In a quantized checkpoint the dtype is the compute type, and what is left alone is at 16 bit.
    """
    layout = _PLAIN.get(number_type(arch.dtype) or "bf16", layouts.BF16)
    return layouts.BF16 if arch.quantization and layout is not layouts.FP16 else layout


def checkpoint_kv(arch: Architecture) -> str | None:
    """Key of KV_FORMATS that the checkpoint asks for, None where it says nothing, or nothing that can be read."""
    try:
        scheme = checkpoint_scheme(arch)
    except ConfigError:  # said where the weights are asked for as published
        return None
    return scheme.kv if scheme else None


def describe_quantization(arch: Architecture) -> dict[str, Any] | None:
    """What the checkpoint's quantization is, None where there is none.

    Keys: method, bits (nominal), group (weights per scale or None), label ("NVFP4 (from the checkpoint)"), kv (key of
    KV_FORMATS or None), kept (what is at 16 bit, in words), warnings (sentences).
    """
    scheme = checkpoint_scheme(arch)
    if scheme is None:
        return None
    left = ["embeddings", "norms", "routers"]
    head = next((b.prefix + m.name for b, m in arch.matrices("text") if m.role == "head"), None)
    matrix = next((m for _, m in arch.matrices("text") if m.role == "head"), None)
    if head and matrix and scheme.layout(matrix, "text", head) is None:
        left.insert(1, "output head")
    if _towers_kept(arch, scheme):
        left.append("vision and audio parts")
    roles = {
        "attention": "attention in some or all layers", "mixer": "linear-attention or state-space layers",
        "shared": "shared experts", "mlp": "some dense MLPs", "indexer": "indexers",
    }  # fmt: skip
    for role, words in roles.items():
        for block, m in arch.matrices("text"):
            path = (block.prefix + m.name).replace("{i}", str(block.layers[-1])).replace("{e}", "0")
            if m.role == role and m.kind == "linear" and scheme.layout(m, block.part, path) is None:
                left.append(words)
                break
    return {
        "method": scheme.method, "bits": scheme.bits, "group": scheme.group,
        "label": f"{scheme.label} (from the checkpoint)", "kv": scheme.kv,
        "kept": ", ".join(left), "warnings": list(scheme.warnings),
    }  # fmt: skip


def _towers_kept(arch: Architecture, scheme: Scheme) -> bool:
    """Whether every matrix product of the towers is at 16 bit, by the method's habit or by name."""
    towers = [(b, m) for b, m in arch.matrices("vision", "audio", "projector") if m.kind == "linear"]
    return bool(arch.nontext_params) and all(
        scheme.layout(m, b.part, (b.prefix + m.name).replace("{i}", str(b.layers[0]))) is None for b, m in towers
    )
