"""What the planner read from the config: parameters by part, memory per conversation, and what became of each key."""

import streamlit as st

from planner.inspect import inspect, parts
from planner.plan import Plan
from planner.units import count, params
from ui import charts, show


def expander(p: Plan) -> None:
    """The expander "What the planner read"; filled only while it is open, open from the start where it was a guess."""
    arch = p.architecture
    opened = st.expander(
        f"What the planner read: {arch.name}, {params(arch.total_params)} parameters ({arch.recognised})",
        expanded=arch.recognised == "guessed",
        key=f"read_{arch.recognised}",
        on_change="rerun",
    )
    if not opened.open:
        return
    with opened:
        if arch.recognised == "guessed":
            st.warning("This reading is a guess. Check the assumptions below against the model's card.")
        for sentence in arch.warnings:
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
        answer = inspect(arch)
        st.markdown(
            f"Active for each token: **{params(arch.active_params)}** of {params(arch.text_params)} parameters of the"
            " language model."
        )
        st.markdown("**Memory per conversation** = fixed part + slope × tokens, for each kind of layer:")
        show.table(answer["cache"], "conversation_memory")
        keys = answer["keys"]
        st.markdown(
            f"**Keys**: {count(len(keys['used']))} used, {count(len(keys['defaulted']))} absent and defaulted,"
            f" {count(len(keys['ignored']))} ignored."
        )
        show.table(
            [
                *({"Key": k, "What became of it": "used", "Value": ""} for k in keys["used"]),
                *(
                    {"Key": k, "What became of it": "absent: class default", "Value": str(v)}
                    for k, v in keys["defaulted"].items()
                ),
                *({"Key": k, "What became of it": "ignored", "Value": ""} for k in keys["ignored"]),
            ],
            "config_keys",
        )
