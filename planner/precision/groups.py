"""Quantization configs that describe groups of modules: compressed-tensors and ModelOpt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.architecture.keys import shown
from planner.errors import ConfigError
from planner.precision import layouts
from planner.precision.layouts import Compute, Layout
from planner.precision.names import Names
from planner.precision.schemes import WHERE, Scheme, group_size, kv_cache, names, number, section, table_of, unclear

CLASSES = frozenset({"Linear", "LinearBase", "FusedMoE", "ParallelLMHead", "Conv1D"})


def described(weights: Mapping[str, Any], activations: Any, form: str, scale_bytes: int = 2) -> Layout:
    """Layout of a compressed-tensors style description (num_bits, type, strategy, group_size).

    activations  the description of input activations; none means the product runs at 16 bit
    form         the group's or config's `format`
    """
    bits = number(weights, ("num_bits",), 8, WHERE)
    assert bits is not None
    floating = str(weights.get("type", "int")) == "float"
    group = weights.get("group_size")
    strategy = str(weights.get("strategy") or ("group" if group else "tensor"))
    narrow = isinstance(activations, Mapping)
    if floating and bits == 4:
        size = group_size(weights, WHERE, 32 if "mx" in form else 16)
        compute: Compute = "fp16" if not narrow else "fp8" if activations.get("num_bits") == 8 else "fp4"
        if "mx" in form or size == 32:
            return layouts.grouped("mxfp4", 4, size, compute, scale_bytes=1)
        return layouts.nvfp4(compute, size)
    if bits == 8:
        compute = ("fp8" if floating else "int8") if narrow else "fp16"
        label = "fp8" if floating else "int8"
        block = weights.get("block_structure")
        if floating and strategy == "group":
            return layouts.grouped("mxfp8", 8, group_size(weights, WHERE, 32), compute, scale_bytes=1)
        if strategy == "group":
            return layouts.grouped("int8", 8, group_size(weights, WHERE), compute, extra=16)
        if strategy == "block":
            good = isinstance(block, (list, tuple)) and len(block) == 2 and all(isinstance(b, int) for b in block)
            rows, cols = (block[0], block[1]) if good and block else (128, 128)
            return layouts.fp8_block(rows, cols, scale_bytes)
        if strategy == "tensor":
            return layouts.per_tensor(label, compute, scale_bytes)
        return layouts.per_channel(label, compute, scale_bytes)
    size = group_size(weights, WHERE, -1) if strategy == "group" else -1
    zeros = 0 if weights.get("symmetric", True) else bits
    return layouts.grouped(f"int{bits:g}", bits, size, extra=16, zero_bits=zeros)


def compressed_tensors(config: Mapping[str, Any]) -> Scheme:
    """compressed-tensors: `config_groups` with targets, `ignore`, `kv_cache_scheme`."""
    groups = [g for g in section(config, "config_groups").values() if isinstance(g, Mapping)]
    if not groups:
        raise ConfigError(
            f"{WHERE}.config_groups is missing or empty; expected at least one group with `weights`. "
            "Paste the whole config, or choose the weights' format yourself."
        )
    form = str(config.get("format", ""))
    default: Layout | None = None
    overrides: list[tuple[Names, Layout | None]] = []
    for group in groups:
        weights = group.get("weights")
        if not isinstance(weights, Mapping):
            continue
        layout = described(weights, group.get("input_activations"), str(group.get("format") or form))
        targets = names(group, "targets") or ["Linear"]
        named = [t for t in targets if t not in CLASSES]
        if len(named) < len(targets):
            default = default or layout
        if named:
            overrides.append((Names(named), layout))
    main = default or (overrides[0][1] if overrides else None)
    ignored = Names(names(config, "ignore"))
    first: Mapping[str, Any] = next((g["weights"] for g in groups if isinstance(g.get("weights"), Mapping)), {})
    group_of = first.get("group_size")
    warnings = unclear(ignored, *(n for n, _ in overrides))
    kv, unknown_kv = kv_cache(config)
    sparse = section(config, "sparsity_config").get("format")
    if sparse not in (None, "dense"):
        warnings += (
            f"{WHERE}.sparsity_config says {shown(sparse)}: pruned weights are sized as if they were dense.",
        )
    return Scheme(
        "compressed-tensors", main.label.upper() if main else "16 bit", number(first, ("num_bits",), 8, WHERE), default,
        group_of if isinstance(group_of, int) and group_of > 0 else None, tuple(overrides), ignored, head=True,
        towers=True, kv=kv, warnings=warnings + unknown_kv,
    )  # fmt: skip


# ModelOpt's names of algorithms. W4A16/W8A16: only the weights are narrow.
ALGORITHMS: dict[str, Layout] = {
    "FP8": layouts.per_tensor("fp8", "fp8", 8),
    "FP8_PER_CHANNEL_PER_TOKEN": layouts.per_channel("fp8", "fp8", 4),
    "FP8_PB_WO": layouts.fp8_block(),
    "FP8_PB_REAL": layouts.fp8_block(),
    "FP8_BLOCK_SCALES": layouts.fp8_block(),
    "NVFP4": layouts.nvfp4(),
    "NVFP4_AWQ": layouts.nvfp4(),
    "W4A8_NVFP4_FP8": layouts.nvfp4("fp8"),
    "W4A16_NVFP4": layouts.nvfp4("fp16"),
    "MXFP4": layouts.mxfp4(),
    "W4A8_MXFP4_FP8": layouts.grouped("mxfp4", 4, 32, "fp8", scale_bytes=1),
    "W4A16_MXFP4": layouts.grouped("mxfp4", 4, 32, "fp16", scale_bytes=1),
    "MXFP8": layouts.mxfp8(),
    "INT8_SQ": layouts.per_channel("int8", "int8", 4),
    "W8A8_SQ_PER_CHANNEL": layouts.per_channel("int8", "int8", 4),
    "W8A16": layouts.per_channel("int8", "fp16"),
    "INT4_AWQ": layouts.grouped("int4", 4, 128),
    "W4A16": layouts.grouped("int4", 4, 128),
    "W4A16_AWQ": layouts.grouped("int4", 4, 128),
    "W4A8_AWQ": layouts.grouped("int4", 4, 128, "fp8"),
}


def algorithm(name: Any) -> Layout | None:
    """Layout of a ModelOpt algorithm, None for one that is not known."""
    return ALGORITHMS.get(str(name).upper())


def _algorithm(name: Any) -> Layout:
    layout = algorithm(name)
    if layout is None:
        raise ConfigError(
            f"quant_algo is {shown(name)}, which the planner does not know; known are {', '.join(ALGORITHMS)}. "
            "Choose the weights' format yourself."
        )
    return layout


def modelopt(config: Mapping[str, Any], method: str = "modelopt") -> Scheme:
    """NVIDIA ModelOpt: `quant_algo` for all linear layers, or MIXED_PRECISION with a table `quantized_layers`.

    The same keys stand in quantization_config (`ignore`, `kv_cache_scheme`) and in hf_quant_config.json
    (`exclude_modules`, `kv_cache_quant_algo`).
    """
    name = str(config.get("quant_algo") or "").upper()
    table = table_of(config)
    ignored = Names(names(config, "ignore", "exclude_modules"))
    kv, unknown_kv = kv_cache(config)
    warnings = unclear(ignored) + unknown_kv
    if name == "MIXED_PRECISION" and not table:
        raise ConfigError(
            "quant_algo is MIXED_PRECISION, but quantized_layers, which gives each module its type, is missing or "
            "empty. Give the hf_quant_config.json beside the config, or choose the weights' format yourself."
        )
    if name in ("", "MIXED_PRECISION") and table:
        by_algorithm: dict[str, list[str]] = defaultdict(list)
        for module, entry in table.items():
            by_algorithm[str(entry.get("quant_algo", "")).upper()].append(module)
        largest_first = sorted(by_algorithm.items(), key=lambda item: -len(item[1]))
        overrides = tuple((Names(modules), _algorithm(a)) for a, modules in largest_first)
        label = "mixed " + " and ".join(sorted({layout.label.upper() for _, layout in overrides}))
        bits = min(4.0 if "4" in layout.label else 8.0 for _, layout in overrides)
        return Scheme(method, label, bits, None, overrides=overrides, ignored=ignored, kv=kv,
                      warnings=warnings)  # fmt: skip
    if not name and section(config, "config_groups"):
        inner = compressed_tensors(config)
        return replace(inner, method=method, ignored=ignored, towers=False, kv=kv)
    if not name and kv is not None:
        return Scheme(method, f"16-bit weights, {kv.upper()} KV cache", 16.0, None, kv=kv, warnings=warnings)
    if not name:
        raise ConfigError(
            "The ModelOpt quantization names neither quant_algo nor kv_cache_quant_algo, so it says nothing. Give the "
            "hf_quant_config.json beside the checkpoint, leave it out, or choose the weights' format yourself."
        )
    layout = _algorithm(name)
    bits = 4.0 if "4" in layout.label else 8.0
    group = 16 if layout.label == "nvfp4" else None
    return Scheme(method, layout.label.upper(), bits, layout, group, (), ignored, head=True, kv=kv,
                  warnings=warnings)  # fmt: skip
