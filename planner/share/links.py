"""Scenario <-> link. Every choice is a readable parameter; a pasted config travels compressed in one of them.

The link carries the text of the form's options, so that text is a public interface: short, stable, former names kept.
`vet` is the gate for links that come in: pure, it never raises, and what it returns passes it unchanged.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, urlencode, urlsplit

from planner.architecture import read_config
from planner.errors import LinkError
from planner.scenario import CUSTOM, DEFAULTS, VERSION, Scenario
from planner.share.config_code import decode_config, encode_config
from planner.share.gate import FORMER_NAMES, scenario_from, vet
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
    if not any(FORMER_NAMES.get(name, name) in (*DEFAULTS, "v") for name in params):
        raise LinkError(f"{text[:60]!r} holds no scenario; expected a link with parameters, such as ?v=1&model=...")
    if code := params.get("config", [""])[0].strip():
        name, config = decode_config(code)
        read_config(config, name=name)
    clean, notes = vet(params)
    for name in ("model", "device"):
        if params.get(name) and name not in clean and "config" not in clean:
            named = Scenario.of(**{name: params[name][0]})  # raises what is wrong with it
            _ = (named.architecture, named.device_row)
    return scenario_from(clean), notes
