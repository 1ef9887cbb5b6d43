"""The scenario as a link and as a file."""

from __future__ import annotations

import json

import streamlit as st

from planner.errors import PlannerError
from planner.scenario import Scenario
from planner.share import LONG, LONGEST, link
from ui import nav
from ui.assigning import assign_all


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
    saved = json.dumps({"v": 1, "scenario": scenario.choices()}, indent=1)
    st.download_button("Download the scenario", saved, "scenario.json", "application/json", on_click="ignore")
    with st.expander("Load a scenario"):
        st.file_uploader("Scenario file", type="json", key="scenario_file", on_change=_load_file)
    if said := st.session_state.get("file_said"):
        st.error(said)


def _load_file() -> None:
    """Put a saved scenario into the form; a file that cannot be one is said and changes nothing."""
    file = st.session_state.get("scenario_file")
    if file is None:
        return
    try:
        data = json.loads(file.getvalue().decode("utf-8"))
        data = data.get("scenario", data) if isinstance(data, dict) else None
        if not isinstance(data, dict):
            raise PlannerError("This file is not a scenario. Use one that “Download the scenario” saved.")
        scenario = Scenario.of(**{k: v for k, v in data.items() if k != "v"})
        _ = scenario.architecture
    except (UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        st.session_state["file_said"] = "This file is not JSON. Use one that “Download the scenario” saved."
        return
    except PlannerError as error:
        st.session_state["file_said"] = f"{error} Nothing was changed."
        return
    st.session_state["file_said"] = None
    assign_all(scenario)
