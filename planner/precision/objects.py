"""Quantization configs made of nested objects: AMD Quark and torchao."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.errors import ConfigError
from planner.precision import layouts
from planner.precision.layouts import Compute, Layout
from planner.precision.names import Names
from planner.precision.schemes import WHERE, Scheme, group_size, names, section, unclear


def _quark_layout(entry: Mapping[str, Any]) -> Layout | None:
    weight = entry.get("weight")
    if isinstance(weight, (list, tuple)):
        weight = weight[0] if weight else None
    if not isinstance(weight, Mapping):
        return None
    kind = str(weight.get("dtype", "")).lower()
    scheme = str(weight.get("qscheme", ""))
    activations = bool(entry.get("input_tensors"))
    if kind in ("fp4", "mxfp4"):
        return layouts.grouped(
            "mxfp4", 4, group_size(weight, WHERE, 32), "fp4" if activations else "fp16", scale_bytes=1
        )
    if kind.startswith("fp8"):
        compute: Compute = "fp8" if activations else "fp16"
        if scheme == "per_group":
            return layouts.grouped("mxfp8", 8, group_size(weight, WHERE, 32), compute, scale_bytes=1)
        if scheme == "per_channel":
            return layouts.per_channel("fp8", compute, 4)
        return layouts.per_tensor("fp8", compute, 8 if activations else 4)
    if kind in ("int8", "uint8"):
        return layouts.per_channel("int8", "int8" if activations else "fp16", 4)
    if kind in ("int4", "uint4"):
        return layouts.grouped(
            "int4", 4, group_size(weight, WHERE), zero_bits=0 if weight.get("symmetric", True) else 4
        )
    raise ConfigError(
        f"{WHERE} names the weight type {kind[:40]!r}; expected fp4, mxfp4, fp8, int8 or int4. "
        "Choose the weights' format yourself."
    )


def quark(config: Mapping[str, Any]) -> Scheme:
    """AMD Quark: `global_quant_config`, exceptions in `layer_quant_config`, `exclude`."""
    whole = section(config, "global_quant_config")
    layout = _quark_layout(whole)
    overrides = tuple(
        (Names([pattern]), _quark_layout(entry))
        for pattern, entry in section(config, "layer_quant_config").items() if isinstance(entry, Mapping)
    )  # fmt: skip
    ignored = Names(names(config, "exclude"))
    if layout is None and not overrides:
        raise ConfigError(f"{WHERE}.global_quant_config has no `weight`; choose the weights' format yourself.")
    export = section(config, "export")
    kv = "fp8" if export.get("kv_cache_group") or config.get("kv_cache_quant_config") else None
    main = layout or next((one for _, one in overrides if one), None)
    label = main.label.upper() if main else "16 bit"
    bits = 4.0 if "4" in label else 8.0
    return Scheme("quark", label, bits, layout, None, overrides, ignored, head=True, kv=kv,
                  warnings=unclear(ignored, *(n for n, _ in overrides)))  # fmt: skip


def _torchao_layout(kind: str, options: Mapping[str, Any]) -> Layout | None:
    low = kind.lower().replace("_", "")
    group = group_size(options, WHERE, 128)
    if low in ("", "none"):
        return None
    if "fp4" in low:
        return layouts.nvfp4() if "nv" in low else layouts.mxfp4()
    if "float8" in low or "fp8" in low:
        return layouts.per_channel("fp8", "fp16" if "weightonly" in low else "fp8", 4)
    if "int4" in low or "uint4" in low or "intx" in low or "uintx" in low:
        return layouts.grouped("int4", 4, group, scale_bytes=4)  # scale and zero point, bf16 each
    if "int8" in low:
        dynamic = "dynamicactivation" in low and "int8weight" in low
        return layouts.per_channel("int8", "int8" if dynamic else "fp16", 4)
    raise ConfigError(
        f"{WHERE}.quant_type is {kind[:40]!r}; expected an int4, int8, float8 or fp4 config of torchao. "
        "Choose the weights' format yourself."
    )


def torchao(config: Mapping[str, Any]) -> Scheme:
    """torchao: `quant_type` a name with `quant_type_kwargs`, or a config object, or a table of modules."""
    kind = config.get("quant_type")
    overrides: tuple[tuple[Names, Layout | None], ...] = ()
    if isinstance(kind, Mapping):
        entry = section(kind, "default") or kind
        inner = section(entry, "_data")
        table = section(section(inner, "module_fqn_to_config"), "_data") or section(inner, "module_fqn_to_config")
        if table:
            overrides = tuple(
                (Names([module]), _torchao_layout(str(section(table, module).get("_type", "")),
                                                  section(section(table, module), "_data")))
                for module in table if module != "_default"
            )  # fmt: skip
            entry = section(table, "_default")
            inner = section(entry, "_data")
        layout = _torchao_layout(str(entry.get("_type", "")), inner)
    else:
        layout = _torchao_layout(str(kind or ""), section(config, "quant_type_kwargs"))
    if layout is None and not overrides:
        raise ConfigError(f"{WHERE}.quant_type is missing; choose the weights' format yourself.")
    ignored = Names(names(config, "modules_to_not_convert"))
    main = layout or next((one for _, one in overrides if one), None)
    label = main.label.upper() if main else "16 bit"
    bits = 4.0 if "4" in label else 8.0
    return Scheme("torchao", label, bits, layout, None, overrides, ignored, warnings=unclear(ignored))
