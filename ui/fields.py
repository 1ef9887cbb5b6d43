"""Fields of the form, bound to the link."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from planner.scenario import DEFAULTS, bounds

BIND: Final = "query-params"


def number(name: str, label: str, *, step: float | None = None, blank: str | None = None, **more: Any) -> None:
    """A bound number field with the scenario's range; `blank` is what an empty field means."""
    low, high = bounds(name)
    assert low is not None and high is not None
    whole = isinstance(DEFAULTS[name], int) or name in ("max_num_seqs", "max_num_batched_tokens")
    kind = int if whole else float
    least = low if whole or low > 0 else 0.001
    st.number_input(
        label, min_value=kind(least), max_value=kind(high), value=DEFAULTS[name], step=kind(step or 1),
        format="%d" if whole else "%g", key=name, bind=BIND, placeholder=blank, help=more.pop("help", None), **more,
    )  # fmt: skip


def choice(name: str, label: str, options: list[str], default: str, **more: Any) -> None:
    """A bound choice among texts."""
    st.selectbox(label, options, index=options.index(default), key=name, bind=BIND, **more)
