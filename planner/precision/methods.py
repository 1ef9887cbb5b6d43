"""Every published form of `quantization_config` -> Scheme; the entry is `read_scheme`.

Layouts are those of the libraries that write them (AutoGPTQ and GPTQModel, AutoAWQ, bitsandbytes, HQQ, EETQ, FBGEMM,
AQLM, transformers' fp8 and mxfp4 integrations); names follow the transformers documentation of quantization configs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from planner.errors import ConfigError
from planner.precision import layouts
from planner.precision.groups import compressed_tensors, modelopt
from planner.precision.layouts import Layout
from planner.precision.names import Names
from planner.precision.objects import quark, torchao
from planner.precision.packed import auto_round, awq, gptq, mlx
from planner.precision.schemes import (
    SKIP_KEYS,
    WHERE,
    Scheme,
    group_size,
    kv_cache,
    names,
    number,
    section,
    stated_bits,
    table_of,
    unclear,
)

# Other spellings of a method.
ALIASES: Final = {
    "bnb": "bitsandbytes", "gptq_marlin": "gptq", "gptqmodel": "gptq", "marlin": "gptq", "awq_marlin": "awq",
    "auto_round": "auto-round", "autoround": "auto-round", "intel/auto-round": "auto-round", "inc": "auto-round",
    "fp8_e4m3": "fp8", "finegrained_fp8": "fp8", "modelopt_fp4": "modelopt", "modelopt_mixed": "modelopt",
    "modelopt_mxfp8": "modelopt", "compressed_tensors": "compressed-tensors", "fbgemm": "fbgemm_fp8",
    "gpt_oss_mxfp4": "mxfp4",
}  # fmt: skip


def fp8(config: Mapping[str, Any]) -> Scheme:
    """fp8 of transformers and vLLM: tiles (`weight_block_size`) or one scale per matrix."""
    block = config.get("weight_block_size")
    ignored = Names(names(config, *SKIP_KEYS))
    static = config.get("activation_scheme") == "static"
    if block is None:
        layout = layouts.per_tensor("fp8", "fp8", 8 if static else 4)
    else:
        good = isinstance(block, (list, tuple)) and len(block) == 2
        if not good or not all(isinstance(b, int) and 0 < b < 2**20 for b in block):
            raise ConfigError(
                f"{WHERE}.weight_block_size is {str(block)[:40]}; expected two whole numbers such as [128, 128]. "
                "Correct it, or choose the weights' format yourself."
            )
        layout = layouts.fp8_block(block[0], block[1], 1 if config.get("scale_fmt") == "ue8m0" else 4)
    scheme = Scheme("fp8", "FP8", 8, layout, None, (), ignored, warnings=unclear(ignored))
    table = table_of(config)
    if table:
        # A ModelOpt table beside the tiles (DeepSeek-V4 NVFP4): its `ignore` tells what kept the tiles, not 16 bit.
        kept = Names(names(config, "modules_to_not_convert"))
        scheme = replace(scheme, label="FP8 with NVFP4 experts", overrides=modelopt(config).overrides, ignored=kept)
    return scheme


def mxfp4(config: Mapping[str, Any]) -> Scheme:
    """mxfp4 of gpt-oss: the experts, nothing else."""
    ignored = Names(names(config, *SKIP_KEYS))
    experts = Names(["experts"])
    return Scheme("mxfp4", "MXFP4", 4, None, 32, ((experts, layouts.mxfp4()),), ignored, warnings=unclear(ignored))


def bitsandbytes(config: Mapping[str, Any]) -> Scheme:
    """bitsandbytes: LLM.int8() or 4 bit (nf4, fp4), the maxima themselves quantized or not."""
    ignored = Names(names(config, *SKIP_KEYS))
    if config.get("load_in_4bit") or config.get("_load_in_4bit"):
        double = bool(config.get("bnb_4bit_use_double_quant"))
        kind = str(config.get("bnb_4bit_quant_type") or "fp4").upper()
        return Scheme("bitsandbytes", f"bitsandbytes {kind}", 4, layouts.bitsandbytes4(double), 64, (), ignored,
                      towers=True, warnings=unclear(ignored))  # fmt: skip
    layout = layouts.per_channel("bnb int8", "int8", 4)
    return Scheme(
        "bitsandbytes", "bitsandbytes INT8", 8, layout, None, (), ignored, towers=True, warnings=unclear(ignored)
    )


def hqq(config: Mapping[str, Any]) -> Scheme:
    """HQQ: scale and zero point, 16 bit each, per group; one setting, or one per kind of module."""
    whole = section(config, "quant_config")
    ignored = Names(names(config, *SKIP_KEYS))

    def layout(entry: Mapping[str, Any]) -> Layout:
        weights = section(entry, "weight_quant_params") or entry
        bits = stated_bits(weights, 4)
        return layouts.grouped(f"hqq {bits:g}-bit", bits, group_size(weights, WHERE, 64), scale_bytes=4)

    if whole and "weight_quant_params" not in whole and all(isinstance(v, Mapping) for v in whole.values()):
        overrides = tuple((Names([module]), layout(entry)) for module, entry in whole.items())
        return Scheme("hqq", "HQQ", None, None, None, overrides, ignored, warnings=unclear(ignored))
    main = layout(whole or config)
    weights = section(whole, "weight_quant_params") or whole or config
    bits = stated_bits(weights, 4)
    return Scheme(
        "hqq", f"HQQ {bits:g}-bit", bits, main, group_size(weights, WHERE, 64), (), ignored, warnings=unclear(ignored)
    )


def aqlm(config: Mapping[str, Any]) -> Scheme:
    """AQLM: additive code books."""

    def get(key: str, default: int, most: int) -> int:
        return int(number(config, (key,), default, WHERE, 1, most) or default)

    code, books = get("nbits_per_codebook", 16, 16), get("num_codebooks", 1, 16)
    group_in, group_out = get("in_group_size", 8, 1024), get("out_group_size", 1, 1024)
    bits = code * books / (group_in * group_out)
    ignored = Names(names(config, *SKIP_KEYS))
    layout = layouts.aqlm(code, books, group_in, group_out)
    return Scheme("aqlm", f"AQLM {bits:g}-bit", bits, layout, group_in, ignored=ignored, warnings=unclear(ignored))


def _uniform(method: str, label: str, bits: float, layout: Layout) -> Callable[[Mapping[str, Any]], Scheme]:
    def read(config: Mapping[str, Any]) -> Scheme:
        ignored = Names(names(config, *SKIP_KEYS))
        return Scheme(method, label, bits, layout, None, (), ignored, warnings=unclear(ignored))

    return read


def quanto(config: Mapping[str, Any]) -> Scheme:
    """optimum-quanto: `weights` int8, int4, int2 or float8."""
    kind = str(config.get("weights", "int8"))
    if "8" in kind:
        layout, bits = layouts.per_channel(kind, "fp16"), 8.0
    else:
        bits = 2.0 if "2" in kind else 4.0
        layout = layouts.grouped(kind, bits, 128, scale_bytes=4)
    return _uniform("quanto", f"Quanto {kind}", bits, layout)(config)


def exl(config: Mapping[str, Any]) -> Scheme:
    """ExLlama's exl2 and exl3: a stated average of bits, the head at its own."""
    bits = stated_bits(config, None)
    head = number(config, ("head_bits", "lm_head_bits"), 6, WHERE, 1, 16) or 6
    overrides = ((Names(["lm_head"]), layouts.plain(f"exl {head:g}-bit", head / 8)),)
    method = str(config.get("quant_method"))
    return Scheme(method, f"{method.upper()} {bits:g} bits", bits, layouts.plain(f"exl {bits:g}-bit", bits / 8), None,
                  overrides, head=True)  # fmt: skip


