"""Measuring the machine that the app runs on, one visitor at a time."""

from __future__ import annotations

import threading
from typing import Any, Final

import streamlit as st

from planner.errors import PlannerError
from planner.machine import Machine, Rate, measure
from planner.units import digits, gib
from ui import assigning, show

_RESULT: Final = "this_machine"
_SAID: Final = "this_machine_said"
_ASKED: Final = "this_machine_asked"
BUSY: Final = (
    "Somebody else is measuring this machine right now, and two at once would spoil both. "
    "Try again in ten seconds."
)
# Two measurements at once would each see half of the memory's bandwidth.
_ONE_AT_A_TIME: Final = threading.Lock()


def section() -> None:
    """The button, and the figures of the last measurement of this visit."""
    st.markdown(
        "Copies arrays larger than the cache and multiplies matrices, with numpy, for about ten seconds. It measures "
        "the machine the app runs on, which is not your own computer when the app is on a server, and a timing in "
        "Python ranks no GPU framework."
    )
    st.button("Measure this machine", on_click=_ask)
    if st.session_state.pop(_ASKED, False):
        _measure()
    if said := st.session_state.get(_SAID):
        st.warning(said)
    if (machine := st.session_state.get(_RESULT)) is not None:
        _show(machine)


def _ask() -> None:
    # By a callback, since a run that starts again for its frame forgets which button was pressed.
    st.session_state[_ASKED] = True


def _measure() -> None:
    st.session_state[_SAID] = None
    if not _ONE_AT_A_TIME.acquire(blocking=False):
        st.session_state[_SAID] = BUSY
        return
    bar = st.progress(0.0, "Starting.")
    try:
        st.session_state[_RESULT] = measure(lambda fraction, sentence: _tell(bar, fraction, sentence))
    except PlannerError as error:
        st.session_state[_SAID] = str(error)
    except MemoryError:
        st.session_state[_SAID] = "Too little memory is free for the buffers. Close other programs and try again."
    finally:
        _ONE_AT_A_TIME.release()
        bar.empty()


def _tell(bar: Any, fraction: float, sentence: str) -> None:
    bar.progress(fraction, sentence)


def _show(machine: Machine) -> None:
    bandwidth, flops = machine.bandwidth, machine.flops
    show.figures((
        ("Memory bandwidth", f"{digits(bandwidth.median / 1e9)} GB/s", "Median of the faster of copy and triad"),
        ("Matrix products, fp32", f"{digits(flops.median / 1e12)} TFLOP/s", f"Median, {machine.matrix_side:,} a side"),
        ("Processor", machine.cpu or "unknown", f"{machine.threads} threads"),
        ("Memory", gib(machine.total_memory_bytes) if machine.total_memory_bytes else "unknown", "In all"),
    ))  # fmt: skip
    show.table([_row("Copy, GB/s", machine.copy_bytes_per_s, 1e9), _row("Triad, GB/s", machine.triad_bytes_per_s, 1e9),
                _row("Matrix products, TFLOP/s", flops, 1e12)], "this_machine")  # fmt: skip
    for note in machine.notes:
        st.markdown(f"- {show.plain(note)}")
    choices = {**machine.scenario_choices(), "devices": 1, "pipeline": 1}
    st.button("Use it as a device", on_click=assigning.assign, kwargs=choices)


def _row(name: str, rate: Rate, unit: float) -> dict[str, str | float]:
    return {"Measured": name, "Median": rate.median / unit, "10th percentile": rate.low / unit,
            "90th percentile": rate.high / unit, "Spread, % of the median": 100 * rate.spread,
            "Repeats": rate.repeats}  # fmt: skip
