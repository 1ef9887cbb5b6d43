"""Evidence: predicted beside measured for every published row, the misses left in."""

import streamlit as st

from planner import evidence
from ui import charts, nav, show

nav.plan()
st.title("Evidence")
top = st.container()
kinds = list(evidence.KINDS.values())
picked = st.segmented_control(
    "What was measured", kinds, default=kinds[0], key="evidence_kind", persist_state="session", required=True
)
kind = next(k for k, label in evidence.KINDS.items() if label == (picked or kinds[0]))
rows, summary = evidence.checked(kind)
with st.container(horizontal=True):
    choices = {
        field: st.multiselect(title, sorted({r[field] for r in rows}), key=f"evidence_{field}", persist_state="session")
        for field, title in (("engine", "Engines"), ("device", "Devices"), ("model", "Models"))
    }
asked = tuple(choices["engine"]), tuple(choices["device"]), tuple(choices["model"])
chosen, found = evidence.choose(rows, *asked), evidence.choose(evidence.drawn(kind), *asked)
shown = evidence.figures(found)
as_drawn, as_listed = evidence.frames(kind, *asked)
with top:
    show.verdict(evidence.verdict(kind, found, shown))
    new = evidence.unmeasured(kind)
    show.figures(
        (
            *(
                ()
                if new is None
                else (
                    ("Median miss, device not fitted", f"{new['median']:.1%}", "With each device left out in turn"),
                    ("Nine in ten, device not fitted", f"{new['p90']:.0%}", "90th percentile of that miss"),
                    (
                        "Inside the band, device not fitted",
                        f"{new['inside']:.0%}",
                        "80 % are due: the band goes from the 10th to the 90th percentile",
                    ),
                )
            ),
            (
                "Rows predicted",
                f"{shown['n']:,}",
                "Published rows with a known device, config, engine and format, suspect ones apart",
            ),
            (
                "Median miss" if new is None else "Median miss, as fitted",
                "unknown" if shown["median"] is None else f"{shown['median']:.1%}",
                "Half of the rows are missed by less",
            ),
            (
                "Nine in ten within" if new is None else "Nine in ten, as fitted",
                "unknown" if shown["p90"] is None else f"{shown['p90']:.0%}",
                "90th percentile of the miss",
            ),
            *(
                ()
                if shown["inside"] is None
                else (
                    (
                        "Inside the band" if new is None else "Inside the band, as fitted",
                        f"{shown['inside']:.0%}",
                        "80 % are due: the band goes from the 10th to the 90th percentile",
                    ),
                )
            ),
            *(
                (("Suspect", f"{shown['suspect']:,}", "Shown, but kept out of fits and of these figures"),)
                if shown["suspect"]
                else ()
            ),
        )
    )
spec = {"serving_latency": "time", "memory_log": "memory"}.get(kind, "rate")
show.chart(as_drawn, charts.EVIDENCE[spec], f"Measured against the bound on log axes for {len(found)} rows.")
st.markdown(
    {
        "rate": "Line: the ceiling, which nothing real may pass. Pale bars: the band that the planner expects.",
        "time": "Line: the floor, below which no answer can come. Pale bars: the band that the planner expects.",
        "memory": "Line: predicted equals logged.",
    }[spec]
)

st.header("On a device that nobody measured")
st.markdown(
    "The rows above took part in the fit. This is the error when each device in turn is left out of it, band included."
    " Closed loop: a fixed number of users, each waiting for the answer before asking again."
)
columns = ("What", "Median miss", "Nine in ten within", "Inside the band", "Rows")
show.reading([{name: row[name] for name in columns} for row in evidence.left_out()], "evidence_left_out_of_the_fit")
st.markdown("Means and biases, and the same by engine, device class and weight type, stand in `docs/evidence.md`.")

st.header("By engine")
show.table(evidence.by_engine(summary), "evidence_summary")
st.header("Every row, the largest misses first")
show.table(as_listed, "evidence_rows", height=420)
unknown = evidence.skipped(chosen)
if unknown:
    st.header("Rows without a prediction, and why")
    show.reading(unknown, "evidence_left_out")
st.markdown(f"The same on the command line: `python -m planner validate data/measurements/{kind}.csv`.")
