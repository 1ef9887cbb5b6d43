"""What the command line reads and writes: files, the standard streams, and what happens when one of them fails."""

from __future__ import annotations

import json
import math
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from planner.errors import PlannerError


class OutputError(Exception):
    """Standard output takes nothing more; the message says why."""


def read_bytes(path: str) -> bytes:
    """The bytes of a file, or of standard input for "-". Raises PlannerError."""
    if not path:
        raise PlannerError('The path of a file is empty. Give the name of a file, or "-" for standard input.')
    if path == "-" and sys.stdin is None:
        raise PlannerError("Standard input is closed. Give the name of a file, or send the text to standard input.")
    try:
        return sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise PlannerError(f"{_called(path)} cannot be read ({error.strerror}). Check the path.") from None
    except ValueError:  # a NUL in the path
        raise PlannerError(f"{path!r} is no path. Check the path.") from None


def read_text(path: str) -> str:
    """The text of a file, or of standard input for "-". Raises PlannerError."""
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PlannerError(f"{_called(path)} is not a text file; expected JSON or CSV in UTF-8.") from None


def _called(path: str) -> str:
    return "standard input" if path == "-" else argument_text(path)


def argument_text(text: str) -> str:
    r"""An argument as text: bytes that are none in UTF-8 become what a shell would write for them, such as \xff."""
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def print_json(value: Any, indent: int | None = 1) -> None:
    """Write a value as JSON, in characters that standard output has. Raises OutputError and BrokenPipeError."""
    text = json.dumps(_plain(value), indent=indent, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(_plain(value), indent=indent, allow_nan=False)
    write(f"{text}\n")


def _plain(value: Any) -> Any:
    """Numbers as JSON allows them: whole floats stay floats, what is not finite becomes null."""
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write(text: str) -> None:
    """Write to standard output, all the way: a full disk shows now, not when the interpreter ends."""
    if sys.stdout is None:
        raise OutputError("Standard output is closed; the answer was not written.")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"The answer cannot be written to standard output ({error.strerror}).") from None


def say(text: str) -> None:
    """One line on standard error; where that takes nothing, nothing is left to do."""
    if sys.stderr is None:
        return
    try:
        print(" ".join(text.split()), file=sys.stderr, flush=True)
    except OSError:
        drop(sys.stderr)


def drop(stream: TextIO | None) -> None:
    """Let what a stream still holds go nowhere: without this the interpreter complains when it flushes at its end."""
    if stream is not None:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
