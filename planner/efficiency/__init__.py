"""What real engines reach: measured shares and overheads by device class, engine and data type, as bands."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.devices import Device
from planner.engines import Engine
from planner.roofline import Overheads
from planner.work import Work


@dataclass(frozen=True)
class Expectation:
    """How far below the ceiling a real system of this kind is expected.

    decode, prefill            shares and overheads of the middle expectation
    decode_band, prefill_band  factors on the middle time: (fast, slow), p10 to p90 of the measured rows
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


def expectation(device: Device, engine: Engine, work: Work) -> Expectation:
    """The expectation for this device, engine and work (weight format, layout, MoE or dense)."""
    del device, engine, work
    return Expectation(
        Overheads(memory=0.8, compute=0.5, layer_s=5e-5), Overheads(memory=0.8, compute=0.5, layer_s=5e-5),
        (0.8, 1.4), (0.7, 1.6), "provisional", 0,
    )  # fmt: skip


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
                     over.reduce_s * factor)  # fmt: skip
