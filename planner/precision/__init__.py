"""Storage formats of weights and KV cache, and the bytes of every matrix in them.

`FORMATS` and `KV_FORMATS` are the choices; `weight_rows` gives a model's weights in one of them, or as its
checkpoint's own `quantization_config` says.
"""

from __future__ import annotations

from planner.architecture.ledger import Architecture
from planner.precision.checkpoint import checkpoint_kv, describe_quantization
from planner.precision.formats import FORMATS, Format, find_format
from planner.precision.kv import KV_FORMATS, KvFormat, find_kv_format
from planner.precision.layouts import Layout
from planner.precision.weights import Weights, weight_rows


def checkpoint_bytes(arch: Architecture, *, mtp: bool = False) -> int:
    """Bytes of the weights as the checkpoint stores them, bf16 where its config says nothing.

    mtp  with the multi-token-prediction layers
    Raises ConfigError with one sentence where its quantization cannot be sized.
    """
    return weight_rows(arch, "checkpoint", mtp=mtp).total_bytes


__all__ = [
    "FORMATS", "KV_FORMATS", "Format", "KvFormat", "Layout", "Weights", "checkpoint_bytes", "checkpoint_kv",
    "describe_quantization", "find_format", "find_kv_format", "weight_rows",
]  # fmt: skip
