"""How many people? Little's law with this scenario's figures, against what memory holds and what can be served."""

import streamlit as st

from planner import cards, headline, rows, verdicts
from planner import people as crowd
from planner.findings import findings
from planner.units import count
from ui import charts, nav, show

p = nav.plan()
st.title("How many people?")
found = findings(p, headline.CONCERNS["people"])
show.verdict(headline.minding("people", verdicts.people(p), found))
flow = p.load
if flow.holds:
    show.figures(cards.people(p))
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

mine, said = headline.concerning("people", found)
if mine:
    st.header("What stands in the way" if flow.holds else "What to do")
    show.findings(mine, said)

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
