"""How many people? Little's law with this scenario's figures, against what memory holds and what can be served."""

import streamlit as st

from planner import curves, rows, verdicts
from planner.findings import findings
from planner.units import count, digits, duration, rate
from ui import charts, nav, show

p = nav.plan()
st.title("How many people?")
show.verdict(verdicts.people(p))
flow = p.load
blank = "grows" if flow.mode == "open" and flow.holds else "–"
show.figures(
    (
        (
            "In flight (L)",
            digits(flow.in_flight) if flow.in_flight is not None else blank,
            "Requests inside at once: arrivals × time in system",
        ),
        ("Arrivals (λ)", f"{rate(flow.arrivals_per_s)} /s" if flow.arrivals_per_s else blank, "Requests per second"),
        (
            "Time in system (W)",
            duration(flow.time_in_system_s) if flow.time_in_system_s else blank,
            "Seconds a request stays, expected",
        ),
        ("Fit at once", count(flow.holds), "Requests that memory holds and the engine admits, all copies"),
        (
            "Served at most, expected",
            f"{rate(flow.capacity_per_s)} /s" if flow.holds else blank,
            "Service rate at the largest batch",
        ),
        (
            "Arithmetic allows",
            f"{rate(curves.capacity_ceiling(p))} /s" if flow.holds else blank,
            "The same with nothing lost: no real system beats it",
        ),
    )
)
show.basis(p)
answers = (
    "open loop: arrivals do not wait for answers"
    if flow.mode == "open"
    else "closed loop: each user waits for the answer"
)
st.markdown(
    f"This page answers a **{answers}**. A closed loop can never show overload; switch to arrivals to see it."
    if flow.mode == "closed"
    else f"This page answers an **{answers}**, so a queue can grow without end."
)

st.header("Requests in flight against arrivals")
show.chart(
    rows.arrival_rows(p),
    charts.ARRIVALS,
    f"Requests in flight against arrivals per second; memory holds {count(flow.holds)}.",
)
if flow.holds:
    st.markdown(
        "Green: what fits at once. Dashed red line: the most that is expected to be served. More arrivals than that"
        " have no steady state: the queue grows for as long as they last."
    )

found = [
    f
    for f in findings(p)
    if f.code in (
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
    st.header("What stands in the way")
    show.findings(found)

st.header("What the law says, and what it does not")
st.markdown(
    "**L = λ × W** is an identity: whatever happens, requests in flight equal arrivals per second times the seconds"
    " each stays (10 per second × 2 s = 20). It promises no capacity. Near capacity W grows, so L grows too; throughput"
    " can still rise while the slowest answers take twice as long. Count only answers that met their limits (goodput),"
    " over **all** requests sent, failed ones included."
)
if flow.holds:
    st.header("The line in numbers")
    show.table(rows.arrivals_table(p), "arrivals")
