"""Navigation, and the guard that keeps a deep link on a fresh server from running a page without its frame."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit, urlunsplit

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from planner.plan import Plan

_KEY: Final = "plan_of_this_run"

PAGES: Final = (
    ("pages/fit.py", "Does it fit?", "fit"),
    ("pages/speed.py", "How fast?", "speed"),
    ("pages/bits.py", "Fewer bits", "bits"),
    ("pages/people.py", "How many people?", "people"),
    ("pages/devices.py", "Devices", "devices"),
    ("pages/check.py", "Check my server", "check"),
    ("pages/evidence.py", "Evidence", "evidence"),
    ("pages/method.py", "How it is computed", "method"),
)


def pages() -> list[StreamlitPage]:
    """The pages in menu order; the first is the one that opens, at "/".

    At its own address, which Streamlit would not know, it is once more, outside the menu.
    """
    first, title, address = PAGES[0]
    return [
        st.Page(first, title=title, url_path="start", default=True),
        *(st.Page(path, title=title, url_path=url) for path, title, url in PAGES[1:]),
        st.Page(first, title=title, url_path=address, visibility="hidden"),
    ]


def shared(address: str) -> str:
    """The address to put into a link: the first page at "/", where the menu marks it."""
    parts = urlsplit(address)
    folder, _, last = parts.path.rpartition("/")
    path = parts.path if last and last != PAGES[0][2] else f"{folder}/"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))


def provide(plan: Plan) -> None:
    """Hand this run's plan to the page."""
    st.session_state[_KEY] = plan


def plan() -> Plan:
    """The plan of this run.

    Streamlit may start a page without app.py (the first visit of a fresh server is a deep link): then registering the
    navigation switches that off for the process, and the run starts again.
    """
    if _KEY not in st.session_state:
        st.navigation(pages())
        st.rerun()
    taken: Plan = st.session_state.pop(_KEY)
    return taken
