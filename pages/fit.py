"""Does it fit? The memory budget of this scenario, here and on other devices."""

import streamlit as st

from planner import curves, headline, rows, verdicts
from planner.findings import findings
from planner.fleet import fleet
from planner.units import both, count, exact, gib
from ui import charts, nav, show, what_was_read

p = nav.plan()
found = findings(p)
st.title("Does it fit?")
answer = headline.minding("fit", verdicts.fit(p, found), found)
show.verdict(answer)
m = p.memory
show.figures(
    (
        ("Weights", gib(m.weights), "On each device: " + both(m.weights)),
        ("Room for conversations", gib(m.pool), "What is left of the engine's share of memory on each device"),
        (
            "One conversation",
            gib(m.request),
            f"Conversation memory (KV cache) of {count(p.scenario.prompt + p.scenario.output)} tokens on each device,"
            " and what a further token takes where memory grows without bound",
            m.further,
        ),
        ("Holds at once", count(m.concurrent * p.scenario.copies), "Conversations of this length, all copies"),
    )
)
show.findings([f for f in found if f.severity != "info"], answer[1])

st.header("Where the memory goes, here and on devices of similar size")
near = curves.budgets(p.scenario, fleet(p.scenario))
show.chart(
    rows.budget_rows(near, p.layout.attention_data),
    charts.BUDGET,
    f"Stacked bars of memory per device against its capacity; on {p.device.label}: {p.fits}.",
)
past = (
    "what passes it does not fit, and where arrivals cannot be kept up with all seats are taken."
    if p.scenario.load == "open"
    else "bars that pass it hold fewer conversations than asked for, or none (→: the bar would be longer)."
)
st.markdown(
    f"The black mark is what the device exposes; {past} The engine's own needs are scratch memory for a running step"
    " (activations), its libraries and graphs, and tables and rounding: position tables, and what the memory"
    " allocator rounds up."
)

st.header("Memory grows with context and conversations")
asked = curves.inside(p)
end = curves.ends_at(p, asked) if p.loads else None
if end:
    each = f"{count(asked)} conversations" if asked > 1 else "1 conversation"
    most = p.architecture.max_positions
    past = f", past the {count(most)} that the model was made for" if most and end > most else ""
    st.markdown(
        f"With {each}{' per copy' if p.scenario.copies > 1 else ''}, memory ends at about"
        f" **{exact(end, 3)} tokens each**{past}."
    )
show.chart(
    rows.growth_rows(p), charts.GROWTH, "Memory taken against tokens per conversation, with the limit as a line."
)

st.header("The budget in numbers")
show.table(rows.budget_table(p), "memory_budget")
what_was_read.expander(p, " ".join(f.sentence for f in found))
notes = [f for f in found if f.severity == "info"]
if notes:
    st.header("Worth knowing")
    show.findings(notes)
