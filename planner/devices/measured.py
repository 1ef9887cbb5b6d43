"""Devices that published measurements name and the device table lacks."""

from __future__ import annotations

from functools import lru_cache

from planner.devices.device import Device, DeviceError
from planner.devices.evidence import read_rows
from planner.devices.table import GIB, Row, memory_evidence, number, required, usable_share

# Classes of data/measured_devices.csv: vendor and kind, as in the device table.
CLASSES = {
    "nv_consumer": ("NVIDIA", "gpu"),
    "nv_pro": ("NVIDIA", "gpu"),
    "nv_dc": ("NVIDIA", "gpu"),
    "amd_consumer": ("AMD", "gpu"),
    "amd_dc": ("AMD", "gpu"),
    "apple": ("Apple", "apu"),
    "other": ("other", "accelerator"),
}


def _device(row: Row) -> Device:
    if row["class"] not in CLASSES:
        raise DeviceError(f'Device "{row["device"]}" is of class "{row["class"]}"; use one of {", ".join(CLASSES)}.')
    vendor, kind = CLASSES[row["class"]]
    memory_gb = required(row, "mem_gb")
    # The 16-bit column is FP16 with FP32 accumulation; on Apple parts it is the GPU's FP32 rate, which FP16 shares.
    wide = number(row, "bf16_tflops")
    rates = {"fp16": wide, "fp8": number(row, "fp8_tflops"), "fp4": number(row, "fp4_tflops")}
    return Device(
        id="measured-" + "-".join(row["device"].lower().split()),
        name=row["device"],
        vendor=vendor,
        kind=kind,
        memory_gb=memory_gb,
        memory_bytes_usable=memory_gb * GIB * usable_share(vendor, kind, memory_gb, memory_evidence()),
        memory_derived=True,
        bandwidth=required(row, "bw_gbs") * 1e9,
        peaks={kind: rate * 1e12 for kind, rate in rates.items() if rate is not None},
        source="specifications published beside the measurements",
        confidence="derived",
        notes=row["spec_note"],
    )


@lru_cache(maxsize=1)
def _measured() -> dict[str, Device]:
    return {row["device"].casefold(): _device(row) for row in read_rows("measured_devices.csv")}


def measured_device(name: str) -> Device | None:
    """The device that a measurement calls `name` and the device table lacks, such as "M3 Max 30c"; None if unknown."""
    return _measured().get(" ".join(name.split()).casefold())
