"""One device: how much it remembers, how fast it reads and how fast it multiplies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from planner.devices.evidence import Source, sources_of
from planner.errors import PlannerError

COMPUTE_FALLBACKS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        # 32-bit weights on a chip without a 32-bit figure run at what its matrix unit takes (TPU: bfloat16 passes).
        "fp32": ("fp32", "tf32", "bf16", "fp16"),
        "tf32": ("tf32", "fp32", "bf16", "fp16"),
        # Before bfloat16 units (Volta, Turing, Apple M1) engines run float16 instead; processors widen to float32.
        "bf16": ("bf16", "fp16", "fp32"),
        "fp16": ("fp16", "bf16", "fp32"),
        # Without an 8-bit unit the weights stay 8-bit in memory and are widened to 16 bit before the product.
        "fp8": ("fp8", "bf16", "fp16", "fp32"),
        "int8": ("int8", "bf16", "fp16", "fp32"),
        # Without a 4-bit float unit the engines' kernels (Marlin, Triton) dequantize to 16 bit, not to 8.
        "fp4": ("fp4", "bf16", "fp16", "fp32"),
        "int4": ("int4", "int8", "bf16", "fp16", "fp32"),
    }
)
"""For each compute type wanted, the types tried in turn; the first that the device has a figure for applies."""


# What a label can do without: the maker (the model number says it) and remarks in brackets.
_MAKER = re.compile(r"^(NVIDIA (GeForce )?|AMD (Instinct |Radeon )?|Intel |Google |AWS |Qualcomm )")
_REMARK = re.compile(r"\s*\([^)]*\)")


class DeviceError(PlannerError):
    """A device that is not known, or a typed-in one that cannot be."""


@dataclass(frozen=True, kw_only=True)
class Device:
    """What the planner knows about one device; None where nothing is known, never 0.

    Bytes, bytes/s, FLOP/s and W throughout. Rates are dense with FP32 accumulation; links count one direction.
    """

    id: str
    name: str
    vendor: str
    kind: str
    """cpu, gpu, apu (memory shared with the processor), edge (small board or box) or accelerator."""
    arch: str = ""
    year: int | None = None

    memory_gb: float
    """The marketed size, in `memory_unit` (which is GiB for all of today's devices)."""
    memory_unit: str = "GiB"
    memory_bytes_usable: float
    memory_derived: bool = False
    """Whether the usable memory was derived from the marketed size instead of read from a tool."""
    memory_options: str = ""
    memory_type: str = ""

    bandwidth: float
    """Printed memory bandwidth in bytes/s."""
    bandwidth_calc: float | None = None
    """Bandwidth by bus arithmetic in bytes/s."""
    measured_bandwidth_fraction: float | None = None

    peaks: Mapping[str, float] = field(default_factory=dict, hash=False)
    """Dense FLOP/s by compute type; a type is missing where the device has no figure for it."""
    fp16_accumulate: str = ""

    interconnect: str = ""
    interconnect_bytes_per_s: float | None = None
    """To its peers, one direction; None where devices have no link of their own or its speed is not known."""
    pcie: str = ""
    pcie_bytes_per_s: float | None = None

    tdp_w: float | None = None
    typical_devices_per_node: int | None = None

    price_usd_per_hour: float | None = None
    price_provider: str | None = None
    price_date: str | None = None
    price_source: str | None = None

    source: str = ""
    confidence: str = ""
    notes: str = ""
    custom: bool = False

    @property
    def label(self) -> str:
        """The text that stands for the device in forms and links, which makes it a public interface: never change it.

        It is the name without maker and remarks: "NVIDIA H100 80GB SXM" becomes "H100 80GB SXM".
        """
        return self.name if self.custom else _MAKER.sub("", _REMARK.sub("", self.name)).strip() or self.name

    @property
    def announced(self) -> bool:
        """Whether the vendor has announced the device but not shipped it."""
        return self.confidence == "announced"

    @property
    def ceiling_bandwidth(self) -> float:
        """Bytes/s that nothing can exceed: the larger of the printed figure and bus arithmetic (vendors round)."""
        return max(self.bandwidth, self.bandwidth_calc or 0.0)

    @property
    def sources(self) -> Mapping[str, Source]:
        """Source and confidence of each filled number, by its column in `data/devices.csv`."""
        return sources_of(self.id)

    def peak(self, compute: str) -> tuple[float, str]:
        """The FLOP/s that apply when work of type `compute` runs here, and the type it really runs at.

        Args:
            compute: one of the keys of `COMPUTE_FALLBACKS`, such as "bf16" or "fp8".

        Returns:
            FLOP/s (dense) and the compute type, so that "fp8" on an A100 gives its 16-bit rate and "bf16".

        Raises:
            DeviceError: `compute` is no compute type, or the device has no figure that could apply.
        """
        if compute not in COMPUTE_FALLBACKS:
            raise DeviceError(f'"{compute}" is no compute type; use one of {", ".join(COMPUTE_FALLBACKS)}.')
        for candidate in COMPUTE_FALLBACKS[compute]:
            rate = self.peaks.get(candidate)
            if rate is not None:
                return rate, candidate
        raise DeviceError(
            f"No FLOP/s figure of {self.name} applies to {compute} work; type the device in with its 16-bit rate."
        )
