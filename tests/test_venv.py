"""The script that makes the environment takes the Python it is told to, or says why not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "tools" / "venv.sh"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="a shell script")


def pretend(path: Path, version: str) -> Path:
    """A program that says it is Python of this version and makes environments that say so too."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"""#!/bin/sh
if [ "$1" = -c ]; then echo {version}; fi
if [ "$1" = -m ]; then mkdir -p "$3/bin" && cp "$0" "$3/bin/python"; fi
"""
    )
    path.chmod(0o755)
    return path


def run(tmp_path: Path, python: Path | str = "") -> subprocess.CompletedProcess[str]:
    """The script with these programs only, beside the system's own small ones."""
    tools = tmp_path / "system"
    tools.mkdir(exist_ok=True)
    for name in ("mkdir", "cp", "sh", "id"):
        if not (tools / name).exists():
            (tools / name).symlink_to(next(p for p in (Path("/bin") / name, Path("/usr/bin") / name) if p.exists()))
    environment = {"PATH": f"{tmp_path / 'bin'}:{tools}", "PYTHON": str(python)}
    command = ["/bin/sh", str(SCRIPT), "env"]
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)


def made(tmp_path: Path) -> str:
    """The version of the environment that was made."""
    python = tmp_path / "env" / "bin" / "python"
    return subprocess.run([python, "-c", ""], capture_output=True, text=True, check=True).stdout.strip()


def test_the_first_python_that_fits_is_taken(tmp_path: Path) -> None:
    """One that is too new or too old is passed over when none is named."""
    for name, version in (("python3", "3.14"), ("python3.12", "3.12"), ("python", "3.9")):
        pretend(tmp_path / "bin" / name, version)
    assert run(tmp_path).returncode == 0
    assert made(tmp_path) == "3.12"


@pytest.mark.parametrize("version", ["3.9", "3.10", "3.14", "2.7", "4.11"])
def test_a_named_python_that_does_not_fit_stops(tmp_path: Path, version: str) -> None:
    """It is not silently replaced by another: its version is said, and what is needed."""
    pretend(tmp_path / "bin" / "python3.12", "3.12")
    done = run(tmp_path, pretend(tmp_path / "other" / "python", version))
    assert done.returncode == 1 and not (tmp_path / "env").exists()
    assert f"is Python {version}; 3.11, 3.12 or 3.13 is needed" in done.stderr


def test_a_named_python_that_is_not_there_stops(tmp_path: Path) -> None:
    """A path that names no program is said so."""
    pretend(tmp_path / "bin" / "python3", "3.12")
    done = run(tmp_path, tmp_path / "nowhere" / "python3.12")
    assert done.returncode == 1 and "nowhere/python3.12 does not run" in done.stderr


def test_no_python_that_fits_stops(tmp_path: Path) -> None:
    """Where none fits it says which do."""
    pretend(tmp_path / "bin" / "python3", "3.9")
    done = run(tmp_path)
    assert done.returncode == 1 and "No Python 3.11, 3.12 or 3.13 was found" in done.stderr


def test_an_environment_of_another_python_is_said(tmp_path: Path) -> None:
    """An environment that is there stays with the same Python or none named, and is refused with another."""
    older, newer = (pretend(tmp_path / v / "python", v) for v in ("3.11", "3.13"))
    assert run(tmp_path, older).returncode == 0 and made(tmp_path) == "3.11"
    assert run(tmp_path, older).returncode == 0 and run(tmp_path).returncode == 0
    done = run(tmp_path, newer)
    assert done.returncode == 1 and "env was made with Python 3.11, but" in done.stderr and "make clean" in done.stderr
    assert made(tmp_path) == "3.11"
