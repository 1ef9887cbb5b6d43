"""The sidebar form: every choice is a widget bound to the link, one vocabulary with the command line."""

from __future__ import annotations

from typing import Any

import streamlit as st

from planner.devices import load_devices
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.plan import Plan, plan
from planner.scenario import CUSTOM, DEFAULTS, Scenario
from planner.share import labels, scenario_from
from planner.units import GIB
from ui import model_choice, sharing, show, users
from ui.assigning import FIELDS, hidden, put
from ui.fields import BIND, choice, number


def sidebar() -> Plan:
    """Draw the form and plan what it describes; what cannot be planned is said, and the last good scenario kept."""
    with st.sidebar:
        model_choice.draw()
        _hardware()
        _conversations()
        _more()
        try:
            answer = plan(scenario_from(_entered()))
            st.session_state["last_good"] = answer.scenario
        except PlannerError as error:
            st.error(show.plain(f"{error} The last scenario that worked is shown."))
            answer = plan(st.session_state.get("last_good", Scenario()))
        sharing.draw(answer.scenario)
    return answer


def _entered() -> dict[str, Any]:
    """What the fields shown hold, in link words; empty ones left out."""
    state, skipped = st.session_state, hidden()
    held = {n: state[n] for n in ("config", *FIELDS) if n not in skipped and state.get(n) not in (None, "")}
    if held.get("config"):
        held.pop("model", None)
    return held


def _hardware() -> None:
    st.header("Hardware")
    options = [d.label for d in load_devices()]
    choice("device", "Device", [*options, CUSTOM], DEFAULTS["device"], on_change=_start_custom,
            help="“custom” lets you type a device in; it starts with the figures of the one before.")  # fmt: skip
    if st.session_state.get("device") == CUSTOM:
        st.text_input("Its name", key="device_name", bind=BIND, value=DEFAULTS["device_name"], max_chars=60)
        number("device_memory_gib", "Memory a tool reports, GiB")
        number("device_bandwidth_gb_s", "Memory bandwidth, GB/s")
        number("device_tflops", "16-bit dense TFLOP/s")
        number("device_tflops_8bit", "FP8 dense TFLOP/s", blank="no 8-bit unit")
        kinds = labels("device_kind")
        choice("device_kind", "Kind", list(kinds.values()), kinds[DEFAULTS["device_kind"]])
    with st.container(horizontal=True):
        number("devices", "Devices per copy", width=122, help="They share every layer (tensor parallel).")
        number("copies", "Copies", width=122, help="Whole copies of the model; requests are dealt to them.")
    choice("engine", "Engine", list(ENGINES), DEFAULTS["engine"])
    weights, kv = labels("weights"), labels("kv")
    choice("weights", "Weights stored as", list(weights.values()), weights[DEFAULTS["weights"]])
    choice("kv", "Conversation memory (KV cache) stored as", list(kv.values()), kv[DEFAULTS["kv"]])


def _start_custom() -> None:
    """Fill the empty figures of a device to be typed in with those of the device before: it can be used at once."""
    if st.session_state.get("device") != CUSTOM:
        return
    before = st.session_state.get("last_good", Scenario()).device_row
    figures = {
        "device_memory_gib": round(before.memory_bytes_usable / GIB, 2),
        "device_bandwidth_gb_s": round(before.bandwidth / 1e9, 1),
        "device_tflops": round(before.peak("fp16")[0] / 1e12, 1),
    }
    for name, value in figures.items():
        if st.session_state.get(name) is None:
            put(name, value)


def _conversations() -> None:
    st.header("Conversations")
    with st.container(horizontal=True):
        number("prompt", "Prompt tokens", width=122, step=256)
        number("output", "Answer tokens", width=122, step=64)
    number(
        "shared_prefix", "Of the prompt, already cached", step=256,
        help="First tokens that all requests share, such as a long system prompt, kept by the engine's prefix cache.",
    )  # fmt: skip
    loads = labels("load")
    st.segmented_control("How the load is given", list(loads.values()), default=loads[DEFAULTS["load"]], key="load",
                         bind=BIND, required=True)  # fmt: skip
    if st.session_state.get("load") == loads["open"]:
        number("rate", "Requests per second", step=0.5)
    else:
        users.draw()


def _more() -> None:
    with st.expander("More settings"):
        number("pipeline", "Pipeline stages", help="Each stage holds a share of the layers.")
        st.checkbox("Deal whole experts out to devices (expert parallel)", key="expert_parallel", bind=BIND)
        number("attention_data_parallel", "Attention data parallel groups")
        number("utilization", "Share of memory the engine takes", step=0.01, blank="the engine's default")
        number("max_num_seqs", "Requests admitted at once", blank="the engine's default")
        number("max_num_batched_tokens", "Tokens per step", blank="the engine's default", step=256)
        number("accepted", "Tokens per step with speculative decoding", step=0.1)
        stored = (("window_pages", "Pages of window layers that slid out"), ("state", "Recurrent state stored as"))
        for name, label in stored:
            texts = labels(name)
            choice(name, label, list(texts.values()), texts[DEFAULTS[name]])
        number("max_ttft", "Limit: time to first token, seconds", blank="none", step=0.1)
        number("max_tpot", "Limit: time per output token, seconds", blank="none", step=0.01)
        number("price", "USD per device and hour", blank="the table's", step=0.1)
        number("calibrated_decode", "Calibration: measured over expected decode time", blank="none", step=0.01)
        number("calibrated_prefill", "Calibration: measured over expected prefill time", blank="none", step=0.01)
        st.text_input("Calibration: measured with", key="calibrated_on", bind=BIND, max_chars=80)
