"""One scenario on every device of the table: does it fit there, and how fast could it be?"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from planner import memory, roofline
from planner.devices import Device, load_devices
from planner.efficiency import calibrated, expectation
from planner.memory import Budget
from planner.plan import asked_per_copy, budget_of, limits, mean_context, rates, waits, work_of
from planner.roofline import Machine
from planner.scenario import Scenario
from planner.units import digits, duration
from planner.work import Work


@dataclass(frozen=True)
class Row:
    """One device: verdict, budget of one copy's fullest device, rates in tokens/s, first-token times in seconds.

    Speeds are None where the scenario cannot hold one request; `price` is USD per hour for all copies (None: unknown).
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
    devices = (*((own,) if own.custom else ()), *load_devices())
    return tuple(_row(s, done, d, d.id == own.id) for d in devices if only is None or d.label in only)


def _row(s: Scenario, done: Work, device: Device, mine: bool) -> Row:
    engine = s.engine_row
    room = budget_of(s, device, done)
    fits = memory.verdict(room, asked_per_copy(s))
    runs = engine.runs_on(device)
    price = s.price if mine and s.price else device.price_usd_per_hour
    all_devices = done.layout.devices * s.copies
    cost = None if price is None else price * all_devices
    if room.concurrent < 1:
        return Row(device, mine, fits, room, runs, *[None] * 6, 0, None, None, cost, "")
    machine = Machine.of(device, done.computes)
    expected = expectation(device, engine, done)
    if mine:
        expected = calibrated(expected, s.calibrated_decode, s.calibrated_prefill, s.calibrated_on)
    _, seqs, _ = limits(s, device)
    batch = max(1, min(asked_per_copy(s), room.concurrent, seqs))
    context = mean_context(s.prompt, s.output)
    ceiling, low, mid, high = rates(done, machine, expected, np.array([1, batch]), context, s.accepted)
    floor, _, ttft, _ = (float(t) for t in waits(done, machine, expected, s.prompt, s.shared_prefix))
    return Row(device, mine, fits, room, runs, float(ceiling[0]), float(low[0]), float(mid[0]), float(high[0]), floor, ttft,
               batch, float(ceiling[1]) * s.copies, float(mid[1]) * s.copies, cost, expected.basis)  # fmt: skip


def compare(s: Scenario, first: Device, second: Device) -> str:
    """Why the second device does or doesn't change decode and prefill against the first, by arithmetic alone."""
    done = work_of(s)
    context = mean_context(s.prompt, s.output)
    machines = [Machine.of(d, done.computes) for d in (first, second)]
    decode = [float(roofline.decode_rate(done, m, 1, context)) for m in machines]
    floors = [float(roofline.prefill_time(done, m, s.prompt, s.shared_prefix)) for m in machines]
    binds = [compute >= memory for compute, memory in (map(float, roofline.prefill_parts(done, m, s.prompt, s.shared_prefix)) for m in machines)]
    bandwidth = second.bandwidth / first.bandwidth
    compute = second.peak("fp16")[0] / first.peak("fp16")[0]
    why = "it is bound by arithmetic" if all(binds) else "it is bound by memory here" if not any(binds) else "the bound differs between the two"
    held = [budget_of(s, d, done).concurrent for d in (first, second)]
    lacking = [d.label for d, n in zip((first, second), held, strict=True) if n < 1]
    note = f" {' and '.join(lacking)} cannot hold one request of this scenario, so this is arithmetic only." if lacking else ""
    return (
        f"{second.label} has {digits(bandwidth)} times the bandwidth and {digits(compute)} times the 16-bit FLOP/s of {first.label}. "
        f"Decode reads the weights for every token, so its ceiling follows the bandwidth: {digits(decode[1])} against "
        f"{digits(decode[0])} tokens/s ({digits(decode[1] / decode[0])} times). The first token takes {duration(floors[1])} against "
        f"{duration(floors[0])} at least, since {why}.{note}"
    )
