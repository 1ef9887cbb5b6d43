"""One scenario on every device of the table: whether it fits there, and how fast it could be."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from planner import memory
from planner.devices import Device, load_devices
from planner.efficiency import Expectation, calibrated, expectation
from planner.memory import Budget
from planner.plan import asked_of, load_of, mean_context, rates, waits
from planner.resolve import asked_per_copy, budget_of, limits, work_of
from planner.roofline import Machine, Overheads
from planner.scenario import Scenario
from planner.work import Work


@dataclass(frozen=True)
class Row:
    """One device: verdict, budget of one copy's fullest device, rates in tokens/s, first-token times in seconds.

    Speeds are None where the scenario cannot hold one request; `price` is USD per hour for all copies (None: unknown);
    `asked` is the requests at once that one copy is to hold; `capacity` the requests per second that all copies are
    expected to serve (None: users wait for their answers, so no rate is asked for), `steady` whether that is enough.
    """

    device: Device
    mine: bool
    fits: str
    budget: Budget
    runs: bool
    ceiling: float | None
    low: float | None
    mid: float | None
    high: float | None
    floor: float | None
    ttft: float | None
    batch: int
    total_ceiling: float | None
    total_mid: float | None
    price: float | None
    basis: str
    asked: int
    capacity: float | None = None
    steady: bool = True
    copies: int = 1
    ttft_low: float | None = None
    ttft_high: float | None = None

    @property
    def serves(self) -> bool:
        """Whether it does all that is asked: the engine runs there, everyone fits, and it keeps up with arrivals."""
        return self.runs and self.fits == "fits" and self.steady

    @property
    def behind(self) -> bool:
        """Whether it holds requests, but arrivals come faster than it is expected to serve them."""
        return self.budget.concurrent >= 1 and not self.steady

    @property
    def verdict(self) -> str:
        """The verdict as people read it: past capacity it is the pace that lacks, not room."""
        if not self.runs:
            return "engine does not run here"
        return "cannot keep up" if self.behind else self.fits

    @property
    def joins(self) -> bool:
        """Whether several are built into one server: a card or accelerator with a link to others of its kind.

        Boxes, laptops and phones (edge, apu) and processors have none.
        """
        d = self.device
        linked = d.interconnect_bytes_per_s or d.pcie_bytes_per_s or (d.typical_devices_per_node or 1) > 1
        return d.custom or (d.kind in ("gpu", "accelerator") and bool(linked))

    @property
    def cost(self) -> float | None:
        """USD per million output tokens at the middle expectation and this batch (None: unknown)."""
        if self.price is None or not self.total_mid:
            return None
        return self.price / 3600 / self.total_mid * 1e6


def fleet(s: Scenario, only: Collection[str] | None = None) -> tuple[Row, ...]:
    """The scenario on each device of the table (and on a typed-in one), in the table's order.

    only  labels of the devices wanted (None: all)
    """
    own = s.device_row
    done = work_of(s)
    devices = [d for d in (*((own,) if own.custom else ()), *load_devices()) if only is None or d.label in only]
    budgets = [budget_of(s, d, done) for d in devices]
    held = [n for n, room in enumerate(budgets) if room.concurrent >= 1]
    speeds = dict(zip(held, _speeds(s, done, own, [devices[n] for n in held], [budgets[n] for n in held]), strict=True))
    nothing = _Speed(asked_per_copy(s))
    return tuple(
        _row(s, done, device, device.id == own.id, room, speeds.get(n, nothing))
        for n, (device, room) in enumerate(zip(devices, budgets, strict=True))
    )


@dataclass(frozen=True)
class _Speed:
    asked: int
    ceiling: float | None = None
    low: float | None = None
    mid: float | None = None
    high: float | None = None
    floor: float | None = None
    ttft_low: float | None = None
    ttft: float | None = None
    ttft_high: float | None = None
    batch: int = 0
    total_ceiling: float | None = None
    total_mid: float | None = None
    basis: str = ""
    capacity: float | None = None
    steady: bool = True


def _speeds(s: Scenario, done: Work, own: Device, devices: list[Device], budgets: list[Budget]) -> list[_Speed]:
    """Speeds on all these devices at once: one pass over arrays with a place for each device."""
    if not devices:
        return []
    expected = [expectation(d, s.engine_row, done) for d in devices]
    expected = [
        calibrated(e, s.calibrated_decode, s.calibrated_prefill, s.calibrated_on) if d.id == own.id else e
        for d, e in zip(devices, expected, strict=True)
    ]
    machines = [Machine.of(d, done, s.engine_row) for d in devices]
    machine = Machine.stack(machines)
    together = stacked(expected)
    groups = done.layout.attention_data
    seats = [min(b.concurrent, limits(s, d)[1] * groups) for d, b in zip(devices, budgets, strict=True)]
    asked = [asked_per_copy(s)] * len(devices)
    served: list[float | None] = [None] * len(devices)
    steady = [True] * len(devices)
    if s.load == "open":
        flows = [load_of(s, done, m, e, n) for m, e, n in zip(machines, expected, seats, strict=True)]
        asked, served = [asked_of(s, flow) for flow in flows], [flow.capacity_per_s for flow in flows]
        steady = [flow.steady_state for flow in flows]
    batch = np.minimum(asked, seats)
    context = mean_context(s.prompt, s.output)
    ceiling, low, mid, high = rates(done, machine, together, np.ones(len(devices)), context, s.accepted)
    all_ceiling, _, all_mid, _ = rates(done, machine, together, batch, context, s.accepted)
    chunk = np.array([limits(s, d)[2] for d in devices], float)
    floor, soonest, first, latest = waits(done, machine, together, s.prompt, s.shared_prefix, chunk)
    columns = {
        "ceiling": ceiling, "low": low, "mid": mid, "high": high, "floor": floor, "ttft": first,
        "ttft_low": soonest, "ttft_high": latest,
        "total_ceiling": all_ceiling * s.copies, "total_mid": all_mid * s.copies,
    }  # fmt: skip
    wide = {name: np.broadcast_to(values, len(devices)).tolist() for name, values in columns.items()}
    return [
        _Speed(asked[n], batch=int(batch[n]), basis=e.basis, capacity=served[n], steady=steady[n],
               **{name: values[n] for name, values in wide.items()})
        for n, e in enumerate(expected)
    ]  # fmt: skip


def stacked(expected: Sequence[Expectation]) -> Expectation:
    """Several expectations as one whose shares, overheads and bands are arrays."""

    def side(parts: Sequence[Overheads]) -> Overheads:
        return Overheads(**{f.name: np.array([getattr(o, f.name) for o in parts], float) for f in fields(Overheads)})

    def band(bands: Sequence[tuple[float, float]]) -> tuple[Any, Any]:
        return np.array([b[0] for b in bands]), np.array([b[1] for b in bands])

    return Expectation(
        side([e.decode for e in expected]), side([e.prefill for e in expected]),
        band([e.decode_band for e in expected]), band([e.prefill_band for e in expected]), "", 0,
    )  # fmt: skip


def _row(s: Scenario, done: Work, device: Device, mine: bool, room: Budget, speed: _Speed) -> Row:
    price = s.price if mine and s.price else device.price_usd_per_hour
    all_devices = done.layout.devices * s.copies
    return Row(
        device, mine, memory.verdict(room, speed.asked), room, s.engine_row.runs_on(device),
        speed.ceiling, speed.low, speed.mid, speed.high, speed.floor, speed.ttft, int(speed.batch), speed.total_ceiling,
        speed.total_mid, None if price is None else price * all_devices, speed.basis, speed.asked,
        speed.capacity, speed.steady, s.copies, speed.ttft_low, speed.ttft_high,
    )  # fmt: skip
