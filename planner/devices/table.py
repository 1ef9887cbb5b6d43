"""`data/devices.csv` read into devices, in SI units."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median

from planner.devices.device import Device, DeviceError
from planner.devices.evidence import read_rows

GIB = 2**30
UNIT_BYTES = {"GiB": GIB, "GB": 10**9}
PEAK_COLUMNS = {
    "fp32": "fp32_tflops",
    "tf32": "tf32_tflops",
    "fp16": "fp16_tflops",
    "bf16": "bf16_tflops",
    "fp8": "fp8_tflops",
    "int8": "int8_tops",
    "fp4": "fp4_tflops",
    "int4": "int4_tops",
}

# macOS lets the GPU wire about 2/3 of a memory up to 36 GB, about 3/4 of a larger one (recommendedMaxWorkingSetSize in
# llama.cpp logs: 11,453 MB of 16 GB).
APPLE_LARGE_GB = 36
APPLE_SHARE_SMALL = 2 / 3
APPLE_SHARE_LARGE = 3 / 4
# Boards and boxes whose GPU shares the memory with the system: 29.96 GiB of a 32 GB Jetson AGX Orin in a vLLM log;
# Linux gives the GPU of a 128 GB Strix Halo about 120 GB.
SHARED_MEMORY_SHARE = 29.96 / 32
SHARED_MEMORY_KINDS = ("edge", "apu")
# A chip-to-chip link from a GPU to its own host processor (Grace) carries nothing between GPUs.
HOST_LINK_MARK = "C2C"

Row = dict[str, str]


def number(row: Row, column: str) -> float | None:
    """The positive number in a cell, or None for an empty one.

    Raises:
        DeviceError: the cell holds something else; 0 is refused because an unknown figure must be left empty.
    """
    text = row.get(column, "")
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        where = f'column "{column}" of device "{row.get("id") or row.get("device")}"'
        raise DeviceError(f'The {where} holds "{text}"; write a positive number, or leave it empty if it is not known.')
    return value


def required(row: Row, column: str) -> float:
    """As `number`, for a column that no device can do without."""
    value = number(row, column)
    if value is None:
        raise DeviceError(f'Device "{row.get("id") or row.get("device")}" has no "{column}"; fill it in.')
    return value


def marketed_bytes(row: Row) -> float:
    """Marketed memory size in bytes, by the unit that the row says it counts in."""
    unit = row.get("memory_unit") or "GiB"
    if unit not in UNIT_BYTES:
        raise DeviceError(f'Device "{row["id"]}" counts memory in "{unit}"; memory_unit must be GiB or GB.')
    return required(row, "memory_gb") * UNIT_BYTES[unit]


@dataclass(frozen=True)
class Share:
    """Share of its marketed memory that a device of this vendor and kind is known to let programs use."""

    vendor: str
    kind: str
    share: float


def known_shares(rows: Iterable[Row]) -> tuple[Share, ...]:
    """The shares of all rows that give a usable size, as evidence for the others."""
    found = ((row, number(row, "memory_gib_usable")) for row in rows)
    return tuple(
        Share(row["vendor"], row["kind"], usable * GIB / marketed_bytes(row))
        for row, usable in found
        if usable is not None
    )


def usable_share(vendor: str, kind: str, memory_gb: float, known: Sequence[Share]) -> float:
    """Share of the marketed memory that a device of this vendor and kind lets programs use.

    Args:
        vendor: maker of the device.
        kind: cpu, gpu, apu, edge or accelerator.
        memory_gb: marketed size, for the rule of Apple computers.
        known: shares of other devices, the evidence.

    Returns:
        Median of the same vendor and kind, else of the same kind; where there is neither, the share seen on one
        machine whose GPU shares the system's memory, or 1 (nothing is known to be held back).
    """
    if vendor == "Apple":
        return APPLE_SHARE_LARGE if memory_gb > APPLE_LARGE_GB else APPLE_SHARE_SMALL
    same_kind = [item for item in known if item.kind == kind]
    evidence = [item.share for item in same_kind if item.vendor == vendor] or [item.share for item in same_kind]
    if evidence:
        return median(evidence)
    return SHARED_MEMORY_SHARE if kind in SHARED_MEMORY_KINDS else 1.0


def usable_bytes(row: Row, known: Sequence[Share]) -> tuple[float, bool]:
    """Bytes that programs can use, and whether they had to be derived from the marketed size."""
    usable = number(row, "memory_gib_usable")
    if usable is not None:
        return usable * GIB, False
    share = usable_share(row["vendor"], row["kind"], required(row, "memory_gb"), known)
    return marketed_bytes(row) * share, True


def read_device(row: Row, known: Sequence[Share]) -> Device:
    """One row of the table as a `Device`; `known` is the evidence for a usable size that it lacks."""
    memory, derived = usable_bytes(row, known)
    peaks = {kind: number(row, column) for kind, column in PEAK_COLUMNS.items()}
    link = row.get("interconnect", "")
    peer = None if HOST_LINK_MARK in link else number(row, "interconnect_gb_s_bidir")
    pcie = number(row, "pcie_gb_s_per_dir")
    calc = number(row, "bandwidth_calc_gb_s")
    year = number(row, "year")
    per_node = number(row, "typical_devices_per_node")
    return Device(
        id=row["id"],
        name=row["name"],
        vendor=row["vendor"],
        kind=row["kind"],
        arch=row.get("arch", ""),
        year=None if year is None else int(year),
        memory_gb=required(row, "memory_gb"),
        memory_unit=row.get("memory_unit") or "GiB",
        memory_bytes_usable=memory,
        memory_derived=derived,
        memory_options=row.get("memory_options_gb", ""),
        memory_type=row.get("memory_type", ""),
        bandwidth=required(row, "bandwidth_gb_s") * 1e9,
        bandwidth_calc=None if calc is None else calc * 1e9,
        measured_bandwidth_fraction=number(row, "measured_bw_fraction"),
        peaks={kind: rate * 1e12 for kind, rate in peaks.items() if rate is not None},
        fp16_accumulate=row.get("fp16_accumulate", ""),
        interconnect=link,
        interconnect_bytes_per_s=None if peer is None else peer / 2 * 1e9,
        pcie=row.get("pcie", ""),
        pcie_bytes_per_s=None if pcie is None else pcie * 1e9,
        tdp_w=number(row, "tdp_w"),
        typical_devices_per_node=None if per_node is None else int(per_node),
        price_usd_per_hour=number(row, "price_usd_per_hour"),
        price_provider=row.get("price_provider") or None,
        price_date=row.get("price_date") or None,
        price_source=row.get("price_source") or None,
        source=row.get("source", ""),
        confidence=row.get("confidence", ""),
        notes=row.get("notes", ""),
    )


@lru_cache(maxsize=1)
def table_rows() -> tuple[Row, ...]:
    """Rows of `data/devices.csv` as texts."""
    return tuple(read_rows("devices.csv"))


@lru_cache(maxsize=1)
def memory_evidence() -> tuple[Share, ...]:
    """The known shares of usable memory in the table."""
    return known_shares(table_rows())


@lru_cache(maxsize=1)
def load_devices() -> tuple[Device, ...]:
    """All devices of `data/devices.csv`, in the order of the file; read once.

    Raises:
        DeviceError: a cell that must be a number is not one, or is 0.
    """
    known = memory_evidence()
    return tuple(read_device(row, known) for row in table_rows())
