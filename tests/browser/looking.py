"""Looking at a page in the browser: waiting until it is drawn, and reading what it shows."""

import re

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
