"""What was read from a config, as one object: parameters by part, caches by class, keys, quantization."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from planner.architecture.ledger import Architecture, Block, Matrix
from planner.errors import PlannerError
from planner.precision import checkpoint_bytes, describe_quantization

# Names of the parts in the breakdown, in the order shown; they sum to the total.
PARTS: Final = (
    "embedding", "per-layer embedding", "positions", "attention", "indexer", "mixer", "MLP", "experts", "shared",
    "router", "norm", "head", "vision", "audio", "projector", "other",
)  # fmt: skip


def inspect(arch: Architecture) -> dict[str, Any]:
    """Everything the planner read about a model: counts of parameters and elements, bytes of the checkpoint.

    `weight_bytes` is null with a warning where the checkpoint's quantization cannot be sized.
    """
    warnings = list(arch.warnings)
    weight_bytes, quantization = None, None
    try:
        weight_bytes, quantization = checkpoint_bytes(arch), describe_quantization(arch)
    except PlannerError as error:
        warnings.append(str(error))
    return {
        "name": arch.name,
        "model_type": arch.model_type,
        "recognised": arch.recognised,
        "total_params": arch.total_params,
        "text_params": arch.text_params,
        "nontext_params": arch.nontext_params,
        "embedding_params": arch.embedding_params,
        "lm_head_params": arch.lm_head_params,
        "tied_lm_head": arch.tied,
        "active_params": arch.active_params,
        "mtp_params": arch.mtp_params,
        "parts": parts(arch),
        "n_layers": arch.n_layers,
        "max_positions": arch.max_positions,
        "dtype": arch.dtype,
        "kv_elements_per_token": arch.kv_elements_per_token,
        "recurrent_state_elements_per_sequence": arch.recurrent_state_elements_per_sequence,
        "indexer_elements_per_token": arch.indexer_elements_per_token,
        "cache": caches(arch),
        "weight_bytes": weight_bytes,
        "quantization": quantization,
        "keys": {"used": list(arch.keys.used), "defaulted": arch.keys.defaulted, "ignored": list(arch.keys.ignored)},
        "warnings": warnings,
    }


def parts(arch: Architecture) -> dict[str, int]:
    """Parameters by part of the model, in the order of `PARTS`; they sum to the total."""
    sums: dict[str, int] = defaultdict(int)
    for block, matrix in arch.matrices():
        sums[_part(block, matrix)] += matrix.params * block.count
    return {name: sums[name] for name in PARTS if sums[name]}


def caches(arch: Architecture) -> list[dict[str, Any]]:
    """Classes of layers by what each keeps of a sequence: elements are those of one layer; index keys are apart."""
    classes: dict[tuple[str, int | None, int, int], int] = defaultdict(int)
    for block in arch.blocks:
        kept = [c for c in block.caches if c.role != "index"]
        if block.part == "mtp":
            continue
        for cache in kept:
            fixed = cache.fixed
            if cache.kind == "state":
                if cache is not next(c for c in kept if c.kind == "state"):
                    continue
                fixed = sum(c.fixed for c in kept if c.kind == "state")
            classes[cache.kind, cache.window, cache.elements, fixed] += block.count
    return [
        {"kind": kind, "window": window, "layers": layers, "elements_per_token": elements, "fixed_elements": fixed}
        for (kind, window, elements, fixed), layers in classes.items()
    ]


def _part(block: Block, matrix: Matrix) -> str:
    if block.part in ("vision", "audio", "projector"):
        return block.part
    return "MLP" if matrix.role == "mlp" else matrix.role
