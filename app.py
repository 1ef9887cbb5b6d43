"""The frame: navigation, arrival of a link, the form, then the page."""

import streamlit as st

from planner import verdicts
from ui import address, arrival, form, nav, show

st.set_page_config(
    page_title="LLM serving planner", page_icon="ui/favicon.png", layout="wide", initial_sidebar_state=340
)
st.set_option("client.showSidebarNavigation", True)  # off until here, see .streamlit/config.toml
address.keep()
arrival.gate()
page = st.navigation(nav.pages())
answer = form.sidebar()
address.remember()
arrival.notes()
nav.provide(answer)
if page.url_path != "evidence":
    st.markdown(f":small[{show.plain(verdicts.scenario(answer))} Change it in the sidebar (on a phone: » above).]")
page.run()
