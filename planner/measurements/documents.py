"""A pasted text made ready for the readers: bounded, cleaned of terminal colours, and its JSON parts found."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from planner.errors import MeasurementError

MAX_CHARS = 2_000_000
_ESCAPES = re.compile(r"\x1b\[[0-9;?]{0,20}[A-Za-z]")
_STARTS_TRIED = 20
# The boxes of table printers, read as the plain bars they stand for.
_BARS = str.maketrans({"│": "|", "┃": "|", "║": "|", "\u00a0": " "})


@dataclass(frozen=True)
class Pasted:
    """One pasted text: `text` cleaned, `lines` without empty ends, `documents` every JSON value found in it."""

    text: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without trailing blanks."""
        return [line.rstrip() for line in self.text.splitlines()]

    @cached_property
    def documents(self) -> list[Any]:
        """The JSON values: the whole text, or one a line (also after `data:`), or the first that starts within it."""
        whole = _load(self.text)
        if whole is not None:
            return [whole]
        by_line = [value for line in self.lines if (value := _load(_event(line))) is not None]
        return by_line or _embedded(self.text)

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        """The JSON objects, those inside a top-level list included."""
        found: list[dict[str, Any]] = []
        for value in self.documents:
            found.extend(item for item in (value if isinstance(value, list) else [value]) if isinstance(item, dict))
        return found


def prepare(text: str) -> Pasted:
    """Clean a pasted text.

    Raises MeasurementError where it is empty or longer than 2,000,000 characters.
    """
    if len(text) > MAX_CHARS:
        raise MeasurementError(
            f"The pasted output has {len(text):,} characters; at most {MAX_CHARS:,} are read. "
            "Paste only the summary, or save the result without the detailed lists."
        )
    if not text.strip():
        raise MeasurementError("Nothing was pasted. Paste the output of a measuring tool.")
    cleaned = _ESCAPES.sub("", text.lstrip("\ufeff")).translate(_BARS).replace("\r\n", "\n").replace("\r", "\n")
    return Pasted(cleaned)


def _event(line: str) -> str:
    line = line.strip()
    return line[5:].strip() if line.startswith("data:") else line


def _load(text: str) -> Any:
    """The object or list in a text, None where it is not JSON; a nest too deep counts as not JSON."""
    text = text.strip()
    if not text.startswith(("{", "[")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _embedded(text: str) -> list[Any]:
    decoder = json.JSONDecoder()
    for start in list(re.finditer(r"^[ \t]*[\[{]", text, re.MULTILINE))[:_STARTS_TRIED]:
        try:
            value, _ = decoder.raw_decode(text, start.end() - 1)
        except (ValueError, RecursionError):
            continue
        if value:
            return [value]
    return []
