"""Names as people spell them: case, blanks, hyphens and underscores do not tell one from another."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeVar

T = TypeVar("T")

_BETWEEN_NUMBERS: Final = re.compile(r"(?<=\d)[\s._-]+(?=\d)")
_ELSEWHERE: Final = re.compile(r"[\s._-]+")


def spelling(name: str) -> str:
    """A name without what spelling may change; numbers stay apart, so that 3.1 8B is not 3 18B."""
    return _ELSEWHERE.sub("", _BETWEEN_NUMBERS.sub("/", name.strip().casefold()))


def named(text: str, known: Mapping[str, T]) -> T | None:
    """What is called so among `known`: by the name in any case, else by a spelling that only one thing has."""
    if text in known:
        return known[text]
    low = text.strip().casefold()
    for name, thing in known.items():
        if name.casefold() == low:
            return thing
    wanted = spelling(text)
    alike = [thing for name, thing in known.items() if wanted and spelling(name) == wanted]
    return alike[0] if alike and all(thing == alike[0] for thing in alike) else None
