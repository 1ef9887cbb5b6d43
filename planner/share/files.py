"""Scenario <-> file: what the page saves, and the one reader of such files for the page and the command line."""

from __future__ import annotations

import codecs
import json
from typing import Any, Final

from planner.errors import LinkError
from planner.json_text import nests_deeper
from planner.scenario import VERSION, Scenario
from planner.share.gate import version_note

LARGEST_FILE: Final = 20_000_000  # bytes; a scenario with the largest published config has 3 million
DEEPEST: Final = 42  # levels of braces and brackets: those that a config may have, in a scenario, in its file

_AGAIN: Final = "Use a file that “Download the scenario” saved."


def scenario_file(s: Scenario) -> str:
    """The text of the file that keeps a scenario: every choice by its name."""
    return json.dumps({"v": VERSION, "scenario": s.choices()}, indent=1)


def read_scenario_file(data: bytes) -> tuple[Scenario, list[str]]:
    """The scenario of a file that was saved, or of an answer of the command line, and what had to be said about it.

    data  the bytes of the file: JSON in UTF-8, or in UTF-16 with its mark in front, as some editors save it
    Raises PlannerError with one sentence for what is no scenario, or one that cannot be planned.
    """
    from planner.plan import plan  # as in the gate

    found = _object(_text(data))
    notes = version_note("scenario file", found.get("v", VERSION))
    choices = found.get("scenario", {k: v for k, v in found.items() if k != "v"})
    if not isinstance(choices, dict):
        raise LinkError(f"scenario is {json.dumps(choices)[:40]} in this file; expected an object in braces. {_AGAIN}")
    s = Scenario.of(**choices)
    plan(s)
    cached = choices.get("shared_prefix")
    if cached is not None and cached != s.shared_prefix:
        notes.append(f"This scenario file asks for shared_prefix = {cached}, more than the prompt has before its last "
                     f"token; it shows {s.shared_prefix}.")  # fmt: skip
    return s, notes


def _text(data: bytes) -> str:
    if len(data) > LARGEST_FILE:
        raise LinkError(f"This scenario file has {len(data):,} bytes, more than {LARGEST_FILE:,}. {_AGAIN}")
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError:
        raise LinkError("This scenario file is not a text in UTF-8. Save it as UTF-8, or download it again.") from None


def _object(text: str) -> dict[str, Any]:
    if nests_deeper(text, DEEPEST):
        raise LinkError(f"This scenario file is nested more than {DEEPEST} levels deep. {_AGAIN}")
    try:
        found = json.loads(text)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}: {error.msg}"
        raise LinkError(f"This scenario file is not JSON ({place}). {_AGAIN}") from None
    except ValueError:
        raise LinkError(f"This scenario file holds a number with thousands of digits. {_AGAIN}") from None
    if not isinstance(found, dict):
        raise LinkError(f"This scenario file is not an object in braces {{...}}. {_AGAIN}")
    return found
