"""The model of the form: an example, a pasted config.json, or one typed in. Junk never replaces the last good one."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.architecture import read_config
from planner.architecture.hand import hand_config
from planner.errors import PlannerError
from planner.scenario import DEFAULTS, model_names
from planner.share import encode_config
from planner.units import params
from ui import show
from ui.assigning import put
from ui.fields import BIND, choice

SAID: Final = "paste_said"


def draw() -> None:
    """An example model, a pasted config, or a model typed in."""
    st.header("Model")
    names = list(model_names())
    choice("model", "Example model", names, DEFAULTS["model"], on_change=_forget_paste,
            help="Configs as published. For any other model, paste its config.json below.")  # fmt: skip
    notice = st.container()
    with st.expander("Paste a config.json"):
        st.text_area("config.json of the model (Files tab on its Hugging Face page)", key="paste", height=120,
                     on_change=_read_paste, placeholder='{"model_type": "llama", "hidden_size": 4096}')  # fmt: skip
        st.text_area("hf_quant_config.json beside it, if there is one", key="paste_quant", height=68,
                     on_change=_read_paste)  # fmt: skip
        st.text_input("Name to show", key="paste_name", max_chars=60, on_change=_read_paste)
        st.button("Read it", on_click=_read_paste)
        code = st.text_input("Model read from the paste (travels in the link)", key="config", bind=BIND)
    if code:
        with notice:
            st.info("The pasted model is used instead of the example.")
            st.button("Back to the example model", on_click=_forget_paste)
    said = st.session_state.get(SAID)
    if said and said[2] == code:
        (st.success if said[0] else st.error)(show.plain(said[1]))
    typing = st.expander("Type a model in", key="typing", on_change="rerun")
    if typing.open:
        with typing:
            _typed()


def _say(good: bool, sentence: str) -> None:
    """Remember what came of a paste, for as long as the model is the one it is about."""
    st.session_state[SAID] = (good, sentence, st.session_state.get("config") or "")


def _forget_paste() -> None:
    put("config", "")
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
        put("config", encode_config(name[:80], arch.config))
        guess = "" if arch.recognised == "exact" else " This is a guess: see “What the planner read” on the first page."
        _say(True, f"Read: {arch.model_type}, {size} parameters, {arch.n_layers} layers.{guess}")
    except PlannerError as error:
        _say(False, f"{error} The model before stays.")


TYPED: Final = (
    ("layers", "Layers", 32), ("hidden", "Hidden size", 4096), ("heads", "Attention heads", 32),
    ("kv_heads", "KV heads", 8), ("head_dim", "Head dimension", 128), ("mlp_width", "MLP width", 14336),
    ("vocab", "Vocabulary", 128256), ("experts", "Experts (0: none)", 0), ("experts_per_token", "Experts per token", 0),
)  # fmt: skip


def _typed() -> None:
    with st.container(horizontal=True):
        for key, label, default in TYPED:
            least = 0 if "expert" in key else 1
            st.number_input(label, min_value=least, max_value=10_000_000, value=default, key=f"typed_{key}", width=122,
                            persist_state="session")  # fmt: skip
    st.button("Use this model", on_click=_use_typed)


def _use_typed() -> None:
    try:
        arch = read_config(hand_config(**{key: st.session_state[f"typed_{key}"] for key, _, _ in TYPED}))
        name = f"Typed in, {params(arch.total_params)}"
        put("config", encode_config(name, arch.config))
        _say(True, f"{name} parameters, {arch.n_layers} layers.")
    except PlannerError as error:
        _say(False, f"{error} The model before stays.")
