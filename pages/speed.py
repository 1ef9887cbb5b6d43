"""How fast? Decode ceilings, the first token against the next, and what context and batch do."""

import streamlit as st

from planner import compared, curves, rows, verdicts
from planner.bits import BESIDE
from planner.fleet import fleet
from planner.units import count, duration, gb, rate
from ui import charts, nav, show

p = nav.plan()
st.title("How fast?")
show.verdict(verdicts.speed(p))
d, f, batch = p.decode, p.prefill, p.decode.batch
if p.loads and batch:
    e = p.expectation.basis
    show.figures(
        (
            (
                "Alone, at most",
                f"{rate(d.ceiling)} tokens/s",
                f"{gb(d.bytes_per_step)} are read for each token; {d.bound} binds. Expected: {e}",
                f"expected: {rate(d.expected.low)} to {rate(d.expected.high)}",
            ),
            *(
                (
                    (
                        f"{count(batch.size)} together, at most",
                        f"{rate(batch.ceiling)} tokens/s",
                        f"All conversations of one copy together. Expected: {e}",
                        f"expected: {rate(batch.expected.low)} to {rate(batch.expected.high)}",
                    ),
                )
                if batch.size > 1
                else ()
            ),
            (
                "First token, at least",
                duration(f.floor),
                f"Prefill (reading the prompt) alone, {f.bound} binds; the queue comes on top. Expected: {e}",
                f"expected: {duration(f.expected.low)} to {duration(f.expected.high)}",
            ),
        )
    )
    show.basis(p)

all_rows = fleet(p.scenario)
runs = [r for r in all_rows if r.mine or (r.runs and not r.device.announced)]
ranked = rows.ranked_rows(runs)
some = len(ranked) > 20
st.header(f"{p.device.label} among {'its neighbours and well-known devices' if some else 'other devices'}")
ranks = f"Decode ceilings of one conversation ranked; {p.device.label} can reach {rate(d.ceiling)} tokens/s."
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

    st.header("More conversations: all together, and each")
    crossover = (
        f"From about {count(batch.compute_bound_from)} conversations on arithmetic is the limit"
        if batch.compute_bound_from
        else "Arithmetic never becomes the limit at this context"
    )
    st.markdown(f"{crossover}. Memory is full at {count(batch.memory_full_at)}, where the lines end.")
    left, right = st.columns(2)
    with left:
        show.chart(rows.total_rows(p), charts.TOTAL, "Tokens per second of all conversations against their number.")
    with right:
        show.chart(rows.each_rows(p), charts.EACH, "Tokens per second of each conversation against their number.")
    st.header("The lines in numbers")
    show.table(rows.speed_table(p), "speed_by_conversations")
