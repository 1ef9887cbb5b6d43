"""plan(Scenario) -> Plan: everything a page, the command line or an export shows about one scenario."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planner import efficiency, memory, roofline
from planner.architecture import Architecture
from planner.band import Band
from planner.devices import Device
from planner.efficiency import Expectation
from planner.engines import Engine
from planner.layout import Array, Layout, Number
from planner.load import closed, little
from planner.memory import Budget
from planner.resolve import asked_per_copy, budget_of, kv_of, layout_of, limits, work_of
from planner.roofline import CEILING, Machine, Overheads
from planner.scenario import Scenario
from planner.work import Work, total


@dataclass(frozen=True)
class Batch:
    """All sequences in flight in one copy, decoding together.

    size  sequences (what is asked, at most what memory holds and the engine admits); rates in tokens/s of the copy
    compute_bound_from  smallest batch whose step is bound by compute (None: none)
    memory_full_at      sequences that memory holds and the engine admits
    """

    size: int
    ceiling: float
    expected: Band
    compute_bound_from: int | None
    memory_full_at: int
    bound: str

    @property
    def ceiling_per_user(self) -> float:
        """Tokens per second of each conversation, at the ceiling."""
        return self.ceiling / self.size


@dataclass(frozen=True)
class Decode:
    """One conversation alone: bytes a step reads per device, and tokens per second."""

    context: float
    bytes_per_step: float
    weight_bytes: float
    cache_bytes: float
    ceiling: float
    expected: Band
    bound: str
    batch: Batch | None


@dataclass(frozen=True)
class Prefill:
    """One prompt alone: FLOPs of the copy, seconds at the floor and expected."""

    tokens: int
    cached: int
    flops: float
    floor: float
    expected: Band
    bound: str


@dataclass(frozen=True)
class Plan:
    """The answer to one scenario. SI units; everything in `memory` per device, `decode.batch` per copy."""

    scenario: Scenario
    architecture: Architecture
    device: Device
    engine: Engine
    layout: Layout
    work: Work
    machine: Machine
    expectation: Expectation
    fits: str
    memory: Budget
    utilization: float
    seqs: int
    step_tokens: int
    asked: int
    decode: Decode
    prefill: Prefill
    load: little.Load
    kv: str

    @property
    def loads(self) -> bool:
        """Whether it loads and holds at least one request: only then may a speed be shown."""
        return self.memory.concurrent >= 1

    @property
    def asked_per_device(self) -> int:
        """Requests at once that one device is to keep its share of: those of its attention group."""
        return math.ceil(self.asked / self.layout.attention_data)

    @property
    def devices_in_all(self) -> int:
        """Devices of all copies."""
        return self.layout.devices * self.scenario.copies


def rates(work_: Work, machine: Machine, expected: Expectation, batch: Number, context: Number,
          accepted: float = 1.0) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Decode tokens/s of all sequences of a copy: ceiling, and expected low, middle, high (never above the ceiling)."""
    ceiling = roofline.decode_rate(work_, machine.bound, batch, context, CEILING, accepted)
    mid = roofline.decode_rate(work_, machine, batch, context, expected.decode, accepted)
    fast, slow = expected.decode_band
    return ceiling, np.minimum(mid / slow, ceiling), np.minimum(mid, ceiling), np.minimum(mid / fast, ceiling)


def waits(work_: Work, machine: Machine, expected: Expectation, tokens: Number, cached: Number = 0,
          chunk: Number = np.inf) -> tuple[Array, Array, Array, Array]:  # fmt: skip
    """Seconds to prefill one prompt alone: floor, and expected low, middle, high (never below the floor).

    chunk  tokens of a step: chunks of one prompt fill pipeline stages at the same time
    """
    floor = roofline.prefill_time(work_, machine.bound, tokens, cached, chunk=chunk)
    mid = roofline.prefill_time(work_, machine, tokens, cached, expected.prefill, chunk)
    fast, slow = expected.prefill_band
    return floor, np.maximum(mid * fast, floor), np.maximum(mid, floor), np.maximum(mid * slow, floor)


def _bound(parts: tuple[Array, Array]) -> str:
    return "compute" if float(parts[0]) >= float(parts[1]) else "memory"


