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
_STARTS = re.compile(r"^[ \t]*(?:data:[ \t]*)?([\[{])", re.MULTILINE)
# Log lines may start with a bracket too; a text with more of them than this holds no result.
_MOST_FAILURES = 2_000
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
        """The JSON objects and lists that start a line, also after `data:`; what lies between them is passed over."""
        found: list[Any] = []
        decoder = json.JSONDecoder()
        end = failures = 0
        for start in _STARTS.finditer(self.text):
            if start.start(1) < end or failures == _MOST_FAILURES:
                continue
            try:
                value, end = decoder.raw_decode(self.text, start.start(1))
                found.append(value)
            except (ValueError, RecursionError):
                failures += 1
        return found

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
