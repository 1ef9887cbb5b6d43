"""The load at which a server of the scenario should be measured: the scenario's own, as long as it can be served."""

from __future__ import annotations

from typing import Final

from planner.measurements import Load
from planner.plan import Plan
from planner.units import rate, rounded

# Past this share of capacity waits, and with them the first token, depend on how long one measures; see findings.
MOST_OF_CAPACITY: Final = 0.8


def sending(p: Plan) -> tuple[Load, str]:
    """What the commands send, and why that is not what the scenario asks for ("" where it is)."""
    s, flow = p.scenario, p.load
    asked = Load(prompt=s.prompt, output=s.output, users=s.users)
    if s.load == "closed":
        return asked, ""
    if not flow.holds:
        return asked._replace(users=1), "By the plan nothing can be served here, so the commands send one at a time."
    most = MOST_OF_CAPACITY * flow.capacity_per_s
    if s.rate <= most:
        return asked._replace(rate=s.rate), ""
    slower = rounded(most, 2)
    return asked._replace(rate=slower), (
        f"The commands send {rate(slower)} requests per second, {MOST_OF_CAPACITY:.0%} of the expected capacity of "
        f"{rate(flow.capacity_per_s)}: at the {rate(s.rate)} asked for the queue would "
        f"{'be' if flow.steady_state else 'grow without end and be'} what is measured."
    )
