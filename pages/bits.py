"""Fewer bits: what 16, 8 and 4 bit buy, and what each risks."""

import streamlit as st

from planner import bits, headline
from planner.findings import findings
from ui import charts, nav, show

p = nav.plan()
st.title("Fewer bits")
table = bits.weights_table(p)
found = findings(p, headline.CONCERNS["bits"])
show.verdict(headline.minding("bits", bits.verdict(p, table), found))
show.basis(p, others=True)
if p.expectation.calibrated:
    st.markdown(":small[The expected speeds in the table are not calibrated: your measurement is of one format only.]")

show.findings(*headline.concerning("bits", found))

st.header("What fewer bits per weight buy")
show.chart(
    bits.dumbbell(p),
    charts.BITS,
    "Expected band and decode ceiling at 16, 8 and 4 bit on this device and others; no mark where it does not fit.",
)
st.markdown(
    f"Bar: what is expected. Mark: the ceiling; a missing one does not fit. {show.plain(bits.reading(p))}"
)
show.table(bits.table_rows(table), "weights_by_format")

st.header("What each risks, and who can run it")
show.cards(bits.risks(p), "format_risks")

st.header("Conversation memory (KV cache) has its own bits")
st.markdown(
    "It is chosen apart from the weights: it decides how many conversations fit, and long contexts feel its errors"
    " most."
)
rows = bits.kv_rows(p)
words = ("Risk to quality", "Engines")
show.table([{k: v for k, v in row.items() if k not in words} for row in rows], "conversation_memory_by_format")
show.cards([{k: row[k] for k in ("Conversation memory", *words)} for row in rows], "conversation_memory_risks")
