"""evidence."""

import streamlit as st

from ui import nav

p = nav.plan()
st.title("evidence")
