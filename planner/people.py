"""How many people a capacity is, in words, and the rows of the chart of requests in flight against arrivals."""

from __future__ import annotations

from typing import Any, Final

from planner import curves, service
from planner.findings.capacity import BUSY
from planner.plan import Plan
from planner.units import between, count, digits, rate
from planner.verdicts import inside

# Arrivals are drawn at their place up to this multiple of capacity, and requests in flight up to this multiple of what
# fits at once; what is more stands at the edge and is said to. Judgements: the curve keeps a quarter of the width and
# two fifths of the height.
EDGE: Final = 4.0
TOP: Final = 2.5
_MINUTE: Final = 60


def asking(p: Plan) -> str:
    """People whom the expected capacity serves, each asking once a minute: an identity, rate x 60 s, at both ends."""
    if not p.load.holds:
        return ""
    served = service.served(p).capacity
    low, people, high = (end * _MINUTE for end in (served.low, served.mid, served.high))
    if people < 1:
        seconds = between(1 / served.high, 1 / served.low)
        return (
            "The expected capacity is less than one person who asks once a minute: one request every "
            f"{seconds} seconds (middle {digits(1 / served.mid, 2)})."
        )
    calm = BUSY * people
    spare = (
        f" With {1 - BUSY:.0%} to spare, so that waits stay short, the middle is {count(calm)}." if round(calm) >= 1
        else ""
    )
    users = (
        " The users above ask again as soon as they are answered; people who read and think ask less often, so more of"
        " them can share it."
        if p.load.mode == "closed"
        else ""
    )
    return (
        f"**The expected capacity is about {between(low, high)} people who each ask once a minute** (middle "
        f"{digits(people, 2)}): {digits(served.mid)} requests per second × 60 s.{spare} Assumed: requests of this "
        f"length, spread evenly over the minute. Who asks every ten minutes counts a tenth.{users}"
    )


def arrival_rows(p: Plan) -> list[dict[str, Any]]:
    """Requests in flight against arrivals up to capacity (kind "curve"), and where this scenario stands.

    That is a point (kind "now") in steady state, else the place of the arrivals alone (kind "asked"): past capacity no
    number of requests in flight lasts. What lies far outside the curve is drawn at the edge, and its label says so.
    """
    c, flow = curves.arrivals_curve(p), p.load
    if not c["rate"]:
        return []
    out: list[dict[str, Any]] = [
        {"kind": "curve", "rate": r, "in_flight": n, "stay": s, "holds": flow.holds, "capacity": flow.capacity_per_s,
         "label": ""}
        for r, n, s in zip(c["rate"], c["in_flight"], c["stay"], strict=True)
    ]  # fmt: skip
    here = {"stay": flow.time_in_system_s, "holds": flow.holds, "capacity": flow.capacity_per_s}
    if flow.in_flight is not None:
        top = TOP * flow.holds
        label = f"{inside(p)[0]} in flight{_off(flow.in_flight > top, '↑')}" if flow.in_flight > flow.holds else ""
        return [*out, {"kind": "now", "rate": flow.arrivals_per_s, "in_flight": min(flow.in_flight, top),
                       "label": label, **here}]  # fmt: skip
    edge = EDGE * flow.capacity_per_s
    asked = p.scenario.rate
    label = f"{rate(asked)} asked for{_off(asked > edge, '→')}"
    return [*out, {"kind": "asked", "rate": min(asked, edge), "in_flight": None, "label": label, **here}]


def _off(outside: bool, arrow: str) -> str:
    return f", off the scale {arrow}" if outside else ""
