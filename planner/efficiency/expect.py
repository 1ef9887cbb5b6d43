"""The expectation for a device, engine and work, and calibration on the user's own measurement."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Final

from planner.devices import Device
from planner.efficiency.classes import CLASSES, device_class, family, is_mixture, is_newer, storage_type
from planner.efficiency.table import LOCAL, SERVERS, Group, groups, nearest
from planner.engines import Engine
from planner.roofline import Overheads
from planner.work import Work

# Share of the FLOP/s of dense models that mixtures of experts reach in prefill with llama.cpp: 0.60 against 0.68 on
# Apple, 0.44 against 0.72 on GeForce, 0.15 against 0.32 on GB10, 0.11 against 0.14 on Strix Halo (medians of public
# llama-bench tables).
MIXTURE_PREFILL: Final = 0.67
# A band widens by this power of its factors for each way in which the evidence differs from the case.
WIDER: Final = 1.5
# A band is never narrower than run-to-run and build-to-build spread.
LEAST: Final = 1.05


@dataclass(frozen=True)
class Expectation:
    """How far below the ceiling a real system of this kind is expected.

    decode, prefill            shares and overheads of the middle expectation
    decode_band, prefill_band  factors on the middle time: (fast, slow), p10 to p90 of the measured rows
    batch_band                 the same for the throughput of whole batches, prefill included
    basis                      where it comes from, for people: "52 measurements, llama.cpp on GeForce, 2024-25"
    rows                       measurements behind it
    nearest                    what differs from the asked case, when the nearest evidence was taken ("" when none)
    calibrated                 the user's own measurement was taken in
    """

    decode: Overheads
    prefill: Overheads
    decode_band: tuple[float, float]
    prefill_band: tuple[float, float]
    basis: str
    rows: int
    nearest: str = ""
    calibrated: bool = False
    batch_band: tuple[float, float] = (0.6, 1.7)


def expectation(device: Device, engine: Engine, work: Work, year: int | None = None) -> Expectation:
    """The expectation for this device, engine and work (weight format, layout, mixture or dense).

    year  of the software; None: today's builds
    """
    asked, name = device_class(device), family(engine)
    mixture, storage = is_mixture(work), storage_type(work)
    known = groups()
    key, away = nearest(known, asked, name, mixture)
    group = known[key]
    value = {p: group.get(p).value for p in ("layer_s", "step_s", "sequence_s", "reduce_s", "newer", "unpack")}
    newer = value["newer"] if is_newer(device, year) else 1.0
    memory, compute = group.get("memory", storage), group.get("compute", storage)
    reduce = value["reduce_s"] * math.log2(work.layout.tensor)
    grouped = MIXTURE_PREFILL if mixture and key[1:] == (LOCAL, "dense") else 1.0
    prefill = Overheads(memory.value, compute.value * grouped, value["step_s"], value["layer_s"] * newer, reduce)
    share = min(memory.value, _unpacking(device, work, value["unpack"])) if storage == "4-bit K" else memory.value
    decode = replace(prefill, memory=share, sequence_s=value["sequence_s"])
    typed = device.custom
    odd = [t for t, cell in ((storage, memory),) if cell.n == 0]
    steps = away + len(odd) + typed
    count = group.get("decode_band").n + group.get("prefill_band").n
    return Expectation(
        decode, prefill, _band(group, "decode_band", steps),
        _band(group, "prefill_band", steps + (compute.n == 0 and memory.n > 0)), _basis(group, count), count,
        _difference(group, asked, name, mixture, odd, typed), batch_band=_band(group, "batch_band", steps),
    )  # fmt: skip


def _unpacking(device: Device, work: Work, rate: float) -> float:
    """Share of the bandwidth that arithmetic can follow when blocks must be unpacked for one sequence's products.

    rate  share of the 16-bit peak at which such products run (small GPUs beside wide memory are held back by it)
    """
    flops = sum(work.linear_flops.values()) + sum(work.head_flops.values())
    return rate * device.peak("fp16")[0] / device.bandwidth * float(work.weight_read(1)) / flops


def _band(group: Group, parameter: str, steps: int) -> tuple[float, float]:
    cell = group.get(parameter)
    low, high = cell.low or 1 / 1.5, cell.high or 1.5
    power = WIDER**steps
    return min(low, 1 / LEAST) ** power, max(high, LEAST) ** power


def _engine_name(name: str) -> str:
    return "serving engines" if name == SERVERS else name


def _basis(group: Group, count: int) -> str:
    device, name, kind = group.key
    years = group.get("decode_band").years or group.get("prefill_band").years
    model = ", mixtures of experts" if kind == "experts" else ""
    return f"{count} measurements, {_engine_name(name)} on {CLASSES[device]}{model}, {years}"


def _difference(group: Group, asked: str, name: str, mixture: bool, odd: list[str], typed: bool) -> str:
    device, engine, kind = group.key
    lacks = []
    if typed:
        lacks.append("your device")
    elif device != asked:
        lacks.append(CLASSES[asked])
    if engine != name:
        lacks.append(name)
    if mixture and kind == "dense":
        lacks.append("mixtures of experts, only of dense models")
    lacks += [f"{t} weights" for t in odd]
    return f"no measurements of {' with '.join(lacks)}" if lacks else ""


def calibrated(base: Expectation, decode: float | None, prefill: float | None, source: str | None) -> Expectation:
    """The expectation with the user's measurement taken in.

    decode, prefill  measured time over the middle expected time; None leaves that side as it is
    """
    if decode is None and prefill is None:
        return base
    return replace(
        base,
        decode=_slower(base.decode, decode), prefill=_slower(base.prefill, prefill),
        decode_band=base.decode_band if decode is None else (0.9, 1.1),
        prefill_band=base.prefill_band if prefill is None else (0.9, 1.1),
        basis=f"calibrated on your measurement ({source})" if source else "calibrated on your measurement",
        calibrated=True,
    )  # fmt: skip


def _slower(over: Overheads, factor: float | None) -> Overheads:
    if factor is None:
        return over
    return Overheads(over.memory / factor, over.compute / factor, over.step_s * factor, over.layer_s * factor,
                     over.reduce_s * factor, over.sequence_s * factor)  # fmt: skip
