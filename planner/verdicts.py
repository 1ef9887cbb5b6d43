"""The first sentence of each page: the answer with its number, unit and comparison."""

from __future__ import annotations

from planner.curves import capacity_ceiling
from planner.findings import Change, Finding
from planner.plan import Plan
from planner.precision import FORMATS
from planner.resolve import budget_of
from planner.units import both, count, digits, duration, gib, rate

Tone = str  # good, warn, bad


def where(p: Plan) -> str:
    """The hardware of one copy, and how many copies: "2 x H100 80GB SXM, 3 copies"."""
    one = f"{p.layout.devices} x {p.device.label}" if p.layout.devices > 1 else p.device.label
    return f"{one}, {p.scenario.copies} copies" if p.scenario.copies > 1 else one


def scenario(p: Plan) -> str:
    """The scenario in one line, for the head of each page."""
    s = p.scenario
    guessed = "" if p.architecture.recognised == "exact" else " (guessed from its config)"
    weights = "as published" if s.weights == "checkpoint" else f"as {FORMATS[s.weights].label}"
    people = f"{count(s.users)} user{'' if s.users == 1 else 's'} at once" if s.load == "closed" else (
        f"{s.rate:,.10g} requests/s"
    )
    cached = f" ({count(s.shared_prefix)} of it cached)" if s.shared_prefix else ""
    calibrated = ", calibrated on your measurement" if p.expectation.calibrated else ""
    return (
        f"{p.architecture.name}{guessed} {weights} on {where(p)}, {p.engine.name}{calibrated}: {people}, prompt "
        f"{count(s.prompt)}{cached}, answer {count(s.output)} tokens."
    )


def past_capacity(p: Plan) -> bool:
    """Whether requests arrive faster than they are expected to be served, so that the queue grows without end."""
    return p.loads and p.scenario.load == "open" and not p.load.steady_state


def _people(n: int) -> str:
    return f"{count(n)} conversation{'' if n == 1 else 's'}"


def fit(p: Plan, found: tuple[Finding, ...]) -> tuple[Tone, str]:
    """Whether it fits."""
    m = p.memory
    per = " per device" if p.layout.devices > 1 else ""
    tokens = p.scenario.prompt + p.scenario.output
    for finding in found:
        change = _smallest(p, finding.change) if finding.change else ""
        if finding.code in ("cannot-load", "cannot-hold-one"):
            return "bad", f"Does not fit. {finding.sentence}{change}"
        if finding.code == "no-steady-state" and p.loads:
            return "bad", f"Fits, but cannot keep up. {finding.sentence}{change}"
        if finding.code in ("holds-fewer", "admits-fewer"):
            return "warn", f"Fits, but not for everyone. {finding.sentence}{change}"
    asked = p.asked * p.scenario.copies if p.scenario.load == "open" else p.scenario.users
    return "good", (
        f"Fits: the weights take {both(m.weights)}{per} and {_people(asked)} of {count(tokens)} tokens "
        f"{gib(m.request * p.asked_per_device)}, within the "
        f"{gib(m.usable - m.outside)} that {p.engine.name} may take of "
        f"{gib(m.usable)} on {where(p)}. There is room for {count(m.concurrent * p.scenario.copies)} such "
        "conversations."
    )


def _smallest(p: Plan, change: Change) -> str:
    """The smallest change; where it is a smaller reserve of the engine, why it helps and what comes of it."""
    if set(change.choices) != {"max_num_seqs"} or p.memory.activations <= 0:
        return f" Smallest change: {change.sentence}."
    after = budget_of(p.scenario.change(**change.choices))
    if after.activations >= p.memory.activations:
        return f" Smallest change: {change.sentence}."
    return (
        f" {p.engine.name} sets {gib(p.memory.activations)} aside to be ready for up to {count(p.seqs)} requests at "
        f"once. Smallest change: told to admit at most {count(change.choices['max_num_seqs'])}, it sets "
        f"{gib(after.activations)} aside and holds {count(after.concurrent * p.scenario.copies)}."
    )


