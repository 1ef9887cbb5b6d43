"""The sidebar form: every choice is a widget bound to the link, one vocabulary with the command line."""

from __future__ import annotations

import json
from typing import Any, Final
from urllib.parse import urlsplit

import streamlit as st

from planner.architecture import read_config
from planner.architecture.hand import hand_config
from planner.devices import load_devices
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.scenario import CUSTOM, DEFAULTS, Scenario, bounds, model_names
from planner.share import LONG, LONGEST, encode_config, labels, link, parameters, scenario_from
from planner.units import GIB, params

BIND: Final = "query-params"
SAID: Final = "paste_said"
FIELDS: Final = tuple(DEFAULTS)


def sidebar() -> Scenario:
    """Draw the form and return the scenario it describes; a combination that cannot be is said and the last good kept."""
    with st.sidebar:
        _model()
        _hardware()
        _conversations()
        _more()
        try:
            scenario = scenario_from(_entered())
            _ = scenario.architecture, scenario.device_row
            st.session_state["last_good"] = scenario
        except PlannerError as error:
            st.error(f"{error} The last scenario that worked is shown.")
            scenario = st.session_state.get("last_good", Scenario())
        _share(scenario)
    return scenario


def _entered() -> dict[str, Any]:
    """What the widgets hold, in link words; empty fields left out."""
    names = ("config", *FIELDS)
    held = {n: st.session_state[n] for n in names if st.session_state.get(n) not in (None, "")}
    if held.get("config"):
        held.pop("model", None)
    return held


def _number(name: str, label: str, *, step: float | None = None, blank: str | None = None, **more: Any) -> None:
    """A bound number field with the scenario's range; `blank` is what an empty field means."""
    low, high = bounds(name)
    assert low is not None and high is not None
    whole = isinstance(DEFAULTS[name], int) or name in ("max_num_seqs", "max_num_batched_tokens")
    kind = int if whole else float
    least = low if whole or low > 0 else 0.001
    st.number_input(
        label, min_value=kind(least), max_value=kind(high), value=DEFAULTS[name], step=kind(step or 1),
        format="%d" if whole else "%g", key=name, bind=BIND, placeholder=blank, help=more.pop("help", None), **more,
    )  # fmt: skip


def _choice(name: str, label: str, options: list[str], default: str, **more: Any) -> None:
    st.selectbox(label, options, index=options.index(default), key=name, bind=BIND, **more)


def _model() -> None:
    st.header("Model")
    names = list(model_names())
    _choice("model", "Example model", names, DEFAULTS["model"], on_change=_forget_paste,
            help="Configs as published. For any other model, paste its config.json below.")  # fmt: skip
    if st.session_state.get("config"):
        st.info("The pasted model is used instead of the example.")
        st.button("Back to the example model", on_click=_forget_paste)
    with st.expander("Paste a config.json"):
        st.text_area("config.json of the model (Files tab on its Hugging Face page)", key="paste", height=120,
                     on_change=_read_paste, placeholder='{"model_type": "llama", "hidden_size": 4096, ...}')  # fmt: skip
        st.text_area("hf_quant_config.json beside it, if there is one", key="paste_quant", height=68, on_change=_read_paste)
        st.text_input("Name to show", key="paste_name", max_chars=60, on_change=_read_paste)
        st.button("Read it", on_click=_read_paste)
        st.text_input("Model read from the paste (travels in the link)", key="config", bind=BIND)
    if said := st.session_state.get(SAID):
        (st.success if said[0] else st.error)(said[1])
    typing = st.expander("Type a model in", key="typing", on_change="rerun")
    if typing.open:
        with typing:
            _typed()


def _forget_paste() -> None:
    st.session_state["config"] = ""
    st.session_state[SAID] = None


