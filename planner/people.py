"""How many people a capacity is, in words, and the rows of the chart of requests in flight against arrivals."""

from __future__ import annotations

from typing import Any, Final

from planner import curves
from planner.findings.capacity import BUSY
from planner.plan import Plan
from planner.units import count, rate
from planner.verdicts import inside, often

# Arrivals are drawn at their place up to this multiple of capacity, and requests in flight up to this multiple of what
# fits at once; what is more stands at the edge and is said to. Judgements: the curve keeps a quarter of the width and
# two thirds of the height.
EDGE: Final = 4.0
TOP: Final = 1.5
_MINUTE: Final = 60


def asking(p: Plan) -> str:
    """People whom the expected capacity serves, each asking once a minute: an identity, rate x 60 s."""
    served = p.load.capacity_per_s
    if not p.load.holds:
        return ""
    people, calm = served * _MINUTE, BUSY * served * _MINUTE
    if people < 1:
        seconds = f"{count(1 / served)} seconds"
        return f"The expected capacity is less than one person who asks once a minute: one request every {seconds}."
    who = "1 person who asks" if round(people) == 1 else f"{count(people)} people who each ask"
    spare = f", or {count(calm)} with {1 - BUSY:.0%} to spare, so that waits stay short" if round(calm) >= 1 else ""
    users = (
        " The users above ask again as soon as they are answered; people who read and think ask less often, so more of"
        " them can share it."
        if p.load.mode == "closed"
        else ""
    )
    return (
        f"**The expected capacity is about {who} once a minute**{spare}: {rate(served)} requests per "
        f"second × 60 s. Assumed: requests of this length, spread evenly over the minute. Who asks every ten "
        f"minutes counts a tenth.{users}"
    )


def card(per_second: float, ceiling: float | None = None) -> tuple[str, str | None]:
    """A rate as a figure, per second, and the line below it: a small one per minute or hour, and its ceiling."""
    figure, _, small = often(per_second).partition(" (")
    most = "" if ceiling is None else often(ceiling)
    head, _, bracket = most.partition(" (")
    if small and bracket and small.split()[-1] == bracket.split()[-1]:
        head = f"{bracket.split()[0]}"
    below = [small.removesuffix(")"), f"ceiling: {head}" if most else ""]
    return figure, "; ".join(part for part in below if part) or None


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
