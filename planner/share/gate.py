"""The gate for links that come in: whatever they hold, what leaves it makes a scenario."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, Final

from planner.architecture import read_config
from planner.devices import find_device
from planner.engines import find_engine
from planner.errors import PlannerError
from planner.names import spelling
from planner.precision import find_format, find_kv_format
from planner.scenario import (
    CUSTOM,
    DEFAULTS,
    VERSION,
    Scenario,
    bounds,
    expected,
    figure,
    find_model,
    kind,
    plain,
    short,
)  # fmt: skip
from planner.share.config_code import decode_config
from planner.share.option_texts import labels, to_text, to_value

# Names that parameters of earlier links had.
FORMER_NAMES: Final = {"tp": "devices", "pp": "pipeline", "dp": "copies", "prefix": "shared_prefix"}
_NAMES: Final = {spelling(name): FORMER_NAMES.get(name, name) for name in (*FORMER_NAMES, *DEFAULTS, "v")}
_NAMED: Final = 3  # unknown settings that are named before the rest is counted


def scenario_from(clean: Mapping[str, Any]) -> Scenario:
    """The scenario of vetted parameters. Raises PlannerError for what the gate would have refused."""
    return Scenario.of(**_choices(clean))


def _choices(clean: Mapping[str, Any]) -> dict[str, Any]:
    choices = {name: to_value(name, text) for name, text in clean.items() if name not in ("v", "config")}
    if clean.get("config"):
        choices["model"], choices["config"] = decode_config(clean["config"])
    return choices


def vet(params: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], list[str]]:
    """Parameters as they came -> parameters as the form writes them, and a plain sentence for each that was wrong.

    Pure, never raises, and idempotent: what it returns, it returns again without a note.
    """
    clean: dict[str, str] = {}
    notes: list[str] = []
    given, unknown = gathered(params)
    for name, values in given.items():
        if name == "v":
            notes += version_note("link", values[-1])
            clean["v"] = str(VERSION)
            continue
        if len(set(values)) > 1:
            notes.append(f"This link sets {name} {len(values)} times; the first, {values[0][:40]!r}, is shown.")
        try:
            text, note = _vet_one(name, values[0])
        except PlannerError as error:
            notes.append(_kept(name, values[0], str(error)))
            continue
        if note:
            notes.append(note)
        if text is not None:
            clean[name] = text
    if unknown:
        notes.append(_ignored(unknown))
    return _together(clean, notes), notes


def gathered(params: Mapping[str, Sequence[str]]) -> tuple[dict[str, list[str]], list[str]]:
    """The values of each setting, under its own name whatever the spelling, and the names that no setting has."""
    known: dict[str, list[str]] = {}
    unknown = []
    for given, values in params.items():
        if not values or given == "embed" or given.startswith("embed_"):
            continue
        if name := _NAMES.get(spelling(given[:40])):
            known.setdefault(name, []).extend(values)
        else:
            unknown.append(given)
    return known, unknown


def version_note(what: str, found: object) -> list[str]:
    """A sentence where a link or file says another version than the one read here."""
    if str(found) == str(VERSION):
        return []
    return [f"This {what} says version {str(found)[:20]!r}; the planner reads version {VERSION} and did its best."]


def _ignored(unknown: Sequence[str]) -> str:
    names = ", ".join(repr(name[:20]) for name in unknown[:_NAMED])
    if len(unknown) == 1:
        return f"This link has a setting {names} that the planner does not know; it was ignored."
    more = f" and {len(unknown) - _NAMED:,} more" if len(unknown) > _NAMED else ""
    return f"This link has settings that the planner does not know: {names}{more}. They were ignored."


def _kept(name: str, text: str, sentence: str) -> str:
    """What is shown in place of a parameter that cannot be used, by name."""
    if name == "config":
        return f"{sentence} Showing {DEFAULTS['model']} instead."
    usual = DEFAULTS[name]
    shown = None if usual is None else labels(name).get(str(usual), to_text(usual))
    if name in _FINDERS and shown is not None:
        return f"Showing {shown}, not {text.strip()[:40]!r}. This link: {sentence}"
    return f"This link: {sentence} " + (f"{name} was left out." if shown is None else f"Showing {shown} instead.")


def _together(clean: dict[str, str], notes: list[str]) -> dict[str, str]:
    """Drop what does not go together, with a note, until the rest makes a scenario."""
    if clean.get("config"):
        clean.pop("model", None)
    if "rate" in clean and "users" not in clean and "load" not in clean:
        clean["load"] = labels("load")["open"]
    if fault := _fault(clean):
        dropped = next(names for names in _suspects(clean) if not _fault(_without(clean, names)))
        one = f"This link: {fault} Left out: {', '.join(dropped)}."
        notes.append(_kept(dropped[0], clean[dropped[0]], fault) if len(dropped) == 1 else one)
        clean = _without(clean, dropped)
    cached = clean.get("shared_prefix")
    if cached is not None and (kept := str(scenario_from(clean).shared_prefix)) != cached:
        notes.append(f"This link asks for shared_prefix = {cached}, more than the prompt has before its last token; "
                     f"it shows {kept}.")  # fmt: skip
        clean["shared_prefix"] = kept
    return clean


def _suspects(clean: Mapping[str, str]) -> Iterator[tuple[str, ...]]:
    """What may be at fault, one alone before several together, so that nothing else is lost; all of it at the end."""
    likely = [name for name in ("attention_data_parallel", "device", "config") if name in clean]
    for size in range(1, len(likely) + 1):
        yield from combinations(likely, size)
    yield from ((name,) for name in clean if name not in likely)
    yield tuple(clean)


def _without(clean: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: text for name, text in clean.items() if name not in names}


def _fault(clean: Mapping[str, str]) -> str:
    """Why these parameters make no scenario that can be planned ("": they do)."""
    from planner.plan import plan  # not needed, and slow to load, where links are only written

    try:
        plan(scenario_from(clean))
    except PlannerError as error:
        return str(error)
    return ""


def _vet_one(name: str, text: str) -> tuple[str | None, str]:
    """One parameter: the text the form would write (None: leave it out) and a note ("": there is nothing to say)."""
    if text.strip() == "":
        cut = "This link should hold a pasted model, but its code is missing; the example is shown."
        return None, cut if name == "config" else ""
    if name == "config":
        model, config = decode_config(text)
        read_config(config, name=model)
        return text, ""
    value = to_value(name, text)
    if kind(name) in (int, float):
        return _vet_number(name, text, value)
    if kind(name) is bool:
        return to_text(value), ""
    if name in _FINDERS:
        found = _FINDERS[name](str(value))
        return labels(name).get(found, found), ""
    if labels(name):
        if value not in labels(name):
            raise PlannerError(f"{name} = {text[:40]!r} is not one of {', '.join(labels(name).values())}.")
        return labels(name)[value], ""
    most = max((getattr(rule, "max_length", 0) or 0 for rule in Scenario.model_fields[name].metadata), default=0)
    text = plain(str(value))
    cut = f"This link gives {name} more than {most} characters; it was cut." if len(text) > most else ""
    return short(text, most) or None, cut


def _vet_number(name: str, text: str, value: float) -> tuple[str | None, str]:
    """A number inside its range as the form writes it; the nearest one, or a blank, with a note otherwise."""
    low, high = bounds(name)
    assert low is not None and high is not None
    nearest = min(max(value, low), high)
    if kind(name) is int:
        nearest = round(nearest)
    # Where a blank is a choice, nothing or less means that one: no limit, the engine's own number.
    shown = None if value <= 0 < low and DEFAULTS[name] is None else to_text(nearest)
    if nearest == value:
        return shown, ""
    note = f"This link asks for {name} = {text[:40]}; the planner takes {expected(name)}"
    return shown, f"{note}, so it was left out." if shown is None else f"{note}, so it shows {figure(float(shown))}."


def _format(text: str) -> str:
    return text if text == "checkpoint" else find_format(text).name


def _kv(text: str) -> str:
    return text if text == "auto" else find_kv_format(text).name


def _device(text: str) -> str:
    return CUSTOM if text.strip().lower() == CUSTOM else find_device(text).label


_FINDERS: Final[dict[str, Callable[[str], str]]] = {
    "model": find_model, "engine": lambda text: find_engine(text).name, "weights": _format, "kv": _kv,
    "device": _device,
}  # fmt: skip
