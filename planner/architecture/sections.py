"""Where a wrapper's config keeps its language model, and what absent keys of a section mean."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from planner.architecture.keys import Path as KeyPath

# Sections that may hold the language model of a wrapper; looked at in this order, again and again.
TEXT_SECTIONS: Final = ("text_config", "language_config", "llm_config", "thinker_config")


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """model_type -> what an absent key means (defaults of the transformers 5.24 config classes)."""
    path = Path(__file__).with_name("class_defaults.json")
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def text_sections(data: Mapping[str, Any]) -> list[KeyPath]:
    """Paths of the nested sections that lead to the language model, outermost first; empty for a flat config."""
    found: list[KeyPath] = []
    place: Mapping[str, Any] = data
    path: KeyPath = ()
    while name := next((s for s in TEXT_SECTIONS if isinstance(place.get(s), Mapping)), None):
        place, path = place[name], (*path, name)
        found.append(path)
    return found