def speed(p: Plan) -> tuple[Tone, str]:
    """How fast it is."""
    if not p.loads:
        name = p.architecture.name
        return "bad", f"No speed to show: {name} cannot hold one request on {where(p)}. See “Does it fit?”."
    d, f = p.decode, p.prefill
    each = p.decode.batch
    alone = (
        f"One conversation of {p.architecture.name} on {where(p)} gets at most {rate(d.ceiling)} tokens/s; "
        f"expect {rate(d.expected.low)} to {rate(d.expected.high)}. "
        f"Its first token takes {duration(f.floor)} at least; "
        f"expect {duration(f.expected.low)} to {duration(f.expected.high)}."
    )
    past = past_capacity(p)
    if each and each.size > 1:
        low, high = (rate(v / each.size) for v in (each.expected.low, each.expected.high))
        fit_ = ""
        if each.size < p.asked:
            fit_ = ", all that fit," if past else f" (of {count(p.asked)} asked for, the others wait)"
        alone += (
            f" With {_people(each.size)} at once{fit_} each gets at most {rate(each.ceiling_per_user)} tokens/s; "
            f"expect {low} to {high}."
        )
    if past:
        return "bad", f"Cannot keep up: the queue grows, and the first token waits in it as well. {alone}"
    return "good", alone


def often(per_second: float, of: str = "") -> str:
    """A rate per second, a small one per minute or hour too: "0.29 per second (17.4 per minute)"."""
    said = f"{rate(per_second)}{of} per second"
    if not 0 < per_second < 1:
        return said
    unit, seconds = ("minute", 60) if per_second * 60 >= 1 else ("hour", 3600)
    return f"{said} ({rate(per_second * seconds)} per {unit})"


def people(p: Plan) -> tuple[Tone, str]:
    """How many people? Little's law with this scenario's figures."""
    flow = p.load
    if not flow.holds:
        return "bad", f"Nobody: {p.architecture.name} cannot hold one request on {where(p)}. Change something below."
    if flow.mode == "open":
        most = flow.capacity_per_s
        arrive = often(p.scenario.rate, " requests")
        if not flow.steady_state:
            return "bad", (
                f"No steady state: {arrive} arrive; the expected capacity is {often(most)}, the ceiling "
                f"{often(capacity_ceiling(p))}. So the queue grows by {often(flow.backlog_per_s)}."
            )
        assert flow.in_flight is not None and flow.time_in_system_s is not None and flow.utilization is not None
        tone = "warn" if flow.utilization > 0.8 or flow.in_flight > flow.holds else "good"
        return tone, (
            f"{arrive} × {duration(flow.time_in_system_s)} each = {inside(p)[0]} inside at once; {count(flow.holds)} "
            f"fit. That is {flow.utilization:.0%} of the expected capacity, {often(most)}."
        )
    assert flow.arrivals_per_s is not None and flow.time_in_system_s is not None
    users, stays = p.scenario.users, duration(flow.time_in_system_s)
    served = f"{often(flow.arrivals_per_s, ' requests')} are served in all"
    if users <= flow.holds:
        people = "1 user fits" if users == 1 else f"All {count(users)} users fit at once"
        return "good", (
            f"{people}; up to {count(flow.holds)} would. Each request takes about {stays}, so {served}."
        )
    return "warn", (
        f"Not everyone at once: {count(flow.holds)} of {count(users)} users fit, the others wait their turn. Each "
        f"request takes about {stays}, the wait included, so {served}."
    )


def inside(p: Plan) -> tuple[str, str]:
    """Requests inside at once, waiting ones included, and how many of them fit."""
    flow = p.load
    if flow.in_flight is None:
        return "grows", f"{count(flow.holds)} fit, the queue grows"
    whole = flow.mode == "closed" or flow.in_flight >= 100
    said = count(flow.in_flight) if whole else digits(flow.in_flight)
    room = f"{count(flow.holds)} fit"
    return said, f"{room}, the others wait" if flow.in_flight > flow.holds else room
