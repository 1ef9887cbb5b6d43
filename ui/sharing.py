"""The scenario as a link and as a file."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.errors import PlannerError
from planner.scenario import Scenario
from planner.share import LONG, LONGEST, link, read_scenario_file, scenario_file
from ui import nav, show
from ui.assigning import assign_all

_SAID: Final = "file_said"  # what came of the file that was loaded: a kind of box, and its sentence


def draw(scenario: Scenario) -> None:
    """The link, and the scenario as a file to download and load."""
    st.header("Share")
    url = link(scenario, nav.shared(st.context.url or ""))
    if len(url) > LONGEST:
        st.warning(f"This link has {len(url):,} characters, more than the {LONGEST:,} that chat tools keep whole. "
                   "Send the scenario as a file instead.")  # fmt: skip
    elif len(url) > LONG:
        st.caption(f"This link has {len(url):,} characters; some trackers cut links past {LONG:,}.")
    st.markdown("Copy link: every setting spelled out. Point at it and press the copy button.")
    st.code(url, language=None, wrap_lines=True)
    st.download_button(
        "Download the scenario", scenario_file(scenario), "scenario.json", "application/json", on_click="ignore"
    )
    with st.expander("Load a scenario"):
        st.file_uploader("Scenario file", type="json", key="scenario_file", on_change=_load_file)
    if said := st.session_state.get(_SAID):
        show.advice(*said)


def _load_file() -> None:
    """Put a saved scenario into the form; a file that cannot be one is said and changes nothing."""
    file = st.session_state.get("scenario_file")
    if file is None:
        return
    try:
        scenario, notes = read_scenario_file(file.getvalue())
    except PlannerError as error:
        st.session_state[_SAID] = ("error", f"{error} Nothing was changed.")
        return
    st.session_state[_SAID] = ("warning", " ".join(notes)) if notes else None
    assign_all(scenario)
