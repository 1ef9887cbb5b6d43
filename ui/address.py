"""The address bar: it names every choice of the form, whatever the reader clicked and when.

A menu click carries over only the parameters whose widgets the browser has drawn by then, and may end a run before the
form is drawn. A click in the first second of a visit is faster than that; then the choices are put back here.

Streamlit offers no public way to write the parameters of bound widgets, and assigning the widgets' values sends a
message for each, which is an entry of the browser's history each. So its own copy of the address is completed, and told
to the browser once, in the order it had: an address that reads the same is no new entry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qs

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from planner.scenario import Scenario
from planner.share import parameters, to_text
from ui import assigning

_DRAWN: Final = "form_was_drawn"
_GIVEN: Final = "address_of_the_visit"
_MARK: Final = "_"
_ORDER: Final = "address_order"


def keep() -> None:
    """Put back the choices that the address lost. Must come before st.navigation, which writes the page's address.

    What back and forward ask for is in the address that the browser sent; nothing else counts then.
    """
    context, state = get_script_run_ctx(), st.session_state
    if context is None:
        return
    if context.is_history_navigation:
        assigning.forget()
        # Streamlit drops a parameter whose widget the browser says nothing of, as after a click before it was drawn.
        asked = parse_qs(context.query_string, keep_blank_values=True)
        if not asked.keys() <= st.query_params.to_dict().keys():
            write(asked, list(asked))
        return
    if not drawn():
        given = state.setdefault(_GIVEN, current())
        if lost := {name: texts for name, texts in given.items() if name not in st.query_params}:
            write({**lost, **current()}, list(given))
        return
    assigning.settle()
    _tell()
    if lost_choices := _held():
        texts = {name: [to_text(value)] for name, value in lost_choices.items()}
        write({**current(), **texts}, state.get(_ORDER, ()))
        for name, value in lost_choices.items():  # the browser may have missed the values too
            state[name] = value


def _tell() -> None:
    """Write what code has set into the address at once; the widgets would write it one by one."""
    params = current()
    for name, value in assigning.told().items():
        if value in (None, "") or value == assigning.usual(name):
            params.pop(name, None)
        else:
            params[name] = [to_text(value)]
    if params != current():
        write(params, st.session_state.get(_ORDER, ()))


def current() -> dict[str, list[str]]:
    """The parameters of the address as they stand, each with all its values."""
    return {name: st.query_params.get_all(name) for name in st.query_params}


def write(params: Mapping[str, list[str]], order: Sequence[str] = ()) -> None:
    """Make these the parameters of the address, in one message; those in `order` first, as there."""
    context = get_script_run_ctx()
    if context is None:
        return
    places = {name: place for place, name in enumerate(order)}
    with context.session_state.query_params() as address:
        address.clear_with_no_forward_msg(preserve_embed=True)
        for name in sorted(params, key=lambda name: places.get(name, len(places))):
            texts = params[name]
            address.set_with_no_forward_msg(name, texts if len(texts) > 1 else texts[0])
        # Taking a parameter away is what tells the browser.
        address.set_with_no_forward_msg(_MARK, "")
        address.remove_param(_MARK)
        address.set_initial_query_params_from_current()  # from which widgets that are new in this run take their values


def expect(params: Mapping[str, list[str]]) -> None:
    """From now on, these are the parameters that the visit came with."""
    st.session_state[_GIVEN] = params


def drawn() -> bool:
    """Whether the form was drawn in this visit: then the session itself knows the choices."""
    return bool(st.session_state.get(_DRAWN))


def remember() -> None:
    """Note that the form is drawn, and the order of the address."""
    assigning.drawn()
    st.session_state[_DRAWN] = True
    st.session_state[_ORDER] = list(st.query_params)


def _held() -> dict[str, Any]:
    """What the session holds, and neither the address names nor the form shows without being told.

    The session also holds choices that no longer count, such as those of a device typed in before.
    """
    counting = parameters(st.session_state.get("last_good", Scenario()))
    held = {name: st.session_state.get(name) for name in counting if name not in st.query_params}
    return {name: value for name, value in held.items() if value not in (None, "") and value != assigning.usual(name)}
