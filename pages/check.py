"""Check my server: a tool's output beside floor, ceiling and band, what to do about it, and calibration."""

import streamlit as st

from planner import checking as check
from ui import charts, checking, nav, show, this_machine

p = nav.plan()
st.title("Check my server")
measured = checking.pasted()
found = check.compare(measured, p) if measured is not None and not isinstance(measured, str) else None
answer = check.verdict(found) if found else check.outlook(p)
if isinstance(measured, str):
    st.error(show.plain(measured))
else:
    show.verdict(answer)
figures = found.figures if found else check.planned(p) if p.loads else ()
show.figures(check.headlines(figures))
if figures:
    spec = charts.SHARES if found else charts.SHARES_USUAL
    show.chart(check.chart_rows(figures), spec, check.chart_words(figures))
    st.markdown(f":small[{check.chart_legend(figures)}]")
checking.undo(p)

st.header("Measure and paste")
checking.measuring(p, opened=measured is None)
checking.box()
if found:
    checking.recognised(found)
    checking.take_over(found, p)

    if more := [advice for advice in found.advice if advice.sentence not in answer[1]]:
        st.header("What to do, worst first")
        for advice in more:
            show.advice(advice.severity, advice.sentence)

    st.header("Calibrate")
    checking.calibrate(found)

    st.header("The figures")
    st.markdown(f":small[“Expected” comes from {show.plain(found.basis)}.]")
    show.table(check.figure_table(found), "check_figures")
    if runs := check.run_rows(found.measured, p):
        show.table(runs, "check_runs")

st.header("Measure this machine")
this_machine.section()
