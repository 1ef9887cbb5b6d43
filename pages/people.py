"""How many people? Little's law with this scenario's figures, against what memory holds and what can be served."""

import streamlit as st

from planner import curves, rows, verdicts
from planner import people as crowd
from planner.findings import findings
from planner.units import count, duration
from ui import charts, nav, show

p = nav.plan()
st.title("How many people?")
show.verdict(verdicts.people(p))
flow = p.load
if flow.holds:
    held, room = verdicts.inside(p)
    arriving, arriving_small = crowd.card(p.scenario.rate if flow.mode == "open" else flow.arrivals_per_s or 0.0)
    served, served_most = crowd.card(flow.capacity_per_s, curves.capacity_ceiling(p))
    show.figures(
        (
            (
                "Inside at once (L)",
                held,
                "Requests in flight, those that wait their turn included: arrivals × the time each stays",
                room,
            ),
            (
                "Each stays (W)",
                duration(flow.time_in_system_s) if flow.time_in_system_s else "grows",
                "Expected time from sending a request to the end of its answer, the wait included",
            ),
            (
                "Arriving (λ)" if flow.mode == "open" else "Answered (λ)",
                arriving,
                "Requests that come in and, where the queue does not grow, go out again",
                arriving_small,
            ),
            (
                "Expected capacity",
                served,
                "What real servers are expected to serve with as many requests at once as fit. Below: the ceiling,"
                " which no software beats",
                served_most,
            ),
        )
    )
    st.markdown(crowd.asking(p))
    show.basis(p)
    st.markdown(
        "Counted here: **users who each wait for their answer before they ask again** (a closed loop), so that overload"
        " cannot show. Choose arrivals per second to see it."
        if flow.mode == "closed"
        else "Counted here: **requests that come whether or not earlier ones are answered** (an open loop), so that a"
        " queue can grow without end."
    )

    st.header("Requests in flight against arrivals")
    show.chart(
        crowd.arrival_rows(p),
        charts.ARRIVALS_PAST
        if flow.in_flight is None
        else charts.ARRIVALS_WAIT
        if flow.in_flight > flow.holds
        else charts.ARRIVALS,
        f"Requests in flight against arrivals per second; {count(flow.holds)} fit at once."
        + (f" {verdicts.often(p.scenario.rate)} are asked for, past capacity." if flow.in_flight is None else ""),
    )
    st.markdown(
        "Green: what fits at once. Dashed red line: the expected capacity. More arrivals than that have no steady"
        " state: the queue grows for as long as they last."
        + (
            " Black line: the arrivals asked for."
            if flow.in_flight is None
            else ""
        )
    )

found = [
    f
    for f in findings(p)
    if f.code
    in (
        "no-steady-state",
        "near-capacity",
        "holds-fewer",
        "admits-fewer",
        "ttft-impossible",
        "tpot-impossible",
        "cannot-load",
        "cannot-hold-one",
    )
]
if found:
    st.header("What stands in the way" if flow.holds else "What to do")
    # The verdict has said in its own words that the queue grows.
    show.findings(found, " ".join(f.sentence for f in found if f.code == "no-steady-state"))

st.header("What the law says, and what it does not")
st.markdown(
    "**L = λ × W** is an identity (Little's law): requests in flight equal arrivals per second times the seconds each"
    " stays (10 per second × 2 s = 20). It promises no capacity.\n\nNear capacity W grows, so L grows too. Throughput"
    " can still rise while the slowest answers take twice as long. So count only answers that came within"
    " the limits you set (the field calls that goodput), over **all** requests sent, failed ones included."
)
if flow.holds:
    st.header("The line in numbers")
    show.table(rows.arrivals_table(p), "arrivals")
