"""Changing the form from code: a scenario file, a finding's change, a calibration."""

from __future__ import annotations

from typing import Any, Final

import streamlit as st

from planner.scenario import DEFAULTS, Scenario
from planner.share import labels, parameters

FIELDS: Final = tuple(DEFAULTS)


def assign_all(scenario: Scenario) -> None:
    """Write a scenario's choices into the bound widgets."""
    st.session_state["config"] = parameters(scenario).get("config", "")
    for name in FIELDS:
        if name == "config" or (name == "model" and scenario.config is not None):
            continue  # a pasted model is not one of the examples
        value = getattr(scenario, name)
        st.session_state[name] = labels(name).get(str(value), value)


def assign(**choices: Any) -> None:
    """Change some choices of the form, as buttons on pages do (a finding's change, a calibration).

    Values take the type of their field, because a widget refuses a whole number where it counts in fractions.
    """
    changed = st.session_state.get("last_good", Scenario()).change(**choices)
    for name in choices:
        value = getattr(changed, name)
        st.session_state[name] = labels(name).get(str(value), value)
