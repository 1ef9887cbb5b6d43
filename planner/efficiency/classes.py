"""What the evidence is sorted by: device class, engine family, storage type, dense or mixture of experts."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from planner.devices import Device
from planner.engines import Engine
from planner.work import Work

CLASSES: Final = {
    "geforce": "GeForce",
    "workstation": "NVIDIA workstation and GDDR server GPUs",
    "datacentre": "NVIDIA datacentre GPUs",
    "apple": "Apple",
    "unified": "AMD unified-memory boxes",
    "nvidia_unified": "NVIDIA unified-memory boxes",
    "radeon": "Radeon",
    "instinct": "AMD datacentre GPUs",
    "intel": "Intel GPUs",
    "accelerator": "accelerators",
    "cpu": "processors",
}
"""Device class -> its name for people."""

# A GPU without a memory type in its row: faster than any GDDR card of the table's time, so stacked memory.
STACKED_FROM: Final = 1.9e12
_GEFORCE = re.compile(r"GeForce|^(RTX|GTX) \d{4}(?! Ada)")


def device_class(device: Device) -> str:
    """The class of a device whose efficiency is alike, a key of CLASSES."""
    vendor, kind = device.vendor, device.kind
    if kind == "cpu":
        return "cpu"
    if vendor == "Apple":
        return "apple"
    if kind in ("apu", "edge"):
        return "nvidia_unified" if vendor == "NVIDIA" else "unified"
    if kind == "accelerator":
        return "accelerator"
    if vendor == "AMD":
        return "instinct" if re.search(r"Instinct|^MI\d", device.name) else "radeon"
    if vendor == "Intel":
        return "intel"
    if vendor == "NVIDIA" and _GEFORCE.search(device.name):
        return "geforce"
    stacked = device.memory_type.startswith("HBM") or (not device.memory_type and device.bandwidth > STACKED_FROM)
    return "datacentre" if stacked else "workstation"


# Before Ampere, llama.cpp does not capture CUDA graphs, which is what newer builds gain per layer (ggml-cuda.cu).
_UNCAPTURED: Final = frozenset({"Maxwell", "Pascal", "Volta", "Turing"})
# Builds from this year on count as newer.
NEWER_FROM: Final = 2025


def is_newer(device: Device, year: int | None) -> bool:
    """Whether a build of this year (None: today's) has what newer builds gain per layer on this device."""
    return (year is None or year >= NEWER_FROM) and device.arch not in _UNCAPTURED


def family(engine: Engine) -> str:
    """The engine whatever its version range."""
    return engine.name.split()[0] if engine.name.startswith("vLLM") else engine.name


@lru_cache(maxsize=1024)
def is_mixture(work: Work) -> bool:
    """Whether tokens pass through some of the experts only."""
    rows = work.rows
    return bool(((rows.used < rows.copies) & (rows.part == "text")).any())


def bits(work: Work) -> float:
    """Mean bits per element that a token's pass reads, tables apart."""
    rows = work.rows
    chosen = (rows.part == "text") & (rows.kind == "linear") & (rows.role != "head")
    elements = float((rows.flops[chosen] / 2).sum())
    read = float((rows.read_bytes_one * rows.used)[chosen].sum())
    return 8 * read / elements if elements else 16.0


@lru_cache(maxsize=1024)
def storage_type(work: Work) -> str:
    """"16-bit", "8-bit", "4-bit", or "4-bit K" for GGUF blocks that take arithmetic to unpack."""
    mean = bits(work)
    if mean > 12:
        return "16-bit"
    if mean > 6.9:
        return "8-bit"
    packed = any(re.fullmatch(r"Q\d_K", str(f)) for f in rows_of_products(work))
    return "4-bit K" if packed else "4-bit"


def rows_of_products(work: Work) -> set[str]:
    """Storage of the matrices that tokens are multiplied with, the head apart."""
    rows = work.rows
    return {str(f) for f in rows.formats[(rows.part == "text") & (rows.kind == "linear") & (rows.role != "head")]}
