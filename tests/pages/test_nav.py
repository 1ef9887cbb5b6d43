"""Addresses of pages in links."""

import pytest

from ui import nav


@pytest.mark.parametrize("given, shared", [
    ("http://host:8501", "http://host:8501/"), ("http://host:8501/", "http://host:8501/"),
    ("http://host:8501/fit", "http://host:8501/"), ("http://host/planner/fit", "http://host/planner/"),
    ("http://host/speed", "http://host/speed"), ("http://host/planner/check", "http://host/planner/check"), ("", "/"),
])  # fmt: skip
def test_links_name_the_first_page_by_the_root(given: str, shared: str) -> None:
    """The first page is linked at "/", where the menu marks it; every other page at its own address."""
    assert nav.shared(given) == shared
