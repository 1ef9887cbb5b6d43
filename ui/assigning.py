"""Changing the form from code: a scenario file, a finding's change, a calibration, the slider of users.

The browser sends what all its fields show with every click. A click that was on its way when code changed a field still
brings the old value, which Streamlit takes for the reader's choice. So for a moment such an old value is set right.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from planner.scenario import DEFAULTS, Scenario
from planner.share import labels, parameters

FIELDS: Final = tuple(DEFAULTS)

_PUT: Final = "put_by_code"
# Seconds for which an old value counts as one that was on its way. A judgement: a run on a busy server and the way to
# the browser take one, and nobody takes a choice back by hand faster than two.
GRACE_S: Final = 2.0


def put(name: str, value: Any) -> None:
    """Set a field of the form from code."""
    state = st.session_state
    pending = state.setdefault(_PUT, {})
    _, former, _ = pending.get(name, (None, (), 0.0))
    pending[name] = (value, (*former, state.get(name)), monotonic())
    state[name] = value


def insist() -> None:
    """Set right what a click brought that left before the browser heard of a change. Must come before the form.

    Back and forward ask for what is in the address, whatever code has set.
    """
    state, context = st.session_state, get_script_run_ctx()
    pending = state.get(_PUT, {})
    if context is not None and context.is_history_navigation:
        pending.clear()
    for name, (value, former, at) in list(pending.items()):
        if monotonic() - at > GRACE_S:
            del pending[name]
        elif state.get(name) != value and state.get(name) in former:
            state[name] = value


def assign_all(scenario: Scenario) -> None:
    """Write a scenario's choices into the bound widgets."""
    put("config", parameters(scenario).get("config", ""))
    for name in FIELDS:
        if name == "config" or (name == "model" and scenario.config is not None):
            continue  # a pasted model is not one of the examples
        value = getattr(scenario, name)
        put(name, labels(name).get(str(value), value))


def assign(**choices: Any) -> None:
    """Change some choices of the form, as buttons on pages do (a finding's change, a calibration).

    Values take the type of their field, because a widget refuses a whole number where it counts in fractions.
    """
    changed = st.session_state.get("last_good", Scenario()).change(**choices)
    for name in choices:
        value = getattr(changed, name)
        put(name, labels(name).get(str(value), value))