METHODS: Final[dict[str, Callable[[Mapping[str, Any]], Scheme]]] = {
    "fp8": fp8, "mxfp4": mxfp4, "gptq": gptq, "awq": awq, "auto-round": auto_round, "bitsandbytes": bitsandbytes,
    "hqq": hqq, "aqlm": aqlm, "compressed-tensors": compressed_tensors, "modelopt": modelopt, "quark": quark,
    "torchao": torchao, "mlx": mlx, "quanto": quanto, "exl2": exl, "exl3": exl,
    "fbgemm_fp8": _uniform("fbgemm_fp8", "FP8", 8, layouts.per_channel("fp8", "fp8", 4)),
    "ptpc_fp8": _uniform("ptpc_fp8", "FP8", 8, layouts.per_channel("fp8", "fp8", 4)),
    "eetq": _uniform("eetq", "INT8", 8, layouts.per_channel("int8", "fp16")),
    "bitnet": _uniform("bitnet", "ternary", 2, layouts.grouped("ternary", 2, -1, scale_bytes=0, extra=2)),
    "mxfp8": _uniform("mxfp8", "MXFP8", 8, layouts.mxfp8()),
    "nvfp4": _uniform("nvfp4", "NVFP4", 4, layouts.nvfp4()),
}  # fmt: skip


