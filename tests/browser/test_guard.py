"""The guard that watches every browser test."""

import pytest

from tests.browser.conftest import leaves


@pytest.mark.parametrize(
    ("url", "away"),
    [
        ("http://127.0.0.1:8501/static/js/index.js", False),
        ("ws://127.0.0.1:8501/_stcore/stream", False),
        ("data:image/png;base64,AAAA", False),
        ("blob:http://127.0.0.1:8501/1", False),
        ("https://fonts.example.org/s/icons.woff2", True),
        ("http://127.0.0.1:8502/", True),
        ("wss://collector.example.org/stream", True),
    ],
)
def test_guard_tells_own_requests_from_others(url: str, away: bool) -> None:
    """Only requests to the app's own host and port, and those that leave no page, count as its own."""
    assert leaves(url, {"127.0.0.1:8501"}) is away
