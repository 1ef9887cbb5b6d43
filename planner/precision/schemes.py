"""A checkpoint's own quantization: which matrix is stored how.

A `Scheme` is what every form of `quantization_config` comes down to: a layout for the linear layers, exceptions by
module name, and modules left at 16 bit. Forms differ a lot; their readers are in `methods.py` and `groups.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from planner.architecture.keys import shown
from planner.architecture.ledger import Matrix
from planner.errors import ConfigError
from planner.precision.layouts import Layout
from planner.precision.names import Names

WHERE = "quantization_config"

# Left at 16 bit by every method unless the config names them: they are small, sensitive or no matrix product.
KEPT_ROLES = frozenset({"embedding", "positions", "per-layer embedding", "norm", "router"})


@dataclass(frozen=True)
class Scheme:
    """How a checkpoint stores its matrices.

    method     as the config says, such as "fp8", "gptq", "modelopt"
    label      for people, such as "NVFP4"
    bits       nominal bits per weight of the main layout
    group      weights that share a scale, where there is one
    default    layout of linear layers that nothing else decides (None: 16 bit)
    overrides  (modules, layout or None for 16 bit), the first that names a module decides
    ignored    modules left at 16 bit
    head       whether the output head is quantized unless it is ignored
    towers     whether vision and audio parts are quantized unless they are ignored
    embeddings whether the input embedding (and a head tied to it) is quantized unless it is ignored
    kv         what the checkpoint says about the KV cache: a key of KV_FORMATS
    warnings   sentences about what was guessed
    """

    method: str
    label: str
    bits: float | None
    default: Layout | None
    group: int | None = None
    overrides: tuple[tuple[Names, Layout | None], ...] = ()
    ignored: Names = field(default_factory=lambda: Names(()))
    head: bool = False
    towers: bool = False
    embeddings: bool = False
    kv: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def by_layer(self) -> bool:
        """Whether layers of the same shape may be stored differently."""
        return self.ignored.by_layer or any(names.by_layer for names, _ in self.overrides)

    @property
    def by_expert(self) -> bool:
        """Whether experts of the same layer may be stored differently."""
        return self.ignored.by_expert or any(names.by_expert for names, _ in self.overrides)

    def layout(self, matrix: Matrix, part: str, path: str) -> Layout | None:
        """Layout of a matrix by its checkpoint path, or None where it is left at 16 bit.

        part  the part of the model: vision and audio towers follow `towers`
        """
        table = self.embeddings and (matrix.role == "embedding" or matrix.tied)
        if not table and (matrix.kind != "linear" or matrix.role in KEPT_ROLES or matrix.tied):
            return None
        if path in self.ignored:
            return None
        for names, layout in self.overrides:
            if path in names:
                return layout
        if matrix.role == "head" and not self.head:
            return None
        if part in ("vision", "audio", "projector") and not self.towers:
            return None
        return self.default


def number(config: Mapping[str, Any], keys: tuple[str, ...], default: float | None, where: str,
           least: float = 1, most: float = 64) -> float | None:  # fmt: skip
    """The first of `keys` that holds a number, else `default`; ConfigError when it holds something else."""
    for key in keys:
        value = config.get(key)
        if value is None:
            continue
        if isinstance(value, str) and value.replace(".", "", 1).isdigit():
            value = float(value)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            raise ConfigError(
                f"{where}.{key} is {shown(value)}; expected a number from {least:,.15g} to {most:,.15g}. "
                "Correct it, or remove the quantization config and choose the weights' format yourself."
            )
        return value
    return default


SKIP_KEYS: Final = (
    "modules_to_not_convert", "ignored_layers", "skip_modules", "llm_int8_skip_modules", "ignore", "exclude_modules",
    "linear_weights_not_to_quantize", "modules_to_not_quantize",
)  # fmt: skip


def stated_bits(config: Mapping[str, Any], default: float | None = None) -> float:
    """Bits per weight under any of the keys in use; ConfigError where there is neither a value nor a default."""
    bits = number(config, ("bits", "w_bit", "wbits", "num_bits", "nbits", "weight_bits"), default, WHERE, 1, 16)
    if bits is None:
        raise ConfigError(f"{WHERE}.bits is missing; expected 2, 3, 4 or 8. Choose the weights' format yourself.")
    return bits


def group_size(config: Mapping[str, Any], where: str, default: int = 128,
               keys: tuple[str, ...] = ("group_size", "q_group_size", "weight_group_size")) -> int:  # fmt: skip
    """Weights per group; -1 for a whole row (null counts as absent)."""
    value = number(config, keys, default, where, -1, 2**20)
    assert value is not None
    return int(value)


def names(config: Mapping[str, Any], *keys: str) -> list[str]:
    """Module names under any of `keys`: a list, a comma-separated text, or null; ConfigError for anything else."""
    out: list[str] = []
    for key in keys:
        value = config.get(key)
        if isinstance(value, str):
            out += [v.strip() for v in value.split(",") if v.strip()]
        elif isinstance(value, (list, tuple, Mapping)) and all(isinstance(v, str) for v in value):
            out += value
        elif value:
            raise ConfigError(
                f"{key} of the quantization config is {shown(value)}; expected a list of module names. "
                "Correct it, or choose the weights' format yourself."
            )
    return out


def table_of(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """ModelOpt's `quantized_layers`, module name -> how it is stored; empty when absent, ConfigError if malformed."""
    value = config.get("quantized_layers")
    if not value:
        return {}
    if not isinstance(value, Mapping):
        raise ConfigError(
            f"quantized_layers of the quantization config is {shown(value)}; expected an object that gives each "
            "module its quant_algo. Correct it, or choose the weights' format yourself."
        )
    for module, entry in value.items():
        if not isinstance(entry, Mapping):
            raise ConfigError(
                f"quantized_layers gives {shown(module)} as {shown(entry)}; expected an object with quant_algo, such "
                'as {"quant_algo": "FP8"}. Correct it, or choose the weights\' format yourself.'
            )
    return value


