"""Fixtures for tests that run the pages in process, with Streamlit's own AppTest."""

from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from tests.pages.reading import ROOT, opened

Open = Callable[..., AppTest]


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Runs a page as if a link had been opened: `open_page("pages/speed.py", users=40)`; without a path, the first."""
    monkeypatch.chdir(ROOT)

    def run(path: str | None = None, **query: object) -> AppTest:
        return opened(path, {name: str(value) for name, value in query.items()})

    return run
