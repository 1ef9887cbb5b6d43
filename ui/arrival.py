"""A link that arrives: vetted once per visit, repaired in the address bar, what was wrong said in plain sentences."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.share import vet
from ui import address, show

_NOTES: Final = "arrival_notes"


def gate() -> None:
    """Until the form is drawn, replace parameters that cannot be used and remember what to say.

    Must come before st.navigation, which writes the page's address.
    """
    if address.drawn():
        return
    given = address.current()
    clean, notes = vet(given)
    if notes:
        st.session_state[_NOTES] = notes
    wanted = {name: [text] for name, text in clean.items()}
    if wanted != given:
        address.write(wanted)
        address.expect(wanted)


def notes() -> None:
    """Show what the link got wrong, until the reader dismisses it."""
    if not (said := st.session_state.get(_NOTES)):
        return
    with st.container(border=True):
        for note in said:
            st.warning(show.plain(note))
        st.button("Understood", key="dismiss_notes", on_click=_dismiss)


def _dismiss() -> None:
    st.session_state[_NOTES] = []