def section(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """A nested object, empty when absent or of another kind."""
    value = config.get(key)
    return value if isinstance(value, Mapping) else {}


def unclear(*sets: Names) -> tuple[str, ...]:
    """A warning sentence for module names that could not be understood."""
    patterns = [p for s in sets for p in s.unclear]
    if not patterns:
        return ()
    return (
        f"{len(patterns)} module name(s) of the quantization config could not be used "
        f"(such as {patterns[0]!r}); those modules are taken as quantized.",
    )


KV_KEYS: Final = ("kv_cache_scheme", "kv_cache_quant_algo")

# Names that say in words that the KV cache is left alone.
_KV_ALONE: Final = frozenset({"", "none", "auto", "bf16", "fp16", "bfloat16", "float16"})


def kv_cache(config: Mapping[str, Any]) -> tuple[str | None, tuple[str, ...]]:
    """What a config says of the KV cache: a key of KV_FORMATS or None, and a sentence where it was not understood."""
    for key in KV_KEYS:
        value = config.get(key)
        if value is None or (isinstance(value, str) and value.strip().lower() in _KV_ALONE):
            continue
        if isinstance(value, Mapping) and (not value or value.get("num_bits") == 16):
            continue
        if found := kv_of(value):
            return found, ()
        return None, (
            f"{key} is {shown(value)}, which the planner does not know; expected FP8, INT8, NVFP4 or null. The KV "
            "cache is taken at 16 bit: choose its format yourself if that is wrong.",
        )
    return None, ()


def kv_of(value: Any) -> str | None:
    """Key of KV_FORMATS for a KV cache scheme: a name such as "FP8", or an object with num_bits and type."""
    if isinstance(value, Mapping):
        bits, kind = value.get("num_bits"), str(value.get("type", "float"))
        if bits == 8:
            return "int8" if kind == "int" else "fp8"
        return "nvfp4" if bits == 4 and kind == "float" else None
    if isinstance(value, str):
        low = value.lower()
        return "fp8" if "fp8" in low else "int8" if "int8" in low else "nvfp4" if "fp4" in low else None
    return None
