"""Fields of the form, bound to the link."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from planner.scenario import DEFAULTS, bounds, kind

BIND: Final = "query-params"


def number(name: str, label: str, *, step: float | None = None, blank: str | None = None, **more: Any) -> None:
    """A bound number field with the scenario's range; `blank` is what an empty field means."""
    low, high = bounds(name)
    assert low is not None and high is not None
    whole = kind(name) is int
    st.number_input(
        label, min_value=kind(name)(low), max_value=kind(name)(high), value=DEFAULTS[name], step=kind(name)(step or 1),
        format="%d" if whole else "%g", key=name, bind=BIND, placeholder=blank, help=more.pop("help", None), **more,
    )  # fmt: skip


def choice(name: str, label: str, options: list[str], default: str, **more: Any) -> None:
    """A bound choice among texts."""
    st.selectbox(label, options, index=options.index(default), key=name, bind=BIND, **more)
