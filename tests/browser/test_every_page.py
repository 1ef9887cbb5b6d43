"""What holds for each page of the app, seen in a real browser."""

import pytest
from playwright.sync_api import Page

from tests.browser.looking import accessibility_faults, errors_shown, visit
from ui.nav import PAGES

ADDRESSES = [address for _, _, address in PAGES]
TITLES = {address: title for _, title, address in PAGES}


@pytest.mark.parametrize("address", ADDRESSES)
def test_page_opens_and_everyone_can_read_it(app: str, desk: Page, address: str) -> None:
    """The page shows no exception, the whole menu, and nothing that axe objects to."""
    visit(desk, f"{app}/{address}")
    assert errors_shown(desk) == []
    menu = desk.get_by_test_id("stSidebarNav").inner_text()
    assert all(title in menu for title in TITLES.values())
    assert accessibility_faults(desk) == []
