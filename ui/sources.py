"""The sources of one device's figures."""

import streamlit as st

from planner.devices import Device
from ui import show


def of(device: Device) -> None:
    """A table of the device's figures, each with its source and confidence."""
    if device.custom:
        st.markdown("This device was typed in; its figures are yours.")
        return
    rows = [
        {"Figure": field, "Value": s.value, "Source": s.source, "Confidence": s.confidence}
        for field, s in device.sources.items()
    ]
    st.markdown(f"**{show.plain(device.name)}**. {show.plain(device.notes)}")
    show.table(rows, "device_sources")
