"""The real app as its users get it: `streamlit run app.py` in a process of its own."""

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

ROOT = Path(__file__).resolve().parents[2]
HOST = "127.0.0.1"
START_SECONDS = 60


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind((HOST, 0))
        port: int = sock.getsockname()[1]
    return port


def _healthy(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


@contextmanager
def running_app() -> Iterator[str]:
    """Address of a fresh server, such as http://127.0.0.1:40123; it is stopped on leaving."""
    port = _free_port()
    url = f"http://{HOST}:{port}"
    command = [sys.executable, "-m", "streamlit", "run", "app.py"]
    options = ["--server.port", str(port), "--server.address", HOST, "--server.headless", "true"]
    with TemporaryFile() as log:
        process = subprocess.Popen(
            [*command, *options], cwd=ROOT, stdout=log, stderr=subprocess.STDOUT, env={**os.environ, "TZ": "UTC"}
        )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not _healthy(url):
                if process.poll() is not None or time.monotonic() > deadline:
                    log.seek(0)
                    raise RuntimeError(f"The app did not start: {log.read().decode(errors='replace')[-2000:]}")
                time.sleep(0.1)
            yield url
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
