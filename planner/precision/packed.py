"""Integer weights in groups: GPTQ, AWQ, AutoRound and MLX."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.precision import layouts
from planner.precision.layouts import Layout
from planner.precision.names import Names
from planner.precision.schemes import SKIP_KEYS, WHERE, Scheme, group_size, names, section, stated_bits, unclear


def gptq(config: Mapping[str, Any]) -> Scheme:
    """GPTQ; GPTQModel's `dynamic` gives modules other bits (`+:`) or leaves them alone (`-:`)."""
    bits, group = stated_bits(config, 4), group_size(config, WHERE)
    overrides: list[tuple[Names, Layout | None]] = []
    for pattern, entry in section(config, "dynamic").items():
        sign, expression = (pattern[:2], pattern[2:]) if pattern[:2] in ("+:", "-:") else ("+:", pattern)
        layout = None
        if sign == "+:":
            merged = {"bits": bits, "group_size": group, **(entry if isinstance(entry, Mapping) else {})}
            layout = layouts.gptq(stated_bits(merged), group_size(merged, WHERE))
        overrides.append((Names([expression], always_regex=True), layout))
    ignored = Names(names(config, *SKIP_KEYS))
    warnings = unclear(ignored, *(n for n, _ in overrides))
    return Scheme("gptq", f"GPTQ {bits:g}-bit", bits, layouts.gptq(bits, group), group, tuple(overrides), ignored,
                  head=config.get("lm_head") is True, warnings=warnings)  # fmt: skip


def awq(config: Mapping[str, Any]) -> Scheme:
    """AWQ, also with its old keys `w_bit` and `q_group_size`."""
    bits, group = stated_bits(config, 4), group_size(config, WHERE)
    ignored = Names(names(config, *SKIP_KEYS))
    layout = layouts.awq(bits, group, config.get("zero_point", True) is not False)
    return Scheme("awq", f"AWQ {bits:g}-bit", bits, layout, group, (), ignored, warnings=unclear(ignored))


def auto_round(config: Mapping[str, Any]) -> Scheme:
    """AutoRound: GPTQ or AWQ packing; `extra_config` gives single modules other bits (16: left alone)."""
    bits, group = stated_bits(config, 4), group_size(config, WHERE)
    pack = layouts.awq if "awq" in str(config.get("packing_format", "")) else layouts.gptq
    overrides: list[tuple[Names, Layout | None]] = []
    for module, entry in section(config, "extra_config").items():
        merged = {"bits": bits, "group_size": group, **(entry if isinstance(entry, Mapping) else {})}
        other = stated_bits(merged)
        regex = any(c in module for c in "*+()\\")
        overrides.append(
            (Names([module], always_regex=regex), None if other >= 16 else pack(other, group_size(merged, WHERE)))
        )  # fmt: skip
    ignored = Names(names(config, *SKIP_KEYS))
    return Scheme("auto-round", f"AutoRound {bits:g}-bit", bits, pack(bits, group), group, tuple(overrides), ignored,
                  warnings=unclear(ignored, *(n for n, _ in overrides)))  # fmt: skip


def mlx(config: Mapping[str, Any]) -> Scheme:
    """Apple MLX: scale and offset, 16 bit each, per group; embeddings and head too; single modules at other bits.

    Its section has `bits` and `group_size`, names no method, and holds exceptions by module name.
    """
    bits, group = stated_bits(config, 4), group_size(config, WHERE, 64)
    overrides: list[tuple[Names, Layout | None]] = []
    for module, entry in config.items():
        if isinstance(entry, Mapping) or (entry is False and "." in module):
            own = {"bits": bits, "group_size": group, **entry} if isinstance(entry, Mapping) else None
            layout = _mlx_layout(stated_bits(own), group_size(own, WHERE, 64)) if own else None
            overrides.append((Names([module]), layout))
    return Scheme("mlx", f"MLX {bits:g}-bit", bits, _mlx_layout(bits, group), group, tuple(overrides),
                  head=True, embeddings=True, warnings=unclear(*(n for n, _ in overrides)))  # fmt: skip


def _mlx_layout(bits: float, group: int) -> Layout:
    return layouts.grouped(f"mlx {bits:g}-bit", bits, group, scale_bytes=4)
