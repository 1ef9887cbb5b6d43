"""How fast? Decode ceilings, the first token against the next, and what context and batch do."""

import streamlit as st

from planner import cards, compared, curves, headline, rows, verdicts
from planner.bits import BESIDE
from planner.findings import findings
from planner.fleet import fleet
from planner.units import count, duration, rate
from ui import charts, nav, show

p = nav.plan()
st.title("How fast?")
found = findings(p, headline.CONCERNS["speed"])
show.verdict(headline.minding("speed", verdicts.speed(p), found))
d, f, batch = p.decode, p.prefill, p.decode.batch
if p.loads and batch:
    show.figures(cards.speed(p))
    st.markdown(show.plain(verdicts.each(p)))
    show.basis(p)
show.findings(*headline.concerning("speed", found))

all_rows = fleet(p.scenario)
runs = [r for r in all_rows if r.mine or (r.runs and not r.device.announced)]
ranked = rows.ranked_rows(runs)
some = len(ranked) > 20
st.header(f"{show.plain(p.device.label)} among {'its neighbours and well-known devices' if some else 'other devices'}")
can = f"; {p.device.label} can reach {rate(d.ceiling)} tokens/s" if p.loads else ""
ranks = f"Decode ceilings of one conversation ranked{can}."
show.chart(rows.around_mine(ranked, BESIDE) if some else ranked, charts.RANKED, ranks)
if some:
    everyone = st.expander(f"All {len(ranked)} devices", key="all_devices", on_change="rerun")
    if everyone.open:
        with everyone:
            show.chart(ranked, charts.RANKED, ranks)
st.markdown(
    f"Bar: the ceiling. Dark line: what is expected. {show.plain(compared.counted(p, all_rows))} Drawn are the shipped"
    " ones that hold one request; the page “Devices” lists all."
    + (" Only your own device is calibrated here." if p.expectation.calibrated else "")
)

if p.loads and batch:
    st.header("Why the first token takes longer than the next")
    st.markdown(
        "Prefill reads the whole prompt at once, decode one token at a time. The longer of the two bars is what binds."
    )
    show.chart(
        rows.phase_rows(p),
        charts.PHASES,
        f"Prefill takes {duration(f.floor)}, a further token {duration(1 / d.ceiling)}.",
    )

    st.markdown(
        "In the charts below, the solid line is what no software beats: a ceiling for tokens/s, a floor for seconds."
        " The band is what is expected, its middle dashed. The dotted upright line is this scenario."
    )
    left, right = st.columns(2)
    with left:
        st.header("First token against prompt length")
        show.chart(
            rows.marked(curves.prompt_curve(p), "tokens", p.scenario.prompt),
            charts.PROMPT,
            "Seconds to the first token against prompt length, with and without the cached prefix.",
        )
    with right:
        st.header("Decode slows as the context fills")
        show.chart(
            rows.marked(curves.context_curve(p), "tokens", d.context),
            charts.CONTEXT,
            "Tokens per second of one conversation against its context.",
        )

    one = " in one copy" if p.scenario.copies > 1 else ""
    st.header(f"More conversations{one}: all together, and each")
    crossover = (
        f"From about {count(batch.compute_bound_from)} conversations on arithmetic is the limit"
        if batch.compute_bound_from
        else "Arithmetic never becomes the limit at this context"
    )
    st.markdown(
        f"{crossover}. {verdicts.ends(p)}, where the lines end. They are of decode alone, while no prompt is read."
    )
    left, right = st.columns(2)
    with left:
        total = f"Tokens per second of all conversations{one} against their number."
        show.chart(rows.total_rows(p), charts.TOTAL, total)
    with right:
        show.chart(rows.each_rows(p), charts.EACH, "Tokens per second of each conversation against their number.")
    st.header(f"The lines in numbers{', one copy' if one else ''}")
    show.table(rows.speed_table(p), "speed_by_conversations")
