"""Users at once: a field that takes any number and is in the link, and a slider in round steps that moves it."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.scenario import bounds
from ui.fields import number

SLIDER: Final = "users_slider"
_ODD: Final = "users_odd"
# Each number while one more user matters, then steps of a tenth to a third: one drag spans one user to a million.
_STEPS: Final = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def draw() -> None:
    """The field and, under it, the slider.

    A slider whose own range would have to grow with the number cannot be bound to the link: one of another length is
    another widget to Streamlit. So it takes its place from the field, and hands back what it is moved to.
    """
    number("users", "Users at once")
    state = st.session_state
    users = state["users"]
    if users not in ROUND:
        state[_ODD] = users  # stays a step of the slider until another takes its place, so that it can be gone back to
    steps = sorted({*ROUND, state.get(_ODD, 1)})
    if state.get(SLIDER) != users:  # not while it is being moved: a value sent then would jump back under the hand
        state[SLIDER] = users
    st.select_slider(
        "Users at once, in round steps", steps, key=SLIDER, format_func=_text, label_visibility="collapsed",
        on_change=_moved,
    )  # fmt: skip


def round_numbers(most: int) -> tuple[int, ...]:
    """1 to 20 one by one, then ten steps to each power of ten, up to `most`.

    >>> round_numbers(200)[18:]
    (19, 20, 25, 30, 40, 50, 60, 80, 100, 125, 150, 200)
    """
    powers = (10**k for k in range(1, len(str(most))))
    steps = {int(power * step) for power in powers for step in _STEPS}
    return tuple(sorted(n for n in {*range(1, 21), *steps, most} if n <= most))


ROUND: Final = round_numbers(int(bounds("users")[1] or 1))


def _text(users: int) -> str:
    return f"{users:,}"


def _moved() -> None:
    st.session_state["users"] = st.session_state[SLIDER]
