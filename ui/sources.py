"""The sources of one device's figures."""

from typing import Final

import streamlit as st

from planner.devices import Device
from ui import show

# Columns of the device table -> what they are, for people; rates are dense.
_WORDS: Final = {
    "memory_gb": "Memory as sold, GB", "memory_gib_usable": "Memory that programs can use, GiB",
    "bandwidth_gb_s": "Memory bandwidth as printed, GB/s",
    "bandwidth_calc_gb_s": "Memory bandwidth by bus arithmetic, GB/s",
    "measured_bw_fraction": "Share of the bandwidth that was measured",
    **{f"{kind}_tflops": f"{kind.upper()}, TFLOP/s" for kind in ("fp32", "tf32", "fp16", "bf16", "fp8", "fp4")},
    **{f"{kind}_tops": f"{kind.upper()}, TOP/s" for kind in ("int8", "int4")},
    "interconnect_gb_s_bidir": "Link between devices, both ways, GB/s", "pcie_gb_s_per_dir": "PCIe, one way, GB/s",
    "tdp_w": "Board power, W", "price_usd_per_hour": "Price, USD per hour",
}  # fmt: skip


def of(device: Device) -> None:
    """A table of the device's figures, each with its source and confidence."""
    if device.custom:
        st.markdown("This device was typed in; its figures are yours.")
        return
    rows = [
        {"Figure": _WORDS.get(name, name), "Value": s.value, "Source": s.source, "Confidence": s.confidence}
        for name, s in device.sources.items()
    ]
    st.markdown(f"**{show.plain(device.name)}**. {show.plain(device.notes)}")
    show.table(rows, "device_sources")