def _read_paste() -> None:
    """Read the paste; only a config that can be read replaces the model."""
    text = st.session_state.get("paste", "")
    if not text.strip():
        return
    try:
        beside = st.session_state.get("paste_quant", "").strip() or None
        arch = read_config(text, name=st.session_state.get("paste_name") or None, hf_quant_config=beside)
        size = params(arch.total_params)
        name = st.session_state.get("paste_name") or f"{arch.name.rstrip('/').split('/')[-1]} {size}"
        st.session_state["config"] = encode_config(name[:80], arch.config)
        guess = "" if arch.recognised == "exact" else " This is a guess: see “What the planner read” on the first page."
        st.session_state[SAID] = (True, f"Read: {arch.model_type}, {size} parameters, {arch.n_layers} layers.{guess}")
    except PlannerError as error:
        st.session_state[SAID] = (False, f"{error} The model before stays.")


TYPED: Final = (
    ("layers", "Layers", 32), ("hidden", "Hidden size", 4096), ("heads", "Attention heads", 32), ("kv_heads", "KV heads", 8),
    ("head_dim", "Head dimension", 128), ("mlp_width", "MLP width", 14336), ("vocab", "Vocabulary", 128256),
    ("experts", "Experts (0: none)", 0), ("experts_per_token", "Experts per token", 0),
)  # fmt: skip


def _typed() -> None:
    with st.container(horizontal=True):
        for key, label, default in TYPED:
            least = 0 if "expert" in key else 1
            st.number_input(label, min_value=least, max_value=10_000_000, value=default, key=f"typed_{key}", width=130,
                            persist_state="session")  # fmt: skip
    st.button("Use this model", on_click=_use_typed)


def _use_typed() -> None:
    try:
        arch = read_config(hand_config(**{key: st.session_state[f"typed_{key}"] for key, _, _ in TYPED}))
        name = f"Typed in, {params(arch.total_params)}"
        st.session_state["config"] = encode_config(name, arch.config)
        st.session_state[SAID] = (True, f"{name} parameters, {arch.n_layers} layers.")
    except PlannerError as error:
        st.session_state[SAID] = (False, f"{error} The model before stays.")


def _hardware() -> None:
    st.header("Hardware")
    options = [d.label for d in load_devices()]
    _choice("device", "Device", [*options, CUSTOM], DEFAULTS["device"], on_change=_start_custom,
            help="“custom” lets you type a device in; it starts with the figures of the one before.")  # fmt: skip
    if st.session_state.get("device") == CUSTOM:
        st.text_input("Its name", key="device_name", bind=BIND, value=DEFAULTS["device_name"], max_chars=60)
        _number("device_memory_gib", "Memory a tool reports, GiB")
        _number("device_bandwidth_gb_s", "Memory bandwidth, GB/s")
        _number("device_tflops", "16-bit dense TFLOP/s")
        _number("device_tflops_8bit", "FP8 dense TFLOP/s", blank="no 8-bit unit")
        kinds = labels("device_kind")
        _choice("device_kind", "Kind", list(kinds.values()), kinds[DEFAULTS["device_kind"]])
    with st.container(horizontal=True):
        _number("devices", "Devices per copy", width=130, help="They share every layer (tensor parallel).")
        _number("copies", "Copies", width=130, help="Whole copies of the model; requests are dealt to them.")
    _choice("engine", "Engine", list(ENGINES), DEFAULTS["engine"])
    weights, kv = labels("weights"), labels("kv")
    _choice("weights", "Weights stored as", list(weights.values()), weights[DEFAULTS["weights"]])
    _choice("kv", "Conversation memory (KV cache) stored as", list(kv.values()), kv[DEFAULTS["kv"]])


def _start_custom() -> None:
    """Fill the empty figures of a device to be typed in with those of the device before, so that it can be used at once."""
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
            st.session_state[name] = value


def _conversations() -> None:
    st.header("Conversations")
    with st.container(horizontal=True):
        _number("prompt", "Prompt tokens", width=130, step=256)
        _number("output", "Answer tokens", width=130, step=64)
    _number("shared_prefix", "Of the prompt, already cached", step=256,
            help="First tokens that all requests share, such as a long system prompt, kept by the engine's prefix cache.")  # fmt: skip
    loads = labels("load")
    st.segmented_control("How the load is given", list(loads.values()), default=loads[DEFAULTS["load"]], key="load", bind=BIND,
                         required=True)  # fmt: skip
    if st.session_state.get("load") == loads["open"]:
        _number("rate", "Requests per second", step=0.5)
    else:
        _users()


