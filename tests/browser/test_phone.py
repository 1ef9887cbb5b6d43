"""Each page on a phone."""

import pytest
from playwright.sync_api import Page

from tests.browser.looking import accessibility_faults, errors_shown, overflow, visit
from ui.nav import PAGES


@pytest.mark.parametrize("address", [address for _, _, address in PAGES])
def test_page_fits_a_phone(app: str, phone: Page, address: str) -> None:
    """On a screen 390 pixels wide nothing sticks out sideways, the form is folded away, the verdict is there without
    scrolling, and axe has no objection.
    """
    visit(phone, f"{app}/{address}")
    assert phone.get_by_test_id("stSidebar").get_attribute("aria-expanded") == "false"
    box = phone.get_by_test_id("stMain").get_by_test_id("stAlert").first.bounding_box()
    assert box and box["y"] + box["height"] < 844
    assert errors_shown(phone) == []
    assert overflow(phone) <= 0
    assert accessibility_faults(phone) == []
