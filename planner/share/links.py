"""Scenario <-> link. Every choice is a readable parameter; a pasted config travels compressed in one of them.

The link carries the text of the form's options, so that text is a public interface: short, stable, former names kept.
`vet` is the gate for links that come in: pure, it never raises, and what it returns passes it unchanged.
"""

from __future__ import annotations

from typing import Final, NoReturn
from urllib.parse import parse_qs, urlencode, urlsplit

from planner.errors import LinkError
from planner.scenario import CUSTOM, DEFAULTS, VERSION, Scenario
from planner.share.config_code import encode_config
from planner.share.gate import gathered, scenario_from, vet
from planner.share.option_texts import labels, to_text

LONG: Final = 1_000  # characters a link should stay under; chat tools and trackers cut longer ones
LONGEST: Final = 2_000  # characters past which the scenario is offered as a file instead


def parameters(s: Scenario) -> dict[str, str]:
    """Every set choice as link parameters, option texts as in the form, the version first."""
    out: dict[str, str] = {"v": str(VERSION)}
    for name, value in s.model_dump(exclude={"config"}).items():
        usual = value == DEFAULTS[name]
        if value is None or (usual and name.startswith("device_") and s.device != CUSTOM):
            continue
        if name == "model" and s.config is not None:
            out["config"] = encode_config(s.model, s.config)
            continue
        if usual and name == ("rate" if s.load == "closed" else "users"):
            continue
        out[name] = to_text(labels(name).get(str(value), value))
    return out


def link(s: Scenario, base: str = "") -> str:
    """The link of a scenario: `base` (an address, or "") + "?v=1&..." with every setting spelled out."""
    return f"{base}?{urlencode(parameters(s))}"


def read_link(text: str) -> tuple[Scenario, list[str]]:
    """The scenario of a link (an address, or the query alone) and what had to be said about it.

    Raises LinkError when the text holds no choice at all, and PlannerError when its model or device cannot be used:
    another in its place would answer another question.
    """
    text = text.strip()
    try:
        query = urlsplit(text).query if "?" in text else text
        params = parse_qs(query, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise LinkError("This link cannot be read as an address; a scenario has at most 40 parameters. "
                        "Copy the link again.") from None  # fmt: skip
    given, _ = gathered(params)
    if not given:
        raise LinkError(f"{text[:60]!r} holds no scenario; expected a link with parameters, such as ?v=1&model=...")
    clean, notes = vet(params)
    for name in ("config", "device", *(() if "config" in given else ("model",))):
        if name in given and name not in clean and given[name][0].strip():
            _refuse(name, given[name][0])
    return scenario_from(clean), notes


def _refuse(name: str, text: str) -> NoReturn:
    """Raise what is wrong with one parameter."""
    from planner.plan import plan  # as in the gate

    plan(scenario_from({name: text}))
    raise LinkError(f"The {name} of this link cannot be used with its other choices. Correct one of them.")
