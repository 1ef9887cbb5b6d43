"""How answers are shown: verdict first, then figures, a chart, and a table that can be downloaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import pandas as pd
import streamlit as st

from planner.changes import Change
from planner.findings import Finding
from planner.plan import Plan
from ui import form
from ui.charts import Spec

_BOXES: Final = {"good": "success", "warn": "warning", "bad": "error"}
_MARKS: Final = {"good": "✓", "warn": "!", "bad": "✕"}
_LEVELS: Final = {"error": "error", "warning": "warning", "info": "info"}


def verdict(answer: tuple[str, str]) -> None:
    """The page's first sentence, in a box whose colour and mark say whether it is good news."""
    tone, sentence = answer
    getattr(st, _BOXES[tone])(f"**{_MARKS[tone]}** {plain(sentence)}")


def plain(text: str) -> str:
    """Text for Markdown: nothing in it is markup."""
    for sign in ("\\", "$", "~", "*", "_", "[", "]", "`"):
        text = text.replace(sign, "\\" + sign)
    return text


def basis(p: Plan) -> None:
    """Where the expected speeds of the page come from."""
    e = p.expectation
    mark = "Calibrated on your measurement" if e.calibrated else "Expected speeds"
    nearest = f" Nearest evidence: {plain(e.nearest)}." if e.nearest else ""
    st.markdown(f":small[{mark}: {plain(e.basis)}.{nearest} “At most” is arithmetic that no software beats.]")


def figures(items: Sequence[tuple[str, str] | tuple[str, str, str]]) -> None:
    """A row of figures (label, value, help) that wraps on a phone."""
    with st.container(horizontal=True):
        for label, value, *more in items:
            st.metric(label, value, border=True, help=more[0] if more else None, width="content")


def chart(rows: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | pd.DataFrame, spec: Spec, alt: str) -> None:
    """A chart with the text that stands for it; nothing drawn without rows."""
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    if frame.empty:
        st.info("Nothing to draw: the scenario does not fit. See “Does it fit?”.")
        return
    st.vega_lite_chart(frame, spec, width="stretch", theme=None, alt=alt)


def table(rows: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Any]] | pd.DataFrame, name: str,
          columns: Mapping[str, Any] | None = None, height: int | None = None) -> None:  # fmt: skip
    """A sortable table with its CSV download; blank where unknown.

    Shown with four significant digits; the CSV holds the full figures.
    """
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    shown = frame.copy()
    formats: dict[str, Any] = {}
    for column in frame.select_dtypes("number"):
        if column not in ("Year", "year"):
            shown[column] = [value if pd.isna(value) else _four(value) for value in frame[column]]
            formats[column] = st.column_config.NumberColumn(format="localized")
    more = {} if height is None else {"height": height}
    st.dataframe(shown, hide_index=True, width="stretch", column_config=formats | dict(columns or {}), placeholder="", **more)
    st.download_button("Download as CSV", frame.to_csv(index=False), f"{name}.csv", "text/csv", key=f"csv_{name}",
                       on_click="ignore")  # fmt: skip


def reading(rows: Sequence[Mapping[str, Any]], name: str) -> None:
    """A table of words, lines wrapped so that all can be read, with its CSV download."""
    frame = pd.DataFrame(rows)
    st.table(frame.map(lambda cell: plain(str(cell))), hide_index=True)
    st.download_button("Download as CSV", frame.to_csv(index=False), f"{name}.csv", "text/csv", key=f"csv_{name}",
                       on_click="ignore")  # fmt: skip


def _four(value: float) -> float:
    return value if isinstance(value, int) or float(value).is_integer() else float(f"{value:.4g}")


def findings(found: Sequence[Finding], said: str = "") -> None:
    """The findings, worst first, each with a button for its smallest change and the larger ones that also do.

    said  the page's verdict: a finding whose sentence is in it is not said again, only its changes are offered
    """
    for n, finding in enumerate(found):
        repeated = finding.sentence in said
        changes = [c for c in (finding.change, *finding.others) if c]
        if repeated and not changes:
            continue
        with st.container(border=True):
            if not repeated:
                getattr(st, _LEVELS[finding.severity])(plain(finding.sentence))
            if changes:
                st.markdown("What would change it, smallest first:")
                with st.container(horizontal=True):
                    for m, change in enumerate(changes):
                        key = f"change_{finding.code}_{n}_{m}"
                        st.button(change.sentence, key=key, on_click=_apply, args=(change,))


def _apply(change: Change) -> None:
    form.assign(**change.choices)


def advice(severity: str, sentence: str) -> None:
    """One piece of advice in the box of its severity (error, warning, info)."""
    getattr(st, _LEVELS[severity])(plain(sentence))
