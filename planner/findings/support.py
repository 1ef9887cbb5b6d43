"""Which generations of chips an engine and its kernels for a weight format need, as their makers state it.

Of devices and formats that nothing is known of, nothing is claimed; what is recalled and not looked up says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from planner.devices import Device
from planner.engines import Engine
from planner.precision import FORMATS
from planner.work import Work

# NVIDIA's generations in the order of their compute capability (6.0, 7.0, 7.5, 8.0, 8.9, 9.0, 10.0 and 12.0, next).
GENERATIONS: Final = ("Pascal", "Volta", "Turing", "Ampere", "Ada Lovelace", "Hopper", "Blackwell", "Rubin")
# The first generation that an engine's builds run on. vLLM 0.21, installation: compute capability 7.5, before it 7.0;
# SGLang, installation: sm75 and above; TensorRT-LLM 1.0, supported hardware: from Ampere; LMDeploy: from V100.
# Recalled, not looked up: SGLang, LMDeploy and vLLM 0.20; so a finding warns of it and never refuses.
ENGINE_FROM: Final = {"vLLM": "Turing", "vLLM 0.20": "Volta", "SGLang": "Turing", "TensorRT-LLM": "Ampere",
                      "LMDeploy": "Volta"}  # fmt: skip
# First and last generation with kernels for a format. vLLM, quantization: AWQ from Turing; FP8 from Turing as weights
# alone (Marlin); INT8 from Turing to Hopper, not on Blackwell; FP4 as weights alone by Marlin, which is from Ampere.
# Recalled, not looked up: FP4 from Ampere.
FORMAT_ON: Final[dict[str, tuple[str, str | None]]] = {
    "int4": ("Turing", None), "fp8": ("Turing", None), "int8": ("Turing", "Hopper"), "mxfp4": ("Ampere", None),
    "nvfp4": ("Ampere", None),
}  # fmt: skip
# Engines that this is known of: SGLang takes the kernels of vLLM.
KERNELS_OF: Final = ("vLLM", "SGLang")
# Formats that AMD's chips run where they have 8-bit floating point (CDNA 3, RDNA 4 and later): vLLM, quantization on
# ROCm. NVFP4 is NVIDIA's own.
AMD_EIGHT: Final = frozenset({"fp8", "int8", "mxfp4"})
# Labels of stored matrices (precision/layouts.py) whose kernels are those of 4-bit groups.
_FOUR: Final = ("awq", "gptq 4", "int4")


@lru_cache(maxsize=256)
def stored_formats(work: Work) -> frozenset[str]:
    """The quantized formats that a model's matrices are stored in, by the names of FORMAT_ON."""
    found = {_known(str(label), str(way)) for label, way in zip(work.rows.formats, work.rows.compute, strict=True)}
    return frozenset(name for name in found if name)


def _known(label: str, compute: str) -> str | None:
    if label.startswith(_FOUR):
        return "int4"
    if label == "int8":
        return "int8" if compute == "int8" else None  # weights alone are widened, as 4-bit groups are
    return next((name for name in ("mxfp4", "nvfp4", "fp8") if label.startswith(name)), None)


def engine_lacks(device: Device, engine: Engine) -> str | None:
    """Why an engine that runs on chips of this maker does not on this generation; None where it does."""
    first, mine = ENGINE_FROM.get(engine.name), _generation(device)
    if first is None or mine is None or mine >= GENERATIONS.index(first):
        return None
    return f"{engine.name} runs on NVIDIA from {first} on, and this is {GENERATIONS[mine]}"


def formats_lack(device: Device, engine: Engine, formats: Iterable[str]) -> str | None:
    """Why the engine has no kernels for one of these formats on this device; None where it has or nothing is known."""
    if device.custom or not engine.name.startswith(KERNELS_OF):
        return None
    reasons = (_lack(device, engine, name) for name in sorted(formats))
    return next((reason for reason in reasons if reason), None)


def _lack(device: Device, engine: Engine, name: str) -> str | None:
    first, last = FORMAT_ON[name]
    label, mine = FORMATS[name].label.split(" (")[0], _generation(device)
    if mine is not None and mine < GENERATIONS.index(first):
        return f"{engine.name} has kernels for {label} on NVIDIA from {first} on, and this is {GENERATIONS[mine]}"
    if mine is not None and last is not None and mine > GENERATIONS.index(last):
        return f"{engine.name} has kernels for {label} on NVIDIA up to {last}, and this is {GENERATIONS[mine]}"
    if device.vendor == "AMD" and device.kind != "cpu":
        if name in AMD_EIGHT and "fp8" not in device.peaks:
            return f"{engine.name} has kernels for {label} on AMD from CDNA 3 and RDNA 4 on"
        if name == "nvfp4":
            return f"{engine.name} has kernels for {label} on NVIDIA alone"
    return None


def _generation(device: Device) -> int | None:
    """The place of an NVIDIA chip among the generations; None for others and for unknown ones."""
    if device.custom or device.vendor != "NVIDIA":
        return None
    return next((n for n, name in enumerate(GENERATIONS) if device.arch.startswith(name)), None)


def suits(device: Device, engine: Engine, work: Work) -> bool:
    """Whether nothing is known against the engine and these weights on a device."""
    return (
        engine.runs_on(device)
        and engine_lacks(device, engine) is None
        and formats_lack(device, engine, stored_formats(work)) is None
    )
