"""Devices beside each other: how many of the table would do, and two compared in words."""

from __future__ import annotations

from collections.abc import Callable, Collection

from planner import roofline
from planner.fleet import Row
from planner.plan import Plan, mean_context
from planner.resolve import work_of
from planner.roofline import Machine
from planner.scenario import Scenario
from planner.units import count, digits, duration, gib, rate

_KINDS: tuple[tuple[str, Callable[[Row], bool]], ...] = (
    ("do", lambda r: r.serves),
    ("behind", lambda r: r.runs and r.behind),
    ("fewer", lambda r: r.runs and r.fits == "holds fewer than asked"),
    ("none", lambda r: r.runs),
)


def census(rows: Collection[Row]) -> dict[str, int]:
    """Devices by what becomes of the scenario on them; each is counted once.

    Keys: do (all that is asked), behind (cannot keep up with the arrivals), fewer (hold fewer than asked), none (cannot
    hold one request), "no engine" (the engine does not run there), announced (not shipped).
    """
    out = dict.fromkeys((*(name for name, _ in _KINDS), "no engine", "announced"), 0)
    for row in rows:
        kind = next((name for name, test in _KINDS if test(row)), "no engine")
        out["announced" if row.device.announced else kind] += 1
    return out


def counted(p: Plan, rows: Collection[Row]) -> str:
    """The census in one sentence."""
    n = census(rows)
    parts = [
        f"{count(n['do']) if n['do'] else 'none'} {'keep up with it' if p.scenario.load == 'open' else 'hold it'}",
        f"{count(n['behind'])} cannot keep up" if n["behind"] else "",
        f"{count(n['fewer'])} hold fewer conversations than asked for" if n["fewer"] else "",
        f"{count(n['none'])} cannot hold one request" if n["none"] else "",
        f"{p.engine.name} does not run on {count(n['no engine'])}" if n["no engine"] else "",
        f"{count(n['announced'])} {'is' if n['announced'] == 1 else 'are'} announced only" if n["announced"] else "",
    ]
    each = f" ({p.layout.devices} of each per copy)" if p.layout.devices > 1 else ""
    return f"Of {count(len(rows))} devices{each}, {', '.join(part for part in parts if part)}."


def band(low: float | None, high: float | None) -> str:
    """An expected band: "52.1 to 60.3"."""
    return f"{rate(low or 0)} to {rate(high or 0)}"


def wait(row: Row) -> str:
    """The expected band of the first token: "80.1 ms to 484 ms"."""
    return f"{duration(row.ttft_low or 0)} to {duration(row.ttft_high or 0)}"


def census_words(p: Plan, rows: Collection[Row]) -> str:
    """The census, and how many of those that do are no parts of one server where a copy takes several devices."""
    fit = [r for r in rows if r.serves and not r.device.announced]
    apart = sum(not r.joins for r in fit) if p.layout.devices > 1 else 0
    if not apart:
        return counted(p, rows)
    boxes = "is a box or processor" if apart == 1 else "are boxes or processors"
    return f"{counted(p, rows)} Of the {count(len(fit))}, {count(apart)} {boxes} that no link joins into one server."


def devices(p: Plan, rows: tuple[Row, ...]) -> tuple[str, str]:
    """What becomes of the scenario on one's own device, and which others would do, of those that have shipped."""
    own = next(r for r in rows if r.mine)
    fit = [r for r in rows if r.serves and not r.device.announced]
    if not fit:
        return "bad", _none(p, rows)
    # One copy on several devices needs devices that are built to be joined.
    named = [r for r in fit if r.joins] if p.layout.devices > 1 else fit
    each = f"{p.layout.devices} x " if p.layout.devices > 1 else ""
    said = [_own(p, own, fit, each)]
    if named:
        fastest = max(named, key=lambda r: (r.mid or 0, r.price is not None, -(r.price or 0)))
        least = min(named, key=lambda r: (r.device.memory_bytes_usable, -(r.mid or 0)))
        alike = sum(r is not fastest and (r.high or 0) >= (fastest.low or 0) for r in named)
        ties = f"; {count(alike)} more may be as fast" if alike else ""
        said.append(
            f"Expected to be fastest: {each}{fastest.device.label} ({_speed(fastest)}{ties}). Least memory: "
            f"{each}{least.device.label} ({gib(least.device.memory_bytes_usable)}{' each' if each else ''})."
        )
        priced = [r for r in named if r.price is not None]
        if priced:
            cheapest = min(priced, key=lambda r: (r.price or 0, -(r.mid or 0)))
            said.append(
                f"Cheapest of {count(len(priced))} with a known price: {each}{cheapest.device.label} "
                f"({cheapest.price:,.2f} USD per hour{' for all copies' if p.scenario.copies > 1 else ''})."
            )
    return "good" if own in fit else "warn", " ".join(said)


def _speed(row: Row) -> str:
    return f"{band(row.low, row.high)} tokens/s for one conversation, at most {rate(row.ceiling or 0)}"


