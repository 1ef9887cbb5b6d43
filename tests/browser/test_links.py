"""Links: every choice is in the address, on any page, whatever came before."""

from urllib.parse import parse_qsl

import pytest
from playwright.sync_api import Page, expect

from tests.browser.looking import (
    changed,
    choices,
    copied_link,
    enter,
    errors_shown,
    notes,
    paste_config,
    settled,
    verdict,
    visit,
)
from tests.browser.server import ROOT
from ui.nav import PAGES

TITLES = {address: title for _, title, address in PAGES}
SCENARIO = {"device": "L40S", "weights": "FP8", "users": "5000", "prompt": "3000", "utilization": "0.85"}
QUERY = "&".join(f"{name}={value}" for name, value in SCENARIO.items())
MANY_KEYS = ROOT / "tests/data/model_configs/glm/zai-org--GLM-5-FP8.json"


def menu(page: Page, address: str) -> None:
    """Choose a page in the menu."""
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=TITLES[address], exact=True).click()
    expect(page.get_by_role("heading", level=1, name=TITLES[address])).to_be_visible()
    changed(page)


def holds_scenario(page: Page) -> None:
    # A fast menu click empties the address for a moment.
    page.wait_for_function("location.search.includes('device=')", timeout=8000)
    assert choices(page) == SCENARIO
    expect(page.get_by_label("Prompt tokens", exact=True)).to_have_value("3000")
    expect(page.get_by_label("Users at once", exact=True)).to_have_value("5000")
    link = copied_link(page)
    assert "device=L40S" in link and "weights=FP8" in link and "users=5000" in link and "utilization=0.85" in link


@pytest.mark.parametrize("address", TITLES)
def test_first_request_of_a_fresh_server_is_a_link_to_any_page(fresh_app: str, page: Page, address: str) -> None:
    """Frame, page and values are right for the first visitor of a fresh server, whichever page the link names."""
    visit(page, f"{fresh_app}/{address}?{QUERY}")
    expect(page.get_by_role("heading", level=1, name=TITLES[address])).to_be_visible()
    expect(page.get_by_role("dialog")).to_have_count(0)
    assert page.get_by_test_id("stSidebarNav").get_by_role("link").all_inner_texts() == list(TITLES.values())
    holds_scenario(page)
    assert errors_shown(page) == []


def test_values_survive_pages_history_and_reload(app: str, page: Page) -> None:
    """Values stay through the menu, back, forward and reload, and so does a change made on the way."""
    visit(page, f"{app}/?{QUERY}")
    menu(page, "speed")
    holds_scenario(page)
    enter(page, "Prompt tokens", "1000")
    said = verdict(page)
    menu(page, "bits")
    assert choices(page) == SCENARIO | {"prompt": "1000"}
    page.go_back()
    expect(page.get_by_role("heading", level=1, name=TITLES["speed"])).to_be_visible()
    changed(page)
    assert choices(page) == SCENARIO | {"prompt": "1000"} and verdict(page) == said
    page.go_forward()
    expect(page.get_by_role("heading", level=1, name=TITLES["bits"])).to_be_visible()
    changed(page)
    page.reload()
    page.get_by_role("heading", level=1).wait_for()
    changed(page)
    assert choices(page) == SCENARIO | {"prompt": "1000"}
    expect(page.get_by_label("Prompt tokens", exact=True)).to_have_value("1000")


def test_click_faster_than_the_form_keeps_the_link(fresh_app: str, page: Page) -> None:
    """Whoever leaves the first page as soon as the menu is there takes the fields along, and one step back returns
    to the same scenario.
    """
    page.goto(f"{fresh_app}/?{QUERY}")
    page.get_by_test_id("stSidebarNav").get_by_role("link", name=TITLES["speed"], exact=True).click()
    for address in ("speed", "fit"):
        expect(page.get_by_role("heading", level=1, name=TITLES[address])).to_be_visible()
        settled(page)
        assert choices(page) == SCENARIO
        assert SCENARIO.items() <= dict(parse_qsl(copied_link(page).partition("?")[2])).items()
        if address == "speed":
            page.go_back()


def test_hidden_fields_are_not_in_the_link(app: str, page: Page) -> None:
    """Figures of a device typed in leave the address and the copied link when another device is chosen, for good."""
    visit(page, f"{app}/?device=custom&device_memory_gib=50&device_bandwidth_gb_s=1000&device_tflops=200")
    device = page.get_by_role("combobox", name="Device", exact=True)
    device.fill("L40S")
    device.press("Enter")
    page.wait_for_function("!location.search.includes('device_memory_gib')")
    enter(page, "Prompt tokens", "1000")
    assert choices(page) == {"device": "L40S", "prompt": "1000"}
    menu(page, "speed")
    assert choices(page) == {"device": "L40S", "prompt": "1000"}
    assert "device_" not in copied_link(page)


def test_tampered_link_gets_sentences(app: str, page: Page) -> None:
    """Each unusable setting is said in one sentence, the usable ones stay, the address is repaired, and the notes go
    away when told to.
    """
    visit(
        page,
        f"{app}/people?users=-5&users=7&device=RTX+9999&prompt=abc&zz=1&weights=FP8&output=999999999&config=1.cut&v=9",
    )
    settled(page)
    said = " ".join(notes(page))
    for word in ("users = -5", "RTX 9999", "prompt = 'abc'", "'zz'", "output = 999999999", "incomplete", "version '9'"):
        assert word in said, word
    assert choices(page) == {"v": "1", "users": "1", "weights": "FP8", "output": "1000000"}
    assert errors_shown(page) == [] and verdict(page)
    page.get_by_role("button", name="Understood", exact=True).click()
    changed(page)
    assert "RTX 9999" not in " ".join(notes(page))


def test_combination_that_cannot_be_is_said_and_the_last_one_kept(app: str, page: Page) -> None:
    """A combination that is refused is said beside the form, and the page keeps the last scenario that worked."""
    visit(page, f"{app}/?devices=4")
    before = verdict(page)
    page.get_by_text("More settings", exact=True).click()
    enter(page, "Attention data parallel groups", "3")
    assert any(
        "attention_data_parallel = 3 does not divide" in note and "last scenario" in note for note in notes(page)
    )
    assert verdict(page) == before and errors_shown(page) == []
    enter(page, "Attention data parallel groups", "2")
    assert not any("does not divide" in note for note in notes(page))


def test_link_too_long_offers_the_file(app: str, page: Page) -> None:
    """A link over 2,000 characters says so and offers the scenario as a file, which carries the model."""
    visit(page, f"{app}/")
    paste_config(page, MANY_KEYS.read_text())
    assert len(copied_link(page)) > 2000
    assert any("more than the 2,000" in note and "file" in note for note in notes(page))
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the scenario", exact=True).click()
    assert '"glm_moe_dsa"' in download.value.path().read_text()
    assert errors_shown(page) == []
