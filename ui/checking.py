"""The parts of “Check my server”: commands to copy, the box for the output, and the calibration buttons."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import streamlit as st

from planner.checking import CLEARED, Comparison, adopted, sending
from planner.errors import PlannerError
from planner.measurements import LOOKED_FOR, TOOLS, Command, Measured, commands, experiment, read
from planner.measurements.commands import EXPERIMENT, FRESH_PROMPT, WARM_UP
from planner.plan import Plan
from planner.units import digits
from ui import assigning, show

TEXT: Final = "measured_text"
SECOND: Final = "measured_later"
SECONDS: Final = "measured_seconds"
RUN: Final = "measured_run"
TOOL: Final = "measured_tool"

# Fields of the form that hold text.
_TEXTS: Final = ("config", "calibrated_on")
# The tool that people of an engine have at hand.
_USUAL: Final = {"vLLM": "vllm bench serve", "SGLang": "SGLang", "llama.cpp": "Ollama"}


@lru_cache(maxsize=16)
def _read(text: str, later: str, seconds: float | None) -> Measured | str:
    """What was pasted, or the sentence that says why it cannot be read."""
    try:
        return read(text, later or None, seconds)
    except PlannerError as error:
        return str(error)


def _whole() -> Measured | str:
    held = st.session_state
    return _read(held.get(TEXT) or "", held.get(SECOND) or "", held.get(SECONDS))


def pasted() -> Measured | str | None:
    """The measurement in the box, the sentence that says what is wrong with it, or None where the box is empty."""
    text = st.session_state.get(TEXT) or ""
    if not text.strip():
        return None
    found = _whole()
    if isinstance(found, str) or not found.runs:
        return found
    if (st.session_state.get(RUN) or 0) >= len(found.runs):
        st.session_state[RUN] = 0
    return found.runs[st.session_state.get(RUN) or 0]


def measuring(p: Plan, opened: bool) -> None:
    """The commands for each tool, with this scenario's numbers, and the experiment that tells prefill from decode."""
    load, why = sending(p)
    with st.expander("Commands that measure your server", expanded=opened):
        usual = _USUAL.get(p.engine.name.split()[0], "curl")
        tool = st.segmented_control("Tool", list(TOOLS), default=usual, key=TOOL, persist_state="session",
                                    required=True)  # fmt: skip
        st.markdown(
            f"Put your model's name in place of MODEL. {show.plain(WARM_UP)} {show.plain(FRESH_PROMPT)} "
            "Point at a command and press the copy button." + (f" **{show.plain(why)}**" if why else "")
        )
        for command in commands(str(tool), load):
            _command(command)
        if tool != "vLLM /metrics":
            st.markdown(f"**The 200-against-2,000-token experiment.** {show.plain(EXPERIMENT)}")
            for command in experiment(str(tool), load):
                _command(command)


def _command(command: Command) -> None:
    st.markdown(f"**{show.plain(command.title)}** – {show.plain(command.sentence)}")
    st.code(command.command, language="bash", wrap_lines=True)


def box() -> None:
    """Where the output is pasted, and a later scrape of /metrics beside it."""
    st.text_area("Output of the tool: console block, table, JSON, CSV or /metrics", key=TEXT, height=180,
                 persist_state="session", help="Recognised: " + "; ".join(LOOKED_FOR))  # fmt: skip
    with st.expander("A second, later scrape of vLLM /metrics, for what happened in between"):
        st.text_area("The later scrape", key=SECOND, height=120, persist_state="session")
        st.number_input("Seconds between the two, where they carry no “# scraped_at” line", min_value=0.001,
                        max_value=1e7, value=None, key=SECONDS, persist_state="session")  # fmt: skip
    with st.container(horizontal=True):
        st.button("Compare", type="primary")
        st.button("Empty the box", on_click=_empty)


def _empty() -> None:
    st.session_state[TEXT] = st.session_state[SECOND] = ""


def _shown() -> tuple[Any, ...]:
    """What is in the boxes, by which a click is told from one that another output was meant by."""
    return tuple(st.session_state.get(key) for key in (TEXT, SECOND, SECONDS, RUN))


def _assign_if(shown: tuple[Any, ...], **choices: Any) -> None:
    """Take choices into the form, unless the box holds another output than the one that they are about."""
    if shown == _shown():
        _assign(**choices)


def _assign(**choices: Any) -> None:
    """Choices into the form, whose text fields are empty where a choice is unset."""
    assigning.assign(**{name: "" if value is None and name in _TEXTS else value for name, value in choices.items()})


def recognised(found: Comparison) -> None:
    """Which tool wrote it, what of it was converted, and at which load the comparison stands."""
    m = found.measured
    version = f" {m.version}" if m.version else ""
    whole = _whole()
    st.markdown(f"Recognised: **{show.plain(m.label + version)}**. Compared at {show.plain(found.conditions.words)}"
                f"{f' in each of the {found.expected.copies} copies' if found.expected.copies > 1 else ''}.")
    if isinstance(whole, Measured) and len(whole.runs) > 1:
        st.selectbox("Run of the report", range(len(whole.runs)), key=RUN, persist_state="session",
                     format_func=lambda n: f"{n + 1}: {_loaded(whole.runs[n])}")  # fmt: skip
    for sentence in (*found.conditions.assumed, *m.notes):
        st.markdown(f"- {show.plain(sentence)}")
    for sentence in m.warnings:
        st.warning(show.plain(sentence))


def _loaded(run: Measured) -> str:
    return f"{digits(run.in_flight)} at once" if run.in_flight else run.loop or "load not stated"


def take_over(found: Comparison, p: Plan) -> None:
    """Offer to set the scenario to what the output says."""
    if choices := adopted(found.measured, p):
        words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in choices.items() if name != "config")
        st.button(show.plain(f"Set the scenario to what was measured: {words}"), on_click=_assign_if,
                  args=(_shown(),), kwargs=choices)  # fmt: skip


def calibrate(found: Comparison) -> None:
    """Take the measured efficiencies into the scenario, or say why not."""
    c = found.calibration
    if c.taken:
        st.success("The planner is calibrated on this measurement: every expected speed, on every page and in the "
                   "link, is scaled to it. “Undo the calibration” is above.")  # fmt: skip
        return
    if c.refused:
        st.warning(show.plain(c.refused))
        return
    sides = [f"decode {digits(c.decode)}" if c.decode else "", f"prefill {digits(c.prefill)}" if c.prefill else ""]
    st.markdown(
        f"Measured time over the expected one: {', '.join(s for s in sides if s)}. Taken into the scenario, it "
        "scales every expected speed, on every page and in the link; a ceiling stays a ceiling. It holds for this "
        "model on this hardware: undo it before you change either."
    )
    for reason in c.reasons:
        st.markdown(f"- {show.plain(reason)}")
    st.button("Calibrate the planner on this measurement", type="primary", on_click=_assign_if, args=(_shown(),),
              kwargs=c.choices)  # fmt: skip


def undo(p: Plan) -> None:
    """What the scenario is calibrated on, and the way back."""
    if p.expectation.calibrated:
        with st.container(border=True):
            show.basis(p)
            st.button("Undo the calibration", on_click=_assign, kwargs=CLEARED)
