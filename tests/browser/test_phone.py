"""Each page on a phone."""

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import accessibility_faults, errors_shown, overflow, visit
from ui.nav import PAGES


@pytest.mark.parametrize("address", [address for _, _, address in PAGES])
def test_page_fits_a_phone(app: str, pocket: Page, address: str) -> None:
    """On a screen 390 pixels wide nothing sticks out sideways, the form is folded away, the verdict is there without
    scrolling, and axe has no objection.
    """
    visit(pocket, f"{app}/{address}")
    expect(pocket.get_by_test_id("stExpandSidebarButton")).to_be_visible()
    expect(pocket.get_by_label("Prompt tokens", exact=True)).not_to_be_in_viewport()
    box = pocket.get_by_test_id("stMain").get_by_test_id("stAlert").first.bounding_box()
    assert box and box["y"] + box["height"] < 844
    assert errors_shown(pocket) == []
    assert overflow(pocket) <= 0
    assert accessibility_faults(pocket) == []
