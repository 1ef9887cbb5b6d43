"""How many people? Little's law with this scenario's figures, against what memory holds and what can be served."""

import streamlit as st

from planner import curves, rows, verdicts
from planner.findings import findings
from planner.units import count, duration
from ui import charts, nav, show

p = nav.plan()
st.title("How many people?")
show.verdict(verdicts.people(p))
flow = p.load
if flow.holds:
    held, room = verdicts.inside(p)
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
                verdicts.often(p.scenario.rate, beside=flow.capacity_per_s)
                if flow.mode == "open"
                else verdicts.often(flow.arrivals_per_s or 0.0),
                "Requests that come in and, where the queue does not grow, go out again",
            ),
            (
                "Can be served, at most",
                verdicts.often(curves.capacity_ceiling(p), beside=flow.capacity_per_s),
                "Requests with all seats taken. Above: with nothing lost, which no real system beats. Below: expected"
                " of real servers",
                f"expected: {verdicts.often(flow.capacity_per_s)}",
            ),
        )
    )
    show.basis(p)
    st.markdown(
        "This page answers a **closed loop: each user waits for the answer**, so it can never show overload. Switch to"
        " arrivals to see it."
        if flow.mode == "closed"
        else "This page answers an **open loop: arrivals do not wait for answers**, so a queue can grow without end."
    )

    st.header("Requests in flight against arrivals")
    show.chart(
        rows.arrival_rows(p),
        charts.ARRIVALS,
        f"Requests in flight against arrivals per second; memory holds {count(flow.holds)}.",
    )
    st.markdown(
        "Green: what fits at once. Dashed red line: the most that is expected to be served. More arrivals than that"
        " have no steady state: the queue grows for as long as they last."
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
    " can still rise while the slowest answers take twice as long. So count only answers that met their limits"
    " (goodput), over **all** requests sent, failed ones included."
)
if flow.holds:
    st.header("The line in numbers")
    show.table(rows.arrivals_table(p), "arrivals")
