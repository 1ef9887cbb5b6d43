"""What holds for each page of the app, seen in a real browser."""

import pytest
from playwright.sync_api import Page

from tests.browser.looking import accessibility_faults, errors_shown, settled, visit
from ui.nav import PAGES

ADDRESSES = [address for _, _, address in PAGES]
TITLES = {address: title for _, title, address in PAGES}


@pytest.mark.parametrize("address", ADDRESSES)
def test_page_opens_and_everyone_can_read_it(app: str, page: Page, address: str) -> None:
    """The page shows no exception, the whole menu, and nothing that axe objects to."""
    visit(page, f"{app}/{address}")
    assert errors_shown(page) == []
    menu = page.get_by_test_id("stSidebarNav").inner_text()
    assert all(title in menu for title in TITLES.values())
    assert accessibility_faults(page) == []


def test_first_request_of_a_fresh_server_may_be_a_deep_link(fresh_app: str, page: Page) -> None:
    """A link to an inner page restores frame, menu and values even where nobody has opened the first page before."""
    visit(page, f"{fresh_app}/speed?users=40")
    settled(page)
    menu = page.get_by_test_id("stSidebarNav").inner_text()
    assert all(title in menu for title in TITLES.values())
    assert "users=40" in page.url
    assert errors_shown(page) == []
