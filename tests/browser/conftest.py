"""Fixtures for tests that drive the real app in a real browser.

Every page opened through these fixtures is watched: when its test ends, no request may have left the app's own address
and no uncaught fault may have shown in the browser's console.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.chromium import ARGUMENTS, installed
from tests.browser.looking import PATIENCE_MS
from tests.browser.server import HOST, running_app

FOLDER = Path(__file__).parent
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
DESKTOP = {"viewport": {"width": 1440, "height": 900}}
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
    expect.set_options(timeout=PATIENCE_MS)
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


@contextmanager
def watched(chromium: Browser) -> Iterator[Opener]:
    """Opens browser contexts and looks, on leaving, at what they asked for and which faults they met."""
    contexts: list[BrowserContext] = []
    requested: list[str] = []
    faults: list[str] = []

    def open_one(**options: object) -> BrowserContext:
        context = chromium.new_context(**(DESKTOP | options))  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE_MS)
        context.on("request", lambda request: requested.append(request.url))
        context.on("weberror", lambda error: faults.append(str(error.error)))
        context.on("page", lambda page: page.on("websocket", lambda socket: requested.append(socket.url)))
        contexts.append(context)
        return context

    yield open_one
    pages = [urlsplit(page.url) for context in contexts for page in context.pages]
    hosts = {address.netloc for address in pages if address.hostname == HOST}
    for context in contexts:
        context.close()
    strangers = sorted({url for url in requested if leaves(url, hosts)})
    assert not strangers, f"Requests left the app: {strangers}"
    assert not faults, f"The browser met faults: {faults}"


@pytest.fixture
def open_context(chromium: Browser) -> Iterator[Opener]:
    """Opens watched browser contexts, each like another person's browser: `open_context(**PHONE)`."""
    with watched(chromium) as open_one:
        yield open_one


@pytest.fixture(scope="module")
def desk(chromium: Browser) -> Iterator[Page]:
    """A tab on a desktop screen that the tests of a module share: it fetches the app's own files once."""
    with watched(chromium) as open_one:
        yield open_one().new_page()


@pytest.fixture(scope="module")
def pocket(chromium: Browser) -> Iterator[Page]:
    """A tab on a phone, 390 pixels wide, that the tests of a module share."""
    with watched(chromium) as open_one:
        yield open_one(**PHONE).new_page()


def leaves(url: str, hosts: set[str]) -> bool:
    """Whether a request goes elsewhere than to these hosts (`name:port`)."""
    parts = urlsplit(url)
    return parts.scheme not in LOCAL_SCHEMES and parts.netloc not in hosts


@pytest.fixture
def page(open_context: Opener) -> Page:
    """A tab on a desktop screen."""
    return open_context().new_page()

