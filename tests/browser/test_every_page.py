"""What holds for each page of the app, seen in a real browser."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.looking import errors_shown, overflow, settled, visit
from ui.nav import PAGES

ADDRESSES = [address for _, _, address in PAGES]
TITLES = {address: title for _, title, address in PAGES}


def accessibility_faults(page: Page) -> list[str]:
    """What axe finds wrong on the page as it stands: rule, element and reason."""
    found = Axe().run(page).response["violations"]
    return [f"{fault['id']}: {node['target']} {node['failureSummary']}" for fault in found for node in fault["nodes"]]


@pytest.mark.parametrize("address", ADDRESSES)
def test_page_opens_and_everyone_can_read_it(app: str, page: Page, address: str) -> None:
    """The page shows no exception, the whole menu, and nothing that axe objects to."""
    visit(page, f"{app}/{address}")
    assert errors_shown(page) == []
    menu = page.get_by_test_id("stSidebarNav").inner_text()
    assert all(title in menu for title in TITLES.values())
    assert accessibility_faults(page) == []


@pytest.mark.parametrize("address", ADDRESSES)
def test_page_fits_a_phone(app: str, phone: Page, address: str) -> None:
    """On a screen 390 pixels wide nothing sticks out sideways and axe has no objection."""
    visit(phone, f"{app}/{address}")
    assert errors_shown(phone) == []
    assert overflow(phone) <= 0
    assert accessibility_faults(phone) == []


def test_first_request_of_a_fresh_server_may_be_a_deep_link(fresh_app: str, page: Page) -> None:
    """A link to an inner page restores frame, menu and values even where nobody has opened the first page before."""
    visit(page, f"{fresh_app}/speed?users=40")
    settled(page)
    menu = page.get_by_test_id("stSidebarNav").inner_text()
    assert all(title in menu for title in TITLES.values())
    assert "users=40" in page.url
    assert errors_shown(page) == []
