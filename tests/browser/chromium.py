"""A Chromium for the tests: one that is there already, or one that this installs.

`python -m tests.browser.chromium` prints its path; with `--install` it sees to it that there is one: Debian's package
when root, else Playwright's own download.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "msedge")
MAC_APPS = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
ARGUMENTS = [
    "--no-sandbox",  # in a container, and as root, Chromium has no sandbox to use; it opens nothing but the app
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    # Without these the browser itself calls out, and a machine without internet makes it wait.
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def installed() -> str | None:
    """Path of a browser that is there and starts, or None. The variable CHROMIUM names one to prefer."""
    named = os.environ.get("CHROMIUM")
    found = [named, *(shutil.which(name) for name in NAMES), *(app for app in MAC_APPS if Path(app).exists())]
    return next((path for path in found if path and _starts(path)), None) or _playwrights_own()


def _starts(path: str) -> bool:
    """Whether the program tells its version; Ubuntu's package is a stub that cannot, where there is no snap."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def _playwrights_own() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None


def install() -> None:
    """Install a browser: by apt when root on Debian, else Playwright's own, with its libraries when root."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root and shutil.which("apt-get"):
        quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
        subprocess.run(["apt-get", "update", "-qq"], env=quiet)
        subprocess.run(["apt-get", "install", "-y", "-qq", "chromium"], env=quiet)
        if installed():
            return
    libraries = ["--with-deps"] if root and sys.platform == "linux" else []
    subprocess.run([sys.executable, "-m", "playwright", "install", *libraries, "chromium"], check=True)


def main() -> int:
    """Print the path of the browser; 1 if there is none."""
    if "--install" in sys.argv and installed() is None:
        try:
            install()
        except subprocess.CalledProcessError as error:
            print(f"No browser could be installed: {error}. Install Chromium or Chrome by hand.", file=sys.stderr)
    path = installed()
    if path is None:
        print("No Chromium or Chrome was found; `make browser` installs one.", file=sys.stderr)
        return 1
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
