"""Users at once: a field that takes any number and is in the link, and a slider in round steps that moves it."""

from __future__ import annotations

from typing import Final

import streamlit as st

from planner.scenario import bounds
from ui.assigning import put
from ui.fields import number

_AT: Final = "users_slider_at"
_START: Final = "users_slider_start"
_TURN: Final = "users_slider_turn"
# Each number while one more user matters, then steps of a fifth to a third: one drag spans one user to a million.
_STEPS: Final = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)


def draw() -> None:
    """The field and, under it, the slider.

    The slider is not bound to the link, because its steps would have to hold every number that a link can. It hands to
    the field what it is moved to; a number from elsewhere gets a new slider that starts there. (Moving the old one from
    code would let a click that is on its way move it back.)
    """
    number("users", "Users at once")
    state = st.session_state
    users = state["users"]
    if users != state.get(_AT):
        state[_AT] = state[_START] = users
        state[_TURN] = state.get(_TURN, 0) + 1
    start, key = state[_START], _key()
    st.select_slider(
        "Users at once, in round steps", sorted({*ROUND, start}), start, key=key, format_func=_text,
        label_visibility="collapsed", on_change=_moved, args=(key,),
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


def _key() -> str:
    return f"users_slider_{st.session_state[_TURN]}"


def _text(users: int) -> str:
    return f"{users:,}"


def _moved(key: str) -> None:
    if key == _key():  # a click on its way can still bring a slider that is gone
        st.session_state[_AT] = st.session_state[key]
        put("users", st.session_state[key])
