"""How answers are shown: verdict first, then figures, a chart, and a table that can be downloaded."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, Final

import numpy as np
import pandas as pd
import streamlit as st

from planner.efficiency.classes import is_mixture
from planner.findings import Change, Finding
from planner.plan import Plan
from ui import assigning
from ui.charts import Spec

_BOXES: Final = {"good": "success", "warn": "warning", "bad": "error"}
_MARKS: Final = {"good": "✓", "warn": "!", "bad": "✕"}
# Streamlit looks for emoji after Markdown has taken the backslashes away: only a character within keeps it from them
# (a word joiner, which nobody sees).
_SHORTCODE: Final = re.compile(r":(?=[\w+/-]+:)")
_DIRECTIVE: Final = re.compile(r":(?=[A-Za-z])")
# Characters of a button that fit into one line of a phone, 390 pixels wide.
SHORT: Final = 34
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "info"}


def verdict(answer: tuple[str, str]) -> None:
    """The page's first sentence, in a box whose colour and mark say whether it is good news."""
    tone, sentence = answer
    getattr(st, _BOXES[tone])(f"**{_MARKS[tone]}** {plain(sentence)}")


def plain(text: str) -> str:
    """Text for Markdown: nothing in it is markup, the name of an emoji or icon (:smile:) or a directive (:red)."""
    text = _SHORTCODE.sub(":\u2060", text)
    for sign in ("\\", "$", "~", "*", "_", "[", "]", "`"):
        text = text.replace(sign, "\\" + sign)
    return _DIRECTIVE.sub(r"\:", text)


def basis(p: Plan, others: bool = False) -> None:
    """Where the expected speeds of the page come from; others: it shows those of other devices too."""
    e = p.expectation
    experts = (
        " Several conversations on a mixture of experts are the least certain: see “Evidence”."
        if is_mixture(p.work)
        else ""
    )
    found = f"{e.nearest}; nearest: {e.basis}" if e.nearest else e.basis
    said = f"{e.basis[:1].upper()}{e.basis[1:]}." if e.calibrated else f"Expected speeds for {p.device.label}: {found}."
    if others:
        said += " Other devices rest on measurements of their own kind."
    st.markdown(f":small[{plain(said)}{experts} “At most” is arithmetic that no software beats.]")


def figures(items: Sequence[tuple[str, str, str] | tuple[str, str, str, str | None]]) -> None:
    """A row of figures (label, value, help, a line below the value) that wraps on a phone."""
    with st.container(horizontal=True):
        for label, value, said, *below in items:
            st.metric(
                label, value, *below, delta_color="off", delta_arrow="off", border=True, help=said, width="content"
            )


def chart(rows: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | pd.DataFrame, spec: Spec, alt: str) -> None:
    """A chart with the text that stands for it; nothing drawn without rows."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    if frame.empty:
        st.info("Nothing to draw: the scenario does not fit. See “Does it fit?”.")
        return
    st.vega_lite_chart(frame, spec, width="stretch", theme=None, alt=alt)


def table(
    rows: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | pd.DataFrame,
    name: str,
    columns: Mapping[str, Any] | None = None,
    height: int | None = None,
) -> None:
    """A sortable table with its CSV download; blank where unknown.

    Shown with four significant digits; the CSV holds the full figures.
    """
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    shown = frame.copy(deep=False)
    formats: dict[str, Any] = {}
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column]):
            formats[column] = st.column_config.Column(width=_room(column, frame[column]))
        elif column not in ("Year", "year"):
            shown[column] = _four(frame[column])
            formats[column] = st.column_config.NumberColumn(format="localized")
    more = {} if height is None else {"height": height}
    st.dataframe(
        shown, hide_index=True, width="stretch", column_config=formats | dict(columns or {}), placeholder="", **more
    )
    _csv(frame, name)


def reading(rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """A table of words, lines wrapped so that all can be read, with its CSV download."""
    frame = pd.DataFrame(rows)
    st.table(frame.map(lambda cell: plain(str(cell))), hide_index=True)
    _csv(frame, name)


def cards(rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """Rows of many words as cards, which a phone can show where a table's columns would be one word wide; CSV below."""
    with st.grid(min_column_width=300):
        for title, *rest in (list(row.items()) for row in rows):
            with st.container(border=True):
                said = [
                    f"**{plain(str(title[1]))}**",
                    *(f":small[{plain(key)}:] {plain(str(value))}" for key, value in rest),
                ]
                st.markdown("\n\n".join(said))
    _csv(pd.DataFrame(rows), name)


def _csv(frame: pd.DataFrame, name: str) -> None:
    """The download; its text is made when someone asks for it."""
    st.download_button(
        "Download as CSV",
        lambda: frame.to_csv(index=False),
        f"{name}.csv",
        "text/csv",
        key=f"csv_{name}",
        on_click="ignore",
    )


def _room(title: str, column: pd.Series[Any]) -> int:
    """Pixels in which the longest text of a column (of its first rows if it has many) can be read, within reason."""
    longest = max((len(str(value)) for value in column.head(40).tolist() if value is not None), default=0)
    return int(min(max(longest, len(title) + 2) * 6.5 + 18, 420))


def _four(column: pd.Series[Any]) -> pd.Series[Any]:
    """Four significant digits; whole numbers stay as they are."""
    if not pd.api.types.is_float_dtype(column):
        return column
    values = column.to_numpy(float)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = 10.0 ** (3 - np.floor(np.log10(np.abs(values))))
        rounded = np.round(values * scale) / scale
    keep = ~np.isfinite(rounded) | (values == np.round(values))
    return pd.Series(np.where(keep, values, rounded), index=column.index)


def findings(found: Sequence[Finding], said: str = "") -> None:
    """The findings, worst first, each with a button for its smallest change and the larger ones that also do.

    Below them stand changes that leave the fault, but far less of it.

    said  the page's verdict: a finding whose sentence is in it is not said again, only its changes are offered
    """
    for finding in found:
        repeated = finding.sentence in said
        changes = [c for c in (finding.change, *finding.others) if c]
        offers = (
            ("change", "What would change it, the smallest single change first:", changes),
            ("helps", "Does not hold all, but helps:", finding.partial),
        )
        offered = bool(changes or finding.partial)
        if repeated and not offered:
            continue
        with st.container(border=offered):
            if not repeated:
                getattr(st, _LEVELS[finding.severity])(plain(finding.sentence))
            for kind, title, buttons in offers:
                if buttons:
                    st.markdown(title)
                    _buttons(f"{kind}_{finding.code}", buttons)


def _buttons(key: str, changes: Sequence[Change]) -> None:
    """A button for each change; short ones side by side, long ones, which Streamlit would cut, each in its own line.

    The key says what the button does: a click that was on its way when the page changed does that, or nothing.
    """
    for short, run in groupby(changes, lambda change: len(change.sentence) <= SHORT):
        with st.container(horizontal=short, gap="small"):
            for change in run:
                does = json.dumps(change.choices, sort_keys=True, default=str)
                st.button(plain(change.sentence), key=f"{key}_{does}", on_click=_apply, args=(change,))


def _apply(change: Change) -> None:
    assigning.assign(**change.choices)


def advice(severity: str, sentence: str) -> None:
    """One piece of advice in the box of its severity (error, warning, info)."""
    getattr(st, _LEVELS[severity])(plain(sentence))
