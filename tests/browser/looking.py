"""Looking at a page in the browser: waiting until it is drawn, and reading what it shows."""

import re
from urllib.parse import parse_qsl

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

# A cold page with all its charts takes a few seconds on a loaded machine with two cores.
PATIENCE_MS = 60_000


def settled(page: Page) -> Page:
    """Wait until the app has finished running, twice with a pause, because one run may ask for the next."""
    for _ in range(2):
        page.locator('[data-testid="stApp"][data-test-script-state="notRunning"]').wait_for()
        page.wait_for_timeout(150)
    return page


def visit(page: Page, url: str) -> Page:
    """Open an address of the app and wait until it is drawn."""
    page.goto(url, timeout=PATIENCE_MS)
    page.get_by_role("heading", level=1).first.wait_for()
    # Parts of the interface are fetched when first used; before they are there, nothing can be judged.
    page.wait_for_load_state("networkidle")
    return settled(page)


def accessibility_faults(page: Page) -> list[str]:
    """What axe finds wrong on the page as it stands: rule, element and reason."""
    found = Axe().run(page).response["violations"]
    return [f"{fault['id']}: {node['html']} {node['failureSummary']}" for fault in found for node in fault["nodes"]]


def overflow(page: Page) -> int:
    """Pixels by which the page is wider than its screen; 0 or less when all fits."""
    width = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    return int(width)


def errors_shown(page: Page) -> list[str]:
    """Texts of the exceptions that the page shows."""
    return page.locator('[data-testid="stException"]').all_inner_texts()


def query(page: Page) -> str:
    """The query part of the page's address, with the leading question mark dropped."""
    return re.sub(r"^[^?]*\??", "", page.url)


def verdict(page: Page) -> str:
    """The sentence that the page opens with, its mark included."""
    box = page.get_by_test_id("stMain").get_by_test_id("stAlert").filter(has_text=re.compile(r"^\s*[✓!✕]"))
    return " ".join(box.first.inner_text().split())


def choices(page: Page) -> dict[str, str]:
    """The settings in the page's address."""
    return dict(parse_qsl(query(page)))


def copied_link(page: Page) -> str:
    """The text of the box "Copy link"."""
    return page.get_by_test_id("stSidebar").get_by_test_id("stCode").inner_text().strip()


def notes(page: Page) -> list[str]:
    """Every boxed sentence that the page shows, the sidebar's included."""
    return [" ".join(text.split()) for text in page.get_by_test_id("stAlert").all_inner_texts()]


def enter(page: Page, label: str, value: str) -> None:
    """Type into a field of the form, as with Enter."""
    field = page.get_by_label(label, exact=True)
    field.fill(value)
    field.press("Enter")
    changed(page)


def pick(page: Page, label: str, option: str) -> None:
    """Choose an option of a select box."""
    box = page.get_by_role("combobox", name=label, exact=True)
    box.click()
    box.fill(option)
    page.get_by_role("option", name=option, exact=True).click()
    changed(page)


def changed(page: Page) -> Page:
    """Wait for what an input sets off: it takes a moment to reach the app."""
    page.wait_for_timeout(400)
    return settled(page)


def paste_config(page: Page, text: str) -> None:
    """Paste a config.json into the form, opening its part if it is closed."""
    area = page.get_by_label("config.json of the model (Files tab on its Hugging Face page)", exact=True)
    if not area.is_visible():
        page.get_by_text("Paste a config.json", exact=True).click()
    area.fill(text)
    page.get_by_role("button", name="Read it", exact=True).click()
    changed(page)
