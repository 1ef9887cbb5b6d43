"""Checking a server, in a real browser: paste, compare, calibrate, carry it along, undo it."""

from urllib.parse import parse_qs

from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE, Opener
from tests.browser.looking import accessibility_faults, errors_shown, overflow, query, settled, visit
from tests.measurements.samples import text

# What a laptop of the kind that wrote the sample runs.
SCENARIO = "model=Llama+3.1+8B&device=RTX+4090&engine=llama.cpp&weights=Q4_K_M+(GGUF)"
SAID = "Calibrated on your measurement"


def paste(page: Page, output: str) -> None:
    page.get_by_role("textbox", name="Output of the tool").fill(output)
    page.get_by_role("button", name="Compare", exact=True).click()
    settled(page)


def choices(page: Page) -> dict[str, list[str]]:
    return parse_qs(query(page))


def test_paste_calibrate_share_and_undo(app: str, page: Page, open_context: Opener) -> None:
    """A real output is compared; calibrated on it, every page says so, the link carries it, and it can be undone."""
    visit(page, f"{app}/check?{SCENARIO}")
    paste(page, text("ollama_stream.ndjson"))
    expect(page.get_by_text("Recognised: Ollama")).to_be_visible()
    expect(page.get_by_text("50.0 tokens/s", exact=False).first).to_be_visible()

    page.get_by_role("button", name="Calibrate the planner on this measurement").click()
    expect(page.get_by_text(SAID).first).to_be_visible()
    settled(page)
    factors = choices(page)
    assert float(factors["calibrated_decode"][0]) > 0 and "Ollama" in factors["calibrated_on"][0]

    page.get_by_test_id("stSidebarNav").get_by_text("How fast?").click()
    expect(page.get_by_role("heading", level=1, name="How fast?")).to_be_visible()
    expect(page.get_by_text(SAID).first).to_be_visible()
    settled(page)
    assert choices(page)["calibrated_decode"] == factors["calibrated_decode"]

    other = open_context().new_page()
    visit(other, page.url)
    expect(other.get_by_text(SAID).first).to_be_visible()

    page.get_by_test_id("stSidebarNav").get_by_text("Check my server").click()
    expect(page.get_by_role("textbox", name="Output of the tool")).to_have_value(text("ollama_stream.ndjson"))
    page.get_by_role("button", name="Undo the calibration").click()
    expect(page.get_by_text(SAID)).to_have_count(0)
    settled(page)
    assert not any(name.startswith("calibrated") for name in choices(page))
    assert errors_shown(page) == []


def test_junk_then_a_real_output_on_a_phone(app: str, open_context: Opener) -> None:
    """Junk gets a sentence, a real output after it is compared, nothing sticks out and axe has no objection."""
    page = open_context(**PHONE).new_page()
    visit(page, f"{app}/check?{SCENARIO}")
    paste(page, "no tool wrote this")
    expect(page.get_by_text("The output was not recognised.")).to_be_visible()
    paste(page, text("llama_bench_new.md.txt"))
    expect(page.get_by_text("Recognised: llama-bench")).to_be_visible()
    assert errors_shown(page) == [] and overflow(page) <= 0
    assert accessibility_faults(page) == []
