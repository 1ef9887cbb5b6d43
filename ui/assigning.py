"""Changing the form from code: a scenario file, a finding's change, a calibration, the slider of users.

The browser sends what its fields show with every click. A click that was on its way when code changed a field brings
the old value, and Streamlit takes it for the reader's choice. The address, into which the browser writes each choice at
once, tells whether it has heard of the change.
"""

from __future__ import annotations

from time import monotonic
from typing import Any, Final

import streamlit as st

from planner.errors import PlannerError
from planner.scenario import CUSTOM, DEFAULTS, Scenario
from planner.share import labels, parameters
from planner.share.option_texts import to_value

FIELDS: Final = tuple(DEFAULTS)

_PUT: Final = "put_by_code"
# Seconds after the form was drawn anew for which an old value counts as one that was on its way. A judgement: the way
# to the browser and back takes a fraction of one, and nobody sees a change and takes it back by hand faster than that.
GRACE_S: Final = 0.6


def put(name: str, value: Any) -> None:
    """Set a field of the form from code."""
    state = st.session_state
    pending = state.setdefault(_PUT, {})
    _, former, _ = pending.get(name, (None, (), None))
    pending[name] = (value, (*former, _blank(state.get(name))), None)
    state[name] = value


def settle() -> None:
    """Make the fields hold what the reader and code have chosen. Must come before the form, once it is drawn."""
    state = st.session_state
    stated = {name: _field(name, text) for name, text in st.query_params.items() if name in FIELDS}
    pending = state.get(_PUT, {})
    for name, (value, former, at) in list(pending.items()):
        shown, held = _blank(stated.get(name, usual(name))), _blank(state.get(name))
        heard = shown == _blank(value) or (at is not None and monotonic() - at > GRACE_S)
        if heard or held not in (_blank(value), *former):  # or the reader has chosen anew
            del pending[name]
        elif shown in former:
            state[name] = value


def drawn() -> None:
    """Note that the form is drawn with what code has set."""
    pending = st.session_state.get(_PUT, {})
    for name, (value, former, at) in pending.items():
        pending[name] = (value, former, monotonic() if at is None else at)


def told() -> dict[str, Any]:
    """What code has set and the browser has not heard of, of the fields that the form will show."""
    skipped = hidden()
    return {name: value for name, (value, _, _) in st.session_state.get(_PUT, {}).items() if name not in skipped}


def hidden() -> set[str]:
    """Fields that the form does not show: a device's figures, the other way to give the load.

    The session keeps what was typed into them, so that it is there when they come back.
    """
    state = st.session_state
    names = {"users" if state.get("load") == labels("load")["open"] else "rate"}
    if state.get("device") != CUSTOM:
        names |= {name for name in FIELDS if name.startswith("device_")}
    return names


def forget() -> None:
    """Take nothing for set by code any more: back and forward ask for what the address says."""
    st.session_state.pop(_PUT, None)


def usual(name: str) -> Any:
    """What a field shows when the address does not name it."""
    value = "" if name == "config" else DEFAULTS.get(name, "")
    return labels(name).get(str(value), value)


def _blank(value: Any) -> Any:
    """A text field that is empty holds "" or None."""
    return "" if value is None else value


def _field(name: str, text: str) -> Any:
    """What a field holds when the address says this; None where the address says nothing that it can hold."""
    try:
        value = text if name == "config" else to_value(name, text)
    except PlannerError:
        return None
    return labels(name).get(str(value), value)


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
