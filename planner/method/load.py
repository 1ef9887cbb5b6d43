"""The formulas of the load with a scenario's own numbers."""

from __future__ import annotations

import numpy as np

from planner.load.closed import REQUEST_S, ClosedLoop, prefill_work
from planner.method.step import Step
from planner.plan import Plan, loop_of, residence_of
from planner.units import count, digits, duration, exact, rate

_SOURCE = "mean field of continuous batching"


def steps(p: Plan) -> list[Step]:
    """From one request's time in service to the time in system and Little's law."""
    flow = p.load
    if flow.time_in_system_s is None or flow.arrivals_per_s is None or flow.in_flight is None:
        return [_capacity(p), _little("no steady state: there is no time in system to fill in")]
    each = flow.in_flight / p.scenario.copies
    n = min(max(each, 1.0), flow.holds / p.scenario.copies)
    served, stays = _in_service(p, n)
    wait = f" × {exact(each, 4)} / {exact(n, 4)} = {duration(flow.time_in_system_s)}" if each > n else ""
    system = Step(
        "Time in system (W)", "time in service × (requests inside / requests in service)",
        f"{duration(stays)}{wait or ': nobody waits for a seat'}", "the interactive law, R = N / X, beyond the seats",
    )  # fmt: skip
    little = _little(
        f"{rate(flow.arrivals_per_s)} /s × {duration(flow.time_in_system_s)} = {digits(flow.in_flight)} in flight"
    )
    return [*served, system, little] if flow.mode == "closed" else [*served, system, _capacity(p), little]


def _little(filled: str) -> Step:
    return Step("Little's law", "L = λ × W: in flight = arrivals per second × seconds each stays", filled,
                "Little 1961; an identity, not a promise")  # fmt: skip


def _in_service(p: Plan, n: float) -> tuple[list[Step], float]:
    """How long a request stays with n in service in its copy: the first token, then the steps of its answer."""
    s, e = p.scenario, p.expectation
    loop = loop_of(s, p.work, p.machine, e.decode, e.prefill, n)
    first, stays = float(loop.ttft_s), float(loop.e2e_s)
    allowed = float(residence_of(s, p.work, p.machine, e.prefill, e.decode)(np.array([n]))[0])
    floor = f"; arithmetic allows no less than {duration(allowed)}" if allowed > stays else ""
    alone = first - REQUEST_S if n <= 1 else p.prefill.expected.mid
    waits = "" if n <= 1 else f" + {duration(max(first - alone - REQUEST_S, 0.0))} behind a step and other prompts"
    out = [
        Step(f"First token with n = {exact(n, 4)} in service",
             "first token of a request alone + what lies outside the engine + the wait for the running step and for "
             "other prompts",
             f"{duration(alone)} + {duration(REQUEST_S)}{waits} = {duration(first)}", _SOURCE),
        Step(f"Time in service with n = {exact(n, 4)}",
             "first token + steps of the answer × (a decode step of n + what each step carries of the n − 1 others' "
             "prompts)",
             _answer(p, loop, n) + floor, _SOURCE),
    ]  # fmt: skip
    return out, allowed


def _answer(p: Plan, loop: ClosedLoop, n: float) -> str:
    s = p.scenario
    first, stays = float(loop.ttft_s), float(loop.e2e_s)
    steps = max(s.output - 1, 0) / s.accepted
    prompt = float(prefill_work(p.work, p.machine, s.prompt, s.shared_prefix, p.expectation.prefill, n))
    if n * prompt >= stays:
        return f"{exact(n, 4)} × {duration(prompt)} = {duration(stays)}: the arithmetic of the prompts alone"
    if not steps:
        return f"{duration(first)}: the answer is one token"
    others = f" + {exact(n - 1, 4)} × {duration(prompt)} / {exact(steps)}" if n > 1 else ""
    return f"{duration(first)} + {exact(steps)} × ({duration(float(loop.itl_s))}{others}) = {duration(stays)}"


def _capacity(p: Plan) -> Step:
    flow, copies = p.load, p.scenario.copies
    n = flow.holds / copies
    if not flow.holds:
        return Step("Capacity", "requests held / time in service of as many", "nothing is held", _SOURCE)
    stays = n * copies / flow.capacity_per_s
    return Step(
        "Capacity", "copies × requests held / time in service with as many",
        f"{count(copies)} × {count(n)} / {duration(stays)} = {rate(flow.capacity_per_s)} requests/s, held against "
        f"{rate(p.scenario.rate)} that arrive", _SOURCE,
    )  # fmt: skip