def _own(p: Plan, own: Row, fit: list[Row], each: str) -> str:
    """One's own device among those that do all that is asked."""
    others = f"{count(len(fit))} device{'' if len(fit) == 1 else 's'} that {'does' if len(fit) == 1 else 'do'}"
    if own in fit and own.mid is not None:
        place = sum((r.mid or 0) > own.mid for r in fit) + 1
        does = "keeps up" if p.scenario.load == "open" else "holds it"
        return f"{each}{own.device.label} {does}: number {place} of {others} by what is expected ({_speed(own)})."
    does = own.verdict if own.runs else f"does not run {p.engine.name}"
    if own.serves and own.device.announced:
        does = "would do, but is announced only"
    return f"{each}{own.device.label} {does}; there {'is' if len(fit) == 1 else 'are'} {others}."


def _none(p: Plan, rows: Collection[Row]) -> str:
    """Why no shipped device does: room, or pace, and then what the best of them serves."""
    per = f" with {p.layout.devices} per copy" if p.layout.devices > 1 else ""
    behind = [r for r in rows if r.behind and r.runs and not r.device.announced]
    if not behind:
        return f"No device that has shipped holds this scenario{per}: use more devices, or fewer bits."
    best = max(behind, key=lambda r: r.capacity or 0)
    copies = f" on {p.scenario.copies} copies" if p.scenario.copies > 1 else ""
    return (
        f"No device that has shipped can keep up with {p.scenario.rate:,.10g} requests/s{per}: the best, "
        f"{best.device.label}, is expected to serve {rate(best.capacity or 0)} per second{copies}. Use more copies."
    )


def beside(ratio: float, what: str) -> str:
    """A ratio as people say it: "61% of the bandwidth", "1.6 times the bandwidth", "the same bandwidth"."""
    if abs(ratio - 1) < 0.005:
        return f"the same {what}"
    if ratio < 1:
        return f"{digits(100 * ratio, 2)}% of the {what}"
    return f"{digits(ratio, 3 if ratio >= 100 else 2)} times the {what}"


def compare(s: Scenario, first: Row, second: Row) -> str:
    """Why the second device does or doesn't change decode and prefill: what is expected, then what arithmetic allows.

    first, second  rows of the fleet of this scenario
    """
    a, b = first.device, second.device
    done = work_of(s)
    context = mean_context(s.prompt, s.output)
    machines = [Machine.of(d, done, s.engine_row).bound for d in (a, b)]
    steps = [roofline.decode_parts(done, m, 1, context) for m in machines]
    reads = all(bool(math < traffic) for math, traffic in steps)
    parts = [roofline.prefill_parts(done, m, s.prompt, s.shared_prefix) for m in machines]
    binds = [bool(math >= traffic) for math, traffic in parts]
    why = "what binds it differs between the two"
    if len(set(binds)) == 1:
        why = "it is bound by arithmetic" if binds[0] else "it is bound by memory here"
    decode = [float(roofline.decode_rate(done, m, 1, context)) for m in machines]
    floors = [float(roofline.prefill_time(done, m, s.prompt, s.shared_prefix)) for m in machines]
    cannot = {True: "cannot hold one request of this scenario", False: f"does not run {s.engine_row.name}"}
    lacking = [
        f"{r.device.label} {cannot[r.runs]}"
        for r in (first, second) if r.ceiling is None or not r.runs
    ]  # fmt: skip
    known = not lacking
    bands = f"{band(second.low, second.high)} tokens/s against {band(first.low, first.high)}"
    expects = f"expect {bands}; " if known else ""
    soon = f"expect {wait(second)} against {wait(first)}; " if known else ""
    follows = ", since it reads memory for every token and so follows the bandwidth" if reads else ""
    note = f" {' and '.join(lacking)}, so this is arithmetic only." if lacking else ""
    return (
        f"Compared with {a.label}, {b.label} has {beside(b.bandwidth / a.bandwidth, 'bandwidth')} and "
        f"{beside(b.peak('fp16')[0] / a.peak('fp16')[0], '16-bit FLOP/s')}. Decode (writing the answer): {expects}"
        f"at most {digits(decode[1])} against {digits(decode[0])}{'' if known else ' tokens/s'}{follows}."
        f"{_turned(first, second) if known else ''} The first token: {soon}at least {duration(floors[1])} against "
        f"{duration(floors[0])}, since {why}.{note}"
    )


def _turned(first: Row, second: Row) -> str:
    """Said where the order of what is expected is not that of the ceilings."""
    if not (first.mid and second.mid and first.ceiling and second.ceiling):
        return ""
    if (second.mid - first.mid) * (second.ceiling - first.ceiling) >= 0:
        return ""
    ahead, behind = (first, second) if first.mid > second.mid else (second, first)
    assert ahead.mid and ahead.ceiling and behind.mid and behind.ceiling
    return (
        f" So {behind.device.label} has the higher ceiling, but {ahead.device.label} is expected to be faster: "
        f"software is expected to reach {behind.mid / behind.ceiling:.0%} of the ceiling on the former and "
        f"{ahead.mid / ahead.ceiling:.0%} on the latter."
    )
