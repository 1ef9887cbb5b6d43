"""The main job: a link, a pasted config, a change, the link that results, and another person who opens it."""

import re

from playwright.sync_api import Page, expect

from tests.browser.conftest import Opener
from tests.browser.looking import (
    changed,
    choices,
    copied_link,
    enter,
    errors_shown,
    notes,
    paste_config,
    pick,
    verdict,
    visit,
)
from tests.browser.server import ROOT

CONFIGS = ROOT / "tests" / "data" / "model_configs"
LLAMA_70B = (CONFIGS / "llama" / "Llama-3.3-70B-Instruct.json").read_text()


def test_paste_change_copy_and_open_elsewhere(app: str, open_context: Opener) -> None:
    """A pasted config and a moved slider end in a link under 1,000 characters that gives others the same verdict."""
    context = open_context()
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    visit(page, f"{app}/speed?device=H100+80GB+SXM&devices=4&users=12&weights=FP8")
    before = verdict(page)
    paste_config(page, LLAMA_70B)
    assert any(note.startswith("Read: llama, 70.6 B parameters, 80 layers") for note in notes(page))
    assert verdict(page) != before
    page.get_by_role("slider", name="Users at once").focus()
    for _ in range(10):
        page.keyboard.press("ArrowRight")
    changed(page)
    expect(page.get_by_label("Users at once", exact=True)).to_have_value("30")
    assert choices(page)["users"] == "30"
    enter(page, "Prompt tokens", "2048")
    said = verdict(page)
    box = page.get_by_test_id("stSidebar").get_by_test_id("stCode")
    box.hover()
    box.get_by_role("button").click()
    link = page.evaluate("navigator.clipboard.readText()")
    assert link == copied_link(page) and len(link) < 1000 and "v=1" in link

    other = open_context().new_page()
    visit(other, link)
    assert verdict(other) == said
    assert copied_link(other) == link
    assert errors_shown(page) == errors_shown(other) == []


def test_pasted_model_stays_until_another_is_chosen(app: str, page: Page) -> None:
    """A pasted model lives in the address through pages and bad pastes; an example replaces it, the button drops it."""
    visit(page, f"{app}/")
    paste_config(page, LLAMA_70B)
    code = choices(page)["config"]
    for bad in ("{not json", '{"model_max_length": 8192, "tokenizer_class": "LlamaTokenizer"}', "[1, 2]"):
        paste_config(page, bad)
        assert any("The model before stays." in note for note in notes(page)), bad
        assert choices(page)["config"] == code
    page.get_by_test_id("stSidebarNav").get_by_role("link", name="Fewer bits").click()
    expect(page.get_by_role("heading", level=1, name="Fewer bits")).to_be_visible()
    changed(page)
    assert choices(page)["config"] == code
    pick(page, "Example model", "Llama 3.1 8B")
    assert "config" not in choices(page) and choices(page)["model"] == "Llama 3.1 8B"
    paste_config(page, LLAMA_70B)
    assert choices(page)["config"] == code
    page.get_by_role("button", name="Back to the example model", exact=True).click()
    changed(page)
    assert "config" not in choices(page) and choices(page)["model"] == "Llama 3.1 8B"
    assert errors_shown(page) == []


def test_change_that_a_finding_offers_flips_the_verdict(app: str, page: Page) -> None:
    """The button of a finding's change turns the verdict to good, and the address carries the change."""
    visit(page, f"{app}/?model=Qwen3+32B&device=H100+80GB+SXM&users=8")
    assert verdict(page).startswith("!")
    page.get_by_role("button", name="8-bit conversation memory (KV cache)", exact=True).click()
    changed(page)
    assert verdict(page).startswith("✓")
    assert choices(page)["kv"] == "FP8"
    assert "kv=FP8" in copied_link(page)


def test_scenario_file_goes_round(app: str, page: Page, open_context: Opener) -> None:
    """A scenario that was downloaded and loaded elsewhere gives the same link; a file that is none changes nothing."""
    visit(page, f"{app}/?device=L40S&devices=4&weights=FP8&users=300&utilization=0.85&max_tpot=0.025")
    paste_config(page, LLAMA_70B)
    link, said = copied_link(page), verdict(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Download the scenario", exact=True).click()
    saved = download.value.path().read_bytes()

    other = open_context().new_page()
    visit(other, f"{app}/?users=3")
    upload = other.locator("input[type=file]")
    for content in (b"\xff\xfe", b"[]", b'{"scenario": {"users": "many"}}', b'{"scenario": {"nonsense": 1}}'):
        upload.set_input_files({"name": "scenario.json", "mimeType": "application/json", "buffer": content})
        changed(other)
        assert choices(other) == {"users": "3"} and errors_shown(other) == []
        assert any("is not" in note or note.endswith("Nothing was changed.") for note in notes(other)), content
    upload.set_input_files({"name": "scenario.json", "mimeType": "application/json", "buffer": saved})
    changed(other)
    expect(other).to_have_url(re.compile("users=300"))
    changed(other)
    assert copied_link(other) == link and verdict(other) == said
