"""Devices: which hold this scenario, what is expected of them, the source of each figure, and two compared."""

import streamlit as st

from planner import compared, fleet_rows
from planner.fleet import fleet
from ui import charts, nav, show, sources

p = nav.plan()
st.title("Devices")
everything = fleet(p.scenario)
show.verdict(compared.devices(p, everything))
st.markdown(show.plain(compared.census_words(p, everything)))
show.basis(p, others=True)

st.header("Two devices compared")
labels = [r.device.label for r in everything]
usual = ("L40S", "A100 80GB SXM", "H100 80GB SXM", "H200 141GB SXM", "MI300X", "B200 180GB SXM")
others = [label for label in usual if label != p.device.label]
held = {r.device.label for r in everything if r.ceiling is not None and r.runs}
other = next((label for label in others if label in held), others[0])
with st.container(horizontal=True):
    first = st.selectbox(
        "This", labels, index=labels.index(p.device.label), key="compare_first", persist_state="session"
    )
    second = st.selectbox("against", labels, index=labels.index(other), key="compare_second", persist_state="session")
one, two = (next(r for r in everything if r.device.label == label) for label in (first, second))
st.markdown(show.plain(compared.compare(p.scenario, one, two)))
show.chart(
    fleet_rows.map_rows(everything, (first, second)),
    charts.MAP_OPEN if p.scenario.load == "open" else charts.MAP,
    "Memory bandwidth against 16-bit compute of every device; right means faster decode, up means faster prefill.",
)

st.header("The whole table")
with st.container(horizontal=True):
    does = "hold this scenario" if p.scenario.load == "closed" else "keep up with the arrivals"
    only = st.checkbox(f"Only those that {does}", key="only_fitting", persist_state="session")
    vendors = st.multiselect(
        "Vendors", sorted({r.device.vendor for r in everything}), key="only_vendors", persist_state="session"
    )
chosen = [
    r for r in everything if (not only or r.serves) and (not vendors or r.device.vendor in vendors)
]
# Narrow enough that a phone shows the number beside the name.
name = {"Device": st.column_config.Column(width=190)}
show.table(fleet_rows.device_rows(sorted(chosen, key=fleet_rows.table_order)), "devices", name, height=420)
st.markdown(
    "Blank is unknown. “Announced”: the vendor has not shipped it. Prices are on-demand quotes of their date, never a"
    " promise."
)

st.header("Where a device's figures come from")
sources.of(p.device)
