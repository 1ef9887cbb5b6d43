"""The figures in a row above a page's charts: label, value, what it is, and a line below the value."""

from __future__ import annotations

from planner import curves, service
from planner.band import Band
from planner.people_verdict import inside, often
from planner.plan import Plan
from planner.units import between, count, digits, duration, gb, rate, span
from planner.verdicts import between_prompts, per_copy

Card = tuple[str, str, str, str | None]


def speed(p: Plan) -> list[Card]:
    """One conversation alone, all together, each over its whole answer, and the first token; empty if nothing fits."""
    d, f, all_ = p.decode, p.prefill, service.together(p)
    if not p.loads or all_ is None:
        return []
    e = p.expectation.basis
    out: list[Card] = [
        ("Alone, at most", f"{rate(d.ceiling)} tokens/s",
         f"{gb(d.bytes_per_step)} are read for each token; {d.bound} binds. Expected: {e}",
         f"expected: {rate(d.expected.low)} to {rate(d.expected.high)}"),
    ]  # fmt: skip
    if all_.size > 1:
        out.append((
            f"{count(all_.size)} together, at most", f"{rate(all_.ceiling)} tokens/s",
            f"All conversations at once{per_copy(p)}, while no prompt is read. Expected: {e}",
            f"expected: {rate(all_.expected.low)} to {rate(all_.expected.high)}",
        ))  # fmt: skip
    if slower := between_prompts(p):
        out.append((
            "Each, whole answer", f"{rate(slower.low)} to {rate(slower.high)} tokens/s",
            f"Expected for each conversation at once{per_copy(p)} over its whole answer: 1 / TPOT, with the others'"
            " prompts, which are read in between",
            f"all together: {between(slower.low * all_.size, slower.high * all_.size, 3)}",
        ))  # fmt: skip
    out.append((
        "First token, at least", duration(f.floor),
        f"Prefill (reading the prompt) alone, {f.bound} binds; the queue comes on top. Expected: {e}",
        f"expected: {duration(f.expected.low)} to {duration(f.expected.high)}",
    ))  # fmt: skip
    return out


def people(p: Plan) -> list[Card]:
    """L, W, λ and capacity, expectations as bands with their middle; empty if nothing is held."""
    flow = p.load
    if not flow.holds:
        return []
    ends = service.served(p)
    waits = flow.in_flight is not None and flow.in_flight > flow.holds
    held, below = inside(p)
    if flow.mode == "open" and (band := ends.in_flight):
        held, below = between(band.low, band.high), f"middle {held}; {below}"
    arriving: tuple[str, str | None] = (f"{p.scenario.rate:,.10g} per second", _small(p.scenario.rate))
    if flow.mode == "closed" and ends.answered:
        arriving = rate_card(ends.answered)
    stays, served = _stays(flow.time_in_system_s, ends.stay), rate_card(ends.capacity, curves.capacity_ceiling(p))
    return [
        ("Inside or waiting (L)" if waits else "Inside at once (L)", held,
         "Requests in flight, those that wait their turn included: arrivals × the time each stays", below),
        ("Each stays (W)", stays[0],
         "Expected time from sending a request to the end of its answer, the wait included", stays[1]),
        ("Arriving (λ)" if flow.mode == "open" else "Answered (λ)", arriving[0],
         "Requests that come in and, where the queue does not grow, go out again", arriving[1]),
        ("Expected capacity", served[0],
         "What real servers are expected to serve with as many requests at once as fit. Below: the ceiling, which no"
         " software beats", served[1]),
    ]  # fmt: skip


def _stays(mid: float | None, band: Band | None) -> tuple[str, str | None]:
    """How long each stays, and its middle; without a steady state it grows, at the slow end alone it may."""
    if mid is None:
        return "grows", None
    if band is None:
        return duration(mid), "the middle; grows at the low end of capacity"
    return span(band.low, band.high), f"middle {duration(mid)}"


def _small(per_second: float) -> str | None:
    """A small rate once more, per minute or hour."""
    _, _, small = often(per_second).partition(" (")
    return small.removesuffix(")") or None


def rate_card(band: Band, ceiling: float | None = None) -> tuple[str, str]:
    """A band of rates per second as a figure, and the line below it: its middle, and a ceiling, per second as well."""
    most = "" if ceiling is None else f"; ceiling: {rate(ceiling)}"
    return f"{between(band.low, band.high, 3)} per second", f"middle {digits(band.mid)}{most}"
