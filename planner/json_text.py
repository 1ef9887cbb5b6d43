"""Text that should be JSON: how deep it nests, found in one pass before a parser is let near it."""

from __future__ import annotations

import re
from typing import Final

# A whole text in quotes (also one that is cut off), or one brace or bracket. Nothing is tried twice, so that no text
# makes the pass long.
_TOKEN: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[\]{}]', re.DOTALL)


def nests_deeper(text: str, levels: int) -> bool:
    """Whether braces and brackets outside of quotes are open more than `levels` deep at some place."""
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in ("[", "{"):
            depth += 1
            if depth > levels:
                return True
        elif sign in ("]", "}"):
            depth -= 1
    return False
