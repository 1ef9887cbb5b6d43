"""Fixtures for tests that drive the real app in a real browser.

Every page opened through these fixtures is watched: when its test ends, no request may have left the app's own address
and no uncaught fault may have shown in the browser's console.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.chromium import ARGUMENTS, installed
from tests.browser.server import running_app

FOLDER = Path(__file__).parent
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
DESKTOP = {"viewport": {"width": 1440, "height": 900}}
# A cold page with all its charts takes a few seconds on a loaded machine with two cores.
PATIENCE_MS = 60_000
LOCAL_SCHEMES = ("data", "blob", "about")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder, so that `-m "not browser"` leaves them out."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser, started once."""
    path = installed()
    if path is None:
        pytest.fail("No Chromium or Chrome was found; `make browser` installs one.")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, headless=True, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app() -> Iterator[str]:
    """Address of a server that all tests of the session share."""
    with running_app() as url:
        yield url


@pytest.fixture
def fresh_app() -> Iterator[str]:
    """Address of a server that nobody has visited yet."""
    with running_app() as url:
        yield url


Opener = Callable[..., BrowserContext]


@pytest.fixture
def open_context(chromium: Browser) -> Iterator[Opener]:
    """Opens watched browser contexts, each like another person's browser: `open_context(**PHONE)`."""
    contexts: list[BrowserContext] = []
    requested: list[str] = []
    faults: list[str] = []

    def open_one(**options: object) -> BrowserContext:
        context = chromium.new_context(**(DESKTOP | options))  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        context.on("request", lambda request: requested.append(request.url))
        context.on("weberror", lambda error: faults.append(str(error.error)))
        contexts.append(context)
        return context

    yield open_one
    hosts = {urlsplit(page.url).netloc for context in contexts for page in context.pages}
    for context in contexts:
        context.close()
    strangers = sorted({url for url in requested if leaves(url, hosts)})
    assert not strangers, f"Requests left the app: {strangers}"
    assert not faults, f"The browser met faults: {faults}"


def leaves(url: str, hosts: set[str]) -> bool:
    """Whether a request goes elsewhere than to these hosts (`name:port`)."""
    parts = urlsplit(url)
    return parts.scheme not in LOCAL_SCHEMES and parts.netloc not in hosts


@pytest.fixture
def page(open_context: Opener) -> Page:
    """A tab on a desktop screen."""
    return open_context().new_page()


@pytest.fixture
def phone(open_context: Opener) -> Page:
    """A tab on a phone, 390 pixels wide."""
    return open_context(**PHONE).new_page()


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
    return settled(page)


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
