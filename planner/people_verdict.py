"""The sentence that answers “How many people?”: Little's law with the scenario's figures, expectations as bands."""

from __future__ import annotations

from typing import Final

from planner import curves, promises, service
from planner.band import Band
from planner.findings.rules import NEAR
from planner.headline import past_capacity, requests, where
from planner.plan import Plan
from planner.promises import Tone
from planner.units import between, count, digits, duration, exact, rate, span

# A request stays so many times as long as one alone would before the answer is a warning. A judgement: an answer ten
# times as late is another product to whoever tried it alone, whatever fits.
LONG: Final = 10.0


def often(per_second: float, of: str = "") -> str:
    """A rate per second, a small one per minute or hour too: "0.29 per second (17.4 per minute)"."""
    said = f"{rate(per_second)}{of} per second"
    if not 0 < per_second < 1:
        return said
    unit, seconds = ("minute", 60) if per_second * 60 >= 1 else ("hour", 3600)
    return f"{said} ({rate(per_second * seconds)} per {unit})"


def expected_rate(band: Band, of: str = "") -> str:
    """A band of rates per second: "0.171 to 0.492 requests per second (10.3 to 29.5 per minute; middle 0.291)".

    With as many digits as ceilings have, so that rounding never carries the band past one.
    """
    said = f"{between(band.low, band.high, 3)}{of} per second"
    middle = f"middle {digits(band.mid)}"
    if band.high >= 1:
        return f"{said} ({middle})"
    unit, seconds = ("minute", 60) if band.high * 60 >= 1 else ("hour", 3600)
    return f"{said} ({between(band.low * seconds, band.high * seconds, 3)} per {unit}; {middle})"


def people(p: Plan) -> tuple[Tone, str]:
    """How many people? Little's law with this scenario's figures; first the limits that are not kept."""
    flow = p.load
    if not flow.holds:
        return "bad", f"Nobody: {p.architecture.name} cannot hold one request on {where(p)}. Change something below."
    tone, answer = _arrivals(p) if flow.mode == "open" else _users(p)
    limits, missed = promises.faults(p)
    # Past capacity everything else follows from that.
    said = (answer, missed) if past_capacity(p) else (missed, answer, promises.kept(p))
    return promises.worse(tone, limits), " ".join(part for part in said if part)


def _arrivals(p: Plan) -> tuple[Tone, str]:
    """Arrivals held against what is expected to be served."""
    flow, ends = p.load, service.served(p)
    asked, most = p.scenario.rate, ends.capacity
    arrive = f"{requests(asked)} per second"
    expected = f"{expected_rate(most)} are expected to be served, at most {often(curves.capacity_ceiling(p))}"
    if not flow.steady_state:
        # At the fast end alone the copies may keep up: there the queue does not grow.
        grows = between(max(asked - most.high, 0.0), asked - most.low)
        queue = f"by up to {often(asked - most.low)}" if asked <= most.high else f"by {grows} per second"
        comes = "arrives" if asked == 1 else "arrive"
        return "bad", f"No steady state: {arrive} {comes}; {expected}. So the queue grows {queue}."
    assert flow.time_in_system_s is not None and flow.utilization is not None and flow.in_flight is not None
    stay, held = ends.stay, ends.in_flight
    slow, many = _long(p)
    tone = "warn" if flow.utilization > NEAR or flow.in_flight > flow.holds or asked >= most.low or slow else "good"
    room = f"{count(flow.holds)} fit"
    if stay and held:
        law = (
            f"{arrive} × {span(stay.low, stay.high)} each{many} = {between(held.low, held.high)} inside at once "
            f"(middle {exact(flow.in_flight, 2)}); {room}."
        )
    else:
        law = (
            f"{arrive} × {duration(flow.time_in_system_s)} each{many} = {inside(p)[0]} inside at once; {room}. That is "
            "the middle: at the low end of what is expected the queue would grow."
        )
    return tone, f"{law} Arrivals are {_share(flow.utilization)} of the expected capacity: {expected}."


def _share(part: float) -> str:
    return "less than 1%" if part < 0.005 else f"{part:.0%}"


def _users(p: Plan) -> tuple[Tone, str]:
    """Users who each wait for their answer: whether all are held, how long each stays, and what is served."""
    flow, ends = p.load, service.served(p)
    users, stay, out = p.scenario.users, ends.stay, ends.answered
    assert stay is not None and out is not None
    slow, many = _long(p)
    waits = users > flow.holds
    time = f"{span(stay.low, stay.high)}{', the wait included' if waits else ''} (middle {duration(stay.mid)}){many}"
    rates = expected_rate(out, " requests")
    served = f"Each request is expected to take {time}; {rates} are served in all."
    if waits:
        fit_ = f"{count(flow.holds)} of {count(users)} users fit, the others wait their turn"
        return "warn", f"Not everyone at once: {fit_}. {served}"
    fits = "1 user fits" if users == 1 else f"All {count(users)} users fit at once"
    return "warn" if slow else "good", f"{fits}; up to {count(flow.holds)} would. {served}"


def _long(p: Plan) -> tuple[bool, str]:
    """Whether each request stays very many times as long as one alone would, and the words that say so."""
    alone, stays = service.alone(p), p.load.time_in_system_s
    if stays is None or stays <= LONG * alone:
        return False, ""
    return True, f", about {count(stays / alone)} times as long as one alone would ({duration(alone)})"


def inside(p: Plan) -> tuple[str, str]:
    """Requests inside at once, waiting ones included, and how many of them fit."""
    flow = p.load
    if flow.in_flight is None:
        return "grows", f"{count(flow.holds)} fit, the queue grows"
    whole = flow.mode == "closed" or flow.in_flight >= 100
    said = count(flow.in_flight) if whole else exact(flow.in_flight, 3)
    room = f"{count(flow.holds)} fit"
    return said, f"{room}, the others wait" if flow.in_flight > flow.holds else room
