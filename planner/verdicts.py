"""The first sentence of each page: the answer with its number, unit and comparison."""

from __future__ import annotations

from planner.curves import Columns, capacity_ceiling
from planner.findings import Finding
from planner.fleet import Row
from planner.plan import Plan
from planner.precision import FORMATS
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


def _people(n: int) -> str:
    return f"{count(n)} conversation{'' if n == 1 else 's'}"


def fit(p: Plan, found: tuple[Finding, ...]) -> tuple[Tone, str]:
    """Whether it fits."""
    m = p.memory
    per = " per device" if p.layout.devices > 1 else ""
    tokens = p.scenario.prompt + p.scenario.output
    for finding in found:
        if finding.code in ("cannot-load", "cannot-hold-one"):
            change = f" Smallest change: {finding.change.sentence}." if finding.change else ""
            return "bad", f"Does not fit. {finding.sentence}{change}"
        if finding.code == "no-steady-state" and p.loads:
            change = f" Smallest change: {finding.change.sentence}." if finding.change else ""
            return "warn", f"Fits, but cannot keep up. {finding.sentence}{change}"
        if finding.code in ("holds-fewer", "admits-fewer"):
            change = f" Smallest change: {finding.change.sentence}." if finding.change else ""
            return "warn", f"Fits, but not for everyone. {finding.sentence}{change}"
    asked = p.asked * p.scenario.copies if p.scenario.load == "open" else p.scenario.users
    return "good", (
        f"Fits: the weights take {both(m.weights)}{per} and {_people(asked)} of {count(tokens)} tokens "
        f"{gib(m.request * p.asked_per_device)}, within the "
        f"{gib(m.usable * p.utilization)} that {p.engine.name} may take of "
        f"{gib(m.usable)} on {where(p)}. There is room for {count(m.concurrent * p.scenario.copies)} such "
        "conversations."
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
    if each and each.size > 1:
        low, high = (rate(v / each.size) for v in (each.expected.low, each.expected.high))
        fit_ = f" (of {count(p.asked)} asked for, the others wait)" if each.size < p.asked else ""
        alone += (
            f" With {_people(each.size)} at once{fit_} each gets at most {rate(each.ceiling_per_user)} tokens/s; "
            f"expect {low} to {high}."
        )
    return "good", alone


def bits(p: Plan, table: Columns) -> tuple[Tone, str]:
    """Fewer bits: what the narrowest common formats buy against the scenario's own."""
    now = next((i for i, name in enumerate(table["format"]) if name == p.scenario.weights), 0)
    label = table["label"][now]
    parts = []
    for name in ("fp8", "Q8_0", "int4", "Q4_K_M"):
        if name not in table["format"] or name == p.scenario.weights:
            continue
        i = table["format"].index(name)
        if table["weights"][i] > 0.9 * table["weights"][now]:
            continue
        does = (
            f"at most {rate(table['ceiling'][i])} tokens/s and {_people(table['conversations'][i])}"
            if table["ceiling"][i]
            else f"which does not fit{'' if table['ceiling'][now] else ' either'}"
        )
        parts.append(f"{table['label'][i]} they take {gib(table['weights'][i])}, {does}")
    start = f"{label}: weights take {gib(table['weights'][now])} per device"
    if table["ceiling"][now]:
        start += f", at most {rate(table['ceiling'][now])} tokens/s and {_people(table['conversations'][now])}"
    else:
        start += ", and it does not fit"
    tone = "good" if table["ceiling"][now] else "bad"
    return tone, f"{start}. As {'; as '.join(parts)}." if parts else (
        f"{start}. The usual 8 and 4 bit formats would save less than a tenth of that."
    )


def often(per_second: float, of: str = "", beside: float | None = None) -> str:
    """A rate in the unit in which it (or the rate that it stands beside) is no small fraction: "17.4 per minute"."""
    at = per_second if beside is None else beside
    unit, seconds = next(((u, s) for u, s in (("second", 1), ("minute", 60)) if at * s >= 1), ("hour", 3600))
    return f"{rate(per_second * seconds)}{of} per {unit}"


def people(p: Plan) -> tuple[Tone, str]:
    """How many people? Little's law with this scenario's figures."""
    flow = p.load
    if not flow.holds:
        return "bad", f"Nobody: {p.architecture.name} cannot hold one request on {where(p)}. Change something below."
    if flow.mode == "open":
        most = flow.capacity_per_s
        arrive = often(p.scenario.rate, " requests", most)
        if not flow.steady_state:
            return "bad", (
                f"No steady state: {arrive} arrive, and {often(most)} are expected to be served at "
                f"most (arithmetic allows {often(capacity_ceiling(p), beside=most)}). So the queue grows by "
                f"{often(flow.backlog_per_s, beside=most)}."
            )
        assert flow.in_flight is not None and flow.time_in_system_s is not None and flow.utilization is not None
        tone = "warn" if flow.utilization > 0.8 or flow.in_flight > flow.holds else "good"
        return tone, (
            f"{arrive} × {duration(flow.time_in_system_s)} each = {inside(p)[0]} inside at once; {count(flow.holds)} "
            f"fit. That is {flow.utilization:.0%} of the {often(most)} expected at most."
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


def devices(p: Plan, rows: tuple[Row, ...]) -> tuple[Tone, str]:
    """Which devices would do, of those that have shipped."""
    shipped = [r for r in rows if not r.device.announced]
    fit_ = [r for r in shipped if r.fits == "fits" and r.runs]
    own = next(r for r in rows if r.mine)
    later = len(rows) - len(shipped)
    apart = f" ({count(later)} announced ones stand apart in the table)" if later else ""
    if not fit_:
        return "bad", (
            f"No device that has shipped holds this scenario with {p.layout.devices} per copy{apart}. Use more "
            "devices, or fewer bits."
        )
    smallest = min(fit_, key=lambda r: (r.device.memory_bytes_usable, -(r.ceiling or 0)))
    fastest = max(fit_, key=lambda r: (r.ceiling or 0, r.price is not None, -(r.price or 0)))
    rank = sorted((r.ceiling or 0 for r in fit_), reverse=True)
    alike = sum(rate(c) == rate(rank[0]) for c in rank) - 1
    ties = f" and {count(alike)} more alike" if alike else ""
    mine = (
        f"{own.device.label} is number {rank.index(own.ceiling) + 1} of them by decode ceiling ({rate(own.ceiling)} "
        "tokens/s)"
        if own in fit_ and own.ceiling
        else f"{own.device.label} {own.fits if own.runs else 'does not run ' + p.engine.name}"
    )
    return "good" if own in fit_ else "warn", (
        f"{len(fit_)} of {len(shipped)} devices that have shipped hold this scenario{apart}. The smallest is "
        f"{smallest.device.label} ({gib(smallest.device.memory_bytes_usable)}), the fastest "
        f"{fastest.device.label}{ties} (at most {rate(fastest.ceiling or 0)} tokens/s). {mine}."
    )
