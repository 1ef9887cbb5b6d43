"""What holds for each page of the app, run in process."""

import pytest

from tests.pages.conftest import Open
from tests.pages.reading import texts
from ui.nav import PAGES

PATHS = [path for path, _, _ in PAGES]


@pytest.mark.parametrize("path", PATHS)
def test_page_runs(open_page: Open, path: str) -> None:
    """The page runs on the example that the app opens with, without an exception, and says something."""
    assert len(texts(open_page(path))) > 100


@pytest.mark.parametrize("path", PATHS)
def test_page_takes_the_links_values(open_page: Open, path: str) -> None:
    """A value of the link is the scenario's value on every page."""
    page = open_page(path, users=40)
    assert page.session_state["users"] == 40
