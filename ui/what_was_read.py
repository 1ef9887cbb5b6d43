"""What the planner read from the config: parameters by part, memory per conversation, and what became of each key."""

import streamlit as st

from planner.config_words import cache_rows, key_rows
from planner.inspect import parts
from planner.plan import Plan
from planner.units import count, params
from ui import charts, show


def expander(p: Plan, said: str) -> None:
    """The expander "What the planner read"; filled only while it is open, open from the start where it was a guess.

    said  what the page says above: warnings that are in it are not said again
    """
    arch = p.architecture
    opened = st.expander(
        f"What the planner read: {show.plain(arch.name)}, {params(arch.total_params)} parameters ({arch.recognised})",
        expanded=arch.recognised == "guessed",
        key=f"read_{arch.recognised}",
        on_change="rerun",
    )
    if not opened.open:
        return
    with opened:
        if arch.recognised == "guessed":
            st.markdown(
                f"**This reading is a guess.** The surest check: does the model's card say {params(arch.total_params)}"
                " parameters too? What was assumed stands at the top of this page."
            )
        for sentence in arch.warnings:
            if sentence not in said:
                st.markdown(f"- {show.plain(sentence)}")
        by_part = parts(arch)
        show.chart(
            [{"part": part, "params": n, "billions": n / 1e9, "shown": params(n)} for part, n in by_part.items()],
            charts.PARAMETERS,
            "Parameters by part of the model.",
        )
        show.table(
            [
                {"Part": part, "Parameters": n, "Share": n / arch.total_params}
                for part, n in (by_part | {"total": arch.total_params}).items()
            ],
            "parameters",
            {"Share": st.column_config.NumberColumn(format="percent")},
        )
        st.markdown(
            f"Active for each token: **{params(arch.active_params)}** of {params(arch.text_params)} parameters of the"
            " language model."
        )
        st.markdown(
            "**Memory of a conversation (KV cache):** what each layer keeps, counted in numbers, each of 2 bytes at"
            " 16 bit."
        )
        show.table(cache_rows(arch), "conversation_memory")
        keys = arch.keys
        st.markdown(
            f"**Keys**, the lines of the config.json: {count(len(keys.used))} were used, {count(len(keys.defaulted))}"
            f" are absent and have their usual value, {count(len(keys.ignored))} were not used."
        )
        show.table(key_rows(arch), "config_keys")