def _users() -> None:
    """The slider of users. It ends at a power of two well past what is asked, and gets longer when pulled to its end.

    A slider of another length is another widget to Streamlit, which takes its value from the address and not from code.
    So it never gets shorter during a visit, and a number past its end that code asks for (`users_wanted`) is set when
    the browser has drawn the longer one.
    """
    state, most = st.session_state, int(bounds("users")[1] or 0)
    linked = st.query_params.get("users", "")  # on the first run of a visit the session does not know it yet
    asked = state.get("users") or (int(linked) if linked.isdecimal() else DEFAULTS["users"])
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


def _more() -> None:
    with st.expander("More settings"):
        _number("pipeline", "Pipeline stages", help="Each stage holds a share of the layers.")
        st.checkbox("Deal whole experts out to devices (expert parallel)", key="expert_parallel", bind=BIND)
        _number("attention_data_parallel", "Attention data parallel groups")
        _number("utilization", "Share of memory the engine takes", step=0.01, blank="the engine's default")
        _number("max_num_seqs", "Requests admitted at once", blank="the engine's default")
        _number("max_num_batched_tokens", "Tokens per step", blank="the engine's default", step=256)
        _number("accepted", "Tokens per step with speculative decoding", step=0.1)
        for name, label in (("window_pages", "Pages of window layers that slid out"), ("state", "Recurrent state stored as")):
            texts = labels(name)
            _choice(name, label, list(texts.values()), texts[DEFAULTS[name]])
        _number("max_ttft", "Limit: time to first token, seconds", blank="none", step=0.1)
        _number("max_tpot", "Limit: time per output token, seconds", blank="none", step=0.01)
        _number("price", "USD per device and hour", blank="the table's", step=0.1)
        _number("calibrated_decode", "Calibration: measured over expected decode time", blank="none", step=0.01)
        _number("calibrated_prefill", "Calibration: measured over expected prefill time", blank="none", step=0.01)
        st.text_input("Calibration: measured with", key="calibrated_on", bind=BIND, max_chars=80)


def _share(scenario: Scenario) -> None:
    st.header("Share")
    address = st.context.url or ""
    url = link(scenario, address if urlsplit(address).path else f"{address}/")
    if len(url) > LONGEST:
        st.warning(f"This link has {len(url):,} characters, more than the {LONGEST:,} that chat tools keep whole. "
                   "Send the scenario as a file instead.")  # fmt: skip
    elif len(url) > LONG:
        st.caption(f"This link has {len(url):,} characters; some trackers cut links past {LONG:,}.")
    st.markdown("Copy link: every setting spelled out. Point at it and press the copy button.")
    st.code(url, language=None, wrap_lines=len(url) < 600)
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
    _assign(scenario)


def _assign(scenario: Scenario) -> None:
    """Write a scenario's choices into the bound widgets."""
    st.session_state["config"] = parameters(scenario).get("config", "")
    for name in FIELDS:
        if name == "config" or (name == "model" and scenario.config is not None):
            continue  # a pasted model is not one of the examples
        value = getattr(scenario, name)
        if name == "users" and value > st.session_state.get("users_end", 0):
            st.session_state["users_wanted"] = value
        else:
            st.session_state[name] = labels(name).get(str(value), value)


def assign(**choices: Any) -> None:
    """Change some choices of the form, as buttons on pages do (a finding's change, a calibration).

    Values take the type of their field, because a widget refuses a whole number where it counts in fractions.
    """
    changed = st.session_state.get("last_good", Scenario()).change(**choices)
    for name in choices:
        value = getattr(changed, name)
        st.session_state[name] = labels(name).get(str(value), value)