def plan(s: Scenario) -> Plan:
    """Everything about one scenario. Raises PlannerError when a choice cannot be used."""
    arch, device, engine = s.architecture, s.device_row, s.engine_row
    layout = layout_of(s, engine)
    done = work_of(s, engine)
    machine = Machine.of(device, done, engine)
    expected = efficiency.calibrated(
        efficiency.expectation(device, engine, done), s.calibrated_decode, s.calibrated_prefill, s.calibrated_on
    )
    utilization, seqs, step_tokens = limits(s, device)
    room = budget_of(s, device, done)
    holds = min(room.concurrent, seqs * layout.attention_data)
    flow = load_of(s, done, machine, expected, holds)
    asked = asked_of(s, flow)
    fits = memory.verdict(room, asked)
    return Plan(
        s, arch, device, engine, layout, done, machine, expected, fits, room, utilization, seqs, step_tokens, asked,
        _decode(s, done, machine, expected, asked, holds), _prefill(s, done, machine, expected, step_tokens), flow,
        kv_of(s, arch),
    )  # fmt: skip


def asked_of(s: Scenario, flow: little.Load) -> int:
    """Requests at once that one copy is asked to hold: its users, or those that arrivals keep in flight."""
    if s.load == "closed":
        return asked_per_copy(s)
    held = flow.holds // s.copies
    # Without a steady state the queue fills every seat: what is asked is more than is held.
    return held + 1 if flow.in_flight is None else min(max(1, math.ceil(flow.in_flight / s.copies)), held)


def mean_context(prompt: float, output: float) -> float:
    """Tokens of context at the middle of the answer: prompt + output / 2."""
    return prompt + output / 2


def _decode(s: Scenario, done: Work, machine: Machine, expected: Expectation, asked: int, holds: int) -> Decode:
    context = mean_context(s.prompt, s.output)
    weights, cache = float(done.weight_read(1)), float(done.caches.step_read(context))
    ceiling, low, mid, high = (float(r) for r in rates(done, machine, expected, 1, context, s.accepted))
    batch = None
    size = min(asked, holds)
    if size >= 1:
        c, lo, md, hi = (float(r) for r in rates(done, machine, expected, size, context, s.accepted))
        parts = roofline.decode_parts(done, machine.bound, roofline.pipeline_part(done, size), context)
        turn = roofline.compute_bound_from(done, machine.bound, context)
        batch = Batch(size, c, Band(lo, md, hi), turn, holds, _bound(parts))
    return Decode(context, weights + cache, weights, cache, ceiling, Band(low, mid, high),
                  _bound(roofline.decode_parts(done, machine.bound, 1, context)), batch)  # fmt: skip


def _prefill(s: Scenario, done: Work, machine: Machine, expected: Expectation, chunk: int) -> Prefill:
    floor, low, mid, high = (float(x) for x in waits(done, machine, expected, s.prompt, s.shared_prefix, chunk))
    flops = float(total(done.whole.prefill_flops(s.prompt, s.shared_prefix)))
    return Prefill(s.prompt, s.shared_prefix, flops, floor, Band(low, mid, high),
                   _bound(roofline.prefill_parts(done, machine.bound, s.prompt, s.shared_prefix)))  # fmt: skip


def loop_of(s: Scenario, done: Work, hardware: Machine, steps: Overheads, prompts: Overheads, n: Number,
            request_s: float = closed.REQUEST_S) -> closed.ClosedLoop:  # fmt: skip
    """The steady state of one copy with n of the scenario's requests in service, with these efficiencies."""
    return closed.closed_loop(
        done, hardware, steps, prompts, n, s.prompt, s.output, s.shared_prefix, request_s=request_s,
        accepted=s.accepted,
    )  # fmt: skip


def residence_of(s: Scenario, done: Work, machine: Machine, prefill: Overheads, decode: Overheads,
                 request_s: float = closed.REQUEST_S) -> little.Residence:  # fmt: skip
    """R(n): seconds a request stays with n in flight in one copy, with these efficiencies.

    Never less than arithmetic allows: efficiencies that were fitted are shares of it, but a calibration at one load can
    claim more than that at another.
    """
    free = s.calibrated_decode is not None or s.calibrated_prefill is not None

    def seconds(n: Array) -> Array:
        expected = loop_of(s, done, machine, decode, prefill, n, request_s).e2e_s
        if not free:
            return expected
        return np.maximum(expected, loop_of(s, done, machine.bound, CEILING, CEILING, n, 0.0).e2e_s)

    return seconds


def load_of(s: Scenario, done: Work, machine: Machine, expected: Expectation, holds: int) -> little.Load:
    """What the scenario's users or arrivals mean when one copy holds so many requests at once."""
    seconds = residence_of(s, done, machine, expected.prefill, expected.decode)
    return little.load(s.load, s.users, s.rate, s.copies, holds, seconds)
