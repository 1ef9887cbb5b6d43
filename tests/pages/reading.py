"""Running a page in process and reading what it shows."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from streamlit.dataframe_util import convert_arrow_bytes_to_pandas_df
from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 60


def opened(path: str | None, query: Mapping[str, str]) -> AppTest:
    """The app after its first run with this query, on the page with this path."""
    test = AppTest.from_file(str(ROOT / "app.py"), default_timeout=PATIENCE_SECONDS)
    for name, value in query.items():
        test.query_params[name] = value
    test.run()
    if path is not None:
        test.switch_page(path).run()
    return sound(test)


def sound(test: AppTest) -> AppTest:
    """The same app, after making sure that it shows no exception."""
    assert not test.exception, [element.value for element in test.exception]
    return test


def shown(element: Any) -> str:
    """A sentence as it reads on the page: without the signs that keep Markdown from reading markup into it."""
    return re.sub(r"\\([^\w\s]|_)", r"\1", str(element.value)).replace("\u2060", "")


def texts(test: AppTest) -> str:
    """Everything that the page says in words, one element a line."""
    kinds = (test.title, test.header, test.subheader, test.markdown, test.caption)
    boxes = (test.error, test.warning, test.info, test.success)
    return "\n".join(str(element.value) for kind in (*kinds, *boxes) for element in kind)


@dataclass(frozen=True)
class Chart:
    """One chart: its Vega-Lite specification, the rows it draws, and the text that stands for it."""

    spec: dict[str, Any]
    rows: pd.DataFrame
    alt: str


def charts(test: AppTest) -> list[Chart]:
    """The charts of the page, in their order."""
    protos = [chart.proto for chart in test.get("vega_lite_chart")]
    return [Chart(json.loads(p.spec), convert_arrow_bytes_to_pandas_df(p.data.data), p.alt) for p in protos]


def tables(test: AppTest) -> list[pd.DataFrame]:
    """The tables of the page that can be sorted, in their order, as they are shown."""
    return [table.value for table in test.dataframe]


def specs(test: AppTest) -> list[dict[str, Any]]:
    """Vega-Lite specifications of the charts of the page, in their order."""
    return [chart.spec for chart in charts(test)]
