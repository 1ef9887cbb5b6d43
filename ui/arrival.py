"""A link that arrives: vetted once per visit, repaired in the address bar, what was wrong said in plain sentences."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.share import vet
from ui import address

_SEEN: Final = "arrived"
_NOTES: Final = "arrival_notes"


def gate() -> None:
    """On the first run of a visit, replace parameters that cannot be used and remember what to say.

    Must come after st.navigation, or the reader lands on the home page.
    """
    if st.session_state.get(_SEEN):
        return
    st.session_state[_SEEN] = True
    given = {name: st.query_params.get_all(name) for name in st.query_params}
    clean, notes = vet(given)
    st.session_state[_NOTES] = notes
    address.expect(clean)
    if clean != {name: values[-1] for name, values in given.items()} or any(len(v) > 1 for v in given.values()):
        st.query_params.from_dict(clean)
        st.rerun()


def notes() -> None:
    """Show what the link got wrong, until the reader dismisses it."""
    if not (said := st.session_state.get(_NOTES)):
        return
    with st.container(border=True):
        for note in said:
            st.warning(note)
        st.button("Understood", key="dismiss_notes", on_click=_dismiss)


def _dismiss() -> None:
    st.session_state[_NOTES] = []