def _method(config: Mapping[str, Any]) -> str:
    """The method, from its key or from keys that only one method has."""
    stated = config.get("quant_method") or config.get("quantization_method") or config.get("quant_type_name")
    if isinstance(stated, str) and stated.strip():
        low = stated.strip().lower()
        return ALIASES.get(low, low)
    if config.get("load_in_4bit") or config.get("load_in_8bit") or config.get("_load_in_4bit"):
        return "bitsandbytes"
    if config.get("quant_algo"):
        return "modelopt"
    if section(config, "config_groups"):
        return "compressed-tensors"
    if "w_bit" in config or "zero_point" in config:
        return "awq"
    if "bits" in config and ("desc_act" in config or "sym" in config):
        return "gptq"
    if "weight_block_size" in config:
        return "fp8"
    if "bits" in config and "group_size" in config:
        return "mlx"
    return ""


def _unknown(config: Mapping[str, Any], method: str) -> Scheme:
    said = f"{WHERE}.quant_method is {method[:40]!r}" if method else f"{WHERE} names no quant_method"
    bits = number(config, ("bits", "w_bit", "wbits", "num_bits", "nbits", "weight_bits"), None, WHERE, 1, 16)
    if bits is None:
        raise ConfigError(
            f"{said} and no `bits`, so the size of the weights is unknown; expected one of {', '.join(METHODS)}. "
            "Add `bits`, or choose the weights' format yourself."
        )
    group = group_size(config, WHERE)
    ignored = Names(names(config, *SKIP_KEYS))
    warning = (
        f"{said}, which the planner does not know: a guess of {bits:g} bits per weight with a 16-bit scale per "
        f"{group if group > 0 else 'row of'} weights is used."
    )
    return Scheme(method or "unknown", f"{method or 'unknown'} {bits:g}-bit (a guess)", bits,
                  layouts.grouped(f"{bits:g}-bit", bits, group), group, (), ignored,
                  warnings=(warning, *unclear(ignored)))  # fmt: skip


def read_scheme(config: Mapping[str, Any]) -> Scheme:
    """The Scheme of a quantization_config.

    With it may stand `hf_quant_config` (the side file) and `expert_dtype`, "fp4" where the model's config says that
    experts are FP4 although the method says fp8 (DeepSeek-V4).
    Raises ConfigError with one sentence when the size cannot be known.
    """
    side = section(config, "hf_quant_config")
    side = section(side, "quantization") or side
    own = {k: v for k, v in config.items() if k != "hf_quant_config"}
    if not own.keys() - {"expert_dtype"} or (
        isinstance(own.get("quantization"), Mapping) and "quant_method" not in own
    ):
        return modelopt(side or section(own, "quantization"))  # only the side file describes it
    if side.get("quantized_layers") and not own.get("quantized_layers") and _method(own) == "modelopt":
        own = {**own, **side}  # the per-layer table is in the side file only
    method = _method(own)
    scheme = METHODS[method](own) if method in METHODS else _unknown(own, method)
    if own.get("expert_dtype") == "fp4" and not scheme.overrides:
        scheme = replace(
            scheme, label="FP8 with FP4 experts", bits=4.0, overrides=((Names(["experts"]), layouts.mxfp4()),)
        )
    if side:
        names(side, "exclude_modules")  # the config's own list decides, but a malformed one is said
        table_of(side)
    if scheme.kv is None and side:
        kv, unknown = kv_cache(side)
        scheme = replace(scheme, kv=kv, warnings=scheme.warnings + unknown)
    return scheme
