"""The slider of users, which can always be pulled further."""

from __future__ import annotations

import streamlit as st

from planner.scenario import DEFAULTS, bounds
from ui.fields import BIND


def draw() -> None:
    """The slider of users. It ends at a power of two well past what is asked, and gets longer when pulled to its end.

    A slider of another length is another widget to Streamlit, which takes its value from the address and not from code.
    So it never gets shorter during a visit, and a number past its end that code asks for (`users_wanted`) is set when
    the browser has drawn the longer one.
    """
    state, most = st.session_state, int(bounds("users")[1] or 0)
    linked = st.query_params.get(
        "users", ""
    )  # when a link arrives, or on the way back, the session does not know it yet
    asked = max(state.get("users") or DEFAULTS["users"], int(linked) if linked.isdecimal() else 0)
    wanted = state.get("users_wanted", 0)
    end = state.get("users_end", 64)
    if wanted and state.pop("users_drawn", False):
        state["users"] = state.pop("users_wanted")
        wanted = 0
    if max(asked, wanted) >= end:
        end = min(2 ** (max(asked, wanted) * 2).bit_length(), most)
    state["users_end"] = end
    st.slider("Users at once", 1, end, DEFAULTS["users"], key="users", bind=BIND)
    if wanted:
        _once_drawn()


@st.fragment(run_every=0.3)
def _once_drawn() -> None:
    """Run the app again when the browser, which has to draw the page first, asks for this part a second time."""
    if st.session_state.get("users_asked"):
        del st.session_state["users_asked"]
        st.session_state["users_drawn"] = True
        st.rerun()
    st.session_state["users_asked"] = True
