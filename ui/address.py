"""The address bar: it names every choice of the form, whatever the reader clicked and when."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from planner.scenario import DEFAULTS, Scenario
from planner.share import labels, parameters, scenario_from, to_text

_ARRIVED: Final = "arrived_with"
_ORDER: Final = "address_order"


def expect(choices: dict[str, str]) -> None:
    """Remember the choices of the link that opened the visit, until the form has been drawn with them."""
    st.session_state[_ARRIVED] = choices


def drawn() -> None:
    """The form is drawn: from now on the session itself knows the choices; the address's order is remembered."""
    st.session_state.pop(_ARRIVED, None)
    st.session_state[_ORDER] = list(st.query_params)


def keep() -> None:
    """Put back the choices that the address lost. Must come before st.navigation, which writes the page's address.

    A menu click carries over only the parameters whose widgets the browser has drawn by then; a click in the first
    second of a visit is faster than that. Back and forward are left alone: what they ask for is in the address.

    Streamlit offers no public way to write the parameters of bound widgets, and assigning the widgets' values sends a
    message for each, which is an entry of the browser's history each. So its own copy of the address is completed here,
    and told to the browser once, in the order it had: an address that reads the same is no new entry.
    """
    context = get_script_run_ctx()
    if context is None or context.is_history_navigation:
        return
    unseen = _not_yet_drawn()
    # The session also holds choices that no longer count, such as those of a device typed in before.
    counting = parameters(st.session_state.get("last_good", Scenario()))
    lost = {**unseen, **_held(counting)}
    if not lost:
        return
    before = st.session_state.get(_ORDER) or list(st.session_state.get(_ARRIVED) or ())
    names = sorted(lost, key=lambda name: before.index(name) if name in before else len(before))
    with context.session_state.query_params() as address:
        for name in names:
            address.set_with_no_forward_msg(name, to_text(lost[name]))
        address.set_corrected_value(names[-1], to_text(lost[names[-1]]), "string_value")
    for name, value in lost.items():  # the browser may have missed the values too: assigned ones are sent again
        st.session_state[name] = value


def _held(names: Iterable[str]) -> dict[str, Any]:
    """Of these fields, what the session holds, and neither the address names nor the form shows without being told."""
    held = {name: st.session_state.get(name) for name in names if name not in st.query_params}
    return {name: value for name, value in held.items() if value not in (None, "") and value != _usual(name)}


def _not_yet_drawn() -> dict[str, Any]:
    """Choices of the link that opened the visit, where its first run ended before their widgets were drawn."""
    arrived = st.session_state.get(_ARRIVED) or {}
    lost = {n: t for n, t in arrived.items() if n != "v" and n not in st.query_params and n not in st.session_state}
    if not lost:
        return {}
    scenario = scenario_from(lost)
    return {name: text if name == "config" else _shown(name, getattr(scenario, name)) for name, text in lost.items()}


def _shown(name: str, value: object) -> object:
    """A choice as its widget holds it."""
    return labels(name).get(str(value), value)


def _usual(name: str) -> object:
    """What a field shows when the link does not name it."""
    return _shown(name, DEFAULTS.get(name, ""))
