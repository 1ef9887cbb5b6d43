"""A device typed in by hand."""

from __future__ import annotations

import math

from planner.devices.device import Device, DeviceError
from planner.devices.table import GIB

# Wider than any device on sale or announced (2026: 6 TiB, 23 TB/s, 35 PFLOP/s), so that only slips are refused.
LIMITS = {
    "memory_gib": (0.1, 100_000, "GiB"),
    "bandwidth_gb_s": (0.1, 1_000_000, "GB/s"),
    "tflops": (0.001, 1_000_000, "TFLOP/s"),
    "interconnect_gb_s": (0.1, 100_000, "GB/s"),
    "pcie_gb_s": (0.1, 10_000, "GB/s"),
    "tdp_w": (0.1, 1_000_000, "W"),
    "price_usd_per_hour": (0.0001, 100_000, "US dollars an hour"),
}
NAME_LENGTH = 60


def _checked(field: str, value: float, limit: str) -> float:
    low, high, unit = LIMITS[limit]
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise DeviceError(f"{field} of the typed-in device is {value!r}; give a number of {unit}.")
    if not low <= value <= high:
        raise DeviceError(
            f"{field} of the typed-in device is {value:g} {unit}; the planner takes {low:g} to {high:g} {unit}."
        )
    return float(value)


def custom_device(
    name: str,
    memory_gib: float,
    bandwidth_gb_s: float,
    tflops_16bit: float,
    tflops_8bit: float | None = None,
    tflops_4bit: float | None = None,
    *,
    interconnect_gb_s: float | None = None,
    pcie_gb_s: float | None = None,
    tdp_w: float | None = None,
    price_usd_per_hour: float | None = None,
    kind: str = "gpu",
) -> Device:
    """A device from figures that a user typed in.

    Args:
        name: what to call it, at most 60 characters.
        memory_gib: memory that programs can use, in GiB (2^30 bytes).
        bandwidth_gb_s: memory bandwidth in GB/s (10^9 bytes/s).
        tflops_16bit: dense FP16 and BF16 rate in 10^12 FLOP/s.
        tflops_8bit: dense FP8 and INT8 rate in 10^12 operations/s; None if it has no 8-bit unit.
        tflops_4bit: dense FP4 rate in 10^12 FLOP/s; None if it has no 4-bit float unit.
        interconnect_gb_s: link to its peers in GB/s, both directions added as vendors print it; None if it has none.
        pcie_gb_s: host link in GB/s, one direction.
        tdp_w: power in W.
        price_usd_per_hour: US dollars for one device for one hour.
        kind: cpu, gpu, apu, edge or accelerator.

    Raises:
        DeviceError: a figure is no number or out of any possible range.
    """
    label = " ".join(str(name).split()) or "My device"
    if len(label) > NAME_LENGTH:
        raise DeviceError(
            f"The name of the typed-in device has {len(label)} characters; use at most {NAME_LENGTH} characters."
        )
    memory = _checked("memory_gib", memory_gib, "memory_gib")
    wide = _checked("tflops_16bit", tflops_16bit, "tflops") * 1e12
    peaks = {"fp16": wide, "bf16": wide}
    if tflops_8bit is not None:
        peaks["fp8"] = peaks["int8"] = _checked("tflops_8bit", tflops_8bit, "tflops") * 1e12
    if tflops_4bit is not None:
        peaks["fp4"] = _checked("tflops_4bit", tflops_4bit, "tflops") * 1e12

    def optional(field: str, value: float | None) -> float | None:
        return None if value is None else _checked(field, value, field)

    link = optional("interconnect_gb_s", interconnect_gb_s)
    pcie = optional("pcie_gb_s", pcie_gb_s)
    return Device(
        id="custom",
        name=label,
        vendor="typed in",
        kind=kind,
        memory_gb=memory,
        memory_bytes_usable=memory * GIB,
        bandwidth=_checked("bandwidth_gb_s", bandwidth_gb_s, "bandwidth_gb_s") * 1e9,
        peaks=peaks,
        interconnect="link typed in" if link else "",
        interconnect_bytes_per_s=None if link is None else link / 2 * 1e9,
        pcie="PCIe typed in" if pcie else "",
        pcie_bytes_per_s=None if pcie is None else pcie * 1e9,
        tdp_w=optional("tdp_w", tdp_w),
        price_usd_per_hour=optional("price_usd_per_hour", price_usd_per_hour),
        source="typed in by the user",
        confidence="typed in",
        custom=True,
    )
