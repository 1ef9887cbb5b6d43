"""How it is computed: each formula with this scenario's numbers, sources, and a glossary."""

import streamlit as st

from planner import method
from ui import nav, show

p = nav.plan()
st.title("How it is computed")
show.verdict(method.verdict(p))
if p.loads:
    show.basis(p)

st.header("The formulas with this scenario's numbers")
with st.grid(min_column_width=400):
    for step in method.steps(p):
        with st.container(border=True):
            st.markdown(
                f"**{show.plain(step.title)}**\n\n{show.plain(step.formula)}\n\n= {show.plain(step.filled)}\n\n"
                f":small[Source: {show.plain(step.source)}]"
            )

st.header("The textbook form")
st.markdown(
    "Tokens per second = bandwidth / bytes of weights, nothing else counted; for 8 billion parameters at 2 bytes (16"
    " GB):"
)
show.table(method.textbook(), "textbook")

st.header("Ceiling and expectation")
st.markdown(
    "A **ceiling** is arithmetic: shares of 1 and no overheads. An **expectation** is measured, comes as a band, and"
    " says what it rests on. The two are never mixed."
)
st.header("Words")
show.reading([{"Word": word, "Meaning": meaning} for word, meaning in method.GLOSSARY.items()], "glossary")
