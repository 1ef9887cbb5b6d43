"""Text of a config.json -> Architecture, or one clear sentence about why not."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from planner.architecture.families import FamilyFunction, load_all
from planner.architecture.keys import SHAPE_KEYS, Keys, Log
from planner.architecture.ledger import Architecture, KeyLog
from planner.errors import ConfigError

LARGEST_TEXT: Final = 5_000_000  # characters; the largest published config (per-layer quantization tables) has 2.8 M
DEEPEST: Final = 40

# model_type -> the section of the text model, for wrappers; looked at in this order.
TEXT_SECTIONS: Final = ("text_config", "language_config", "llm_config", "thinker_config")


@cache
def class_defaults() -> dict[str, dict[str, Any]]:
    """model_type -> what an absent key means (defaults of the transformers 5.24 config classes)."""
    path = Path(__file__).with_name("class_defaults.json")
    return json.loads(path.read_text())  # type: ignore[no-any-return]


def parse(text: str) -> dict[str, Any]:
    """A JSON object from text (Infinity and NaN are accepted as some real files hold them).

    Raises ConfigError with line and column for broken JSON, and for texts that are too large, too deep or no object.
    """
    if len(text) > LARGEST_TEXT:
        raise ConfigError(
            f"This text has {len(text):,} characters; a config.json has at most {LARGEST_TEXT:,}. "
            "Paste the model's config.json, not its weights index or tokenizer."
        )
    if not text.strip():
        raise ConfigError("Nothing was pasted. Paste the text of the model's config.json.")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            f"Line {error.lineno}, column {error.colno}: this is not JSON ({error.msg}). "
            "Copy the whole config.json file, from the first { to the last }."
        ) from None
    except RecursionError:
        raise ConfigError(f"This JSON is nested too deeply; a config has at most {DEEPEST} levels.") from None
    if not isinstance(data, dict):
        raise ConfigError(f"This JSON is a {type(data).__name__}; a config.json is an object in braces {{...}}.")
    return data


def read_config(source: str | Mapping[str, Any], name: str | None = None,
                hf_quant_config: str | Mapping[str, Any] | None = None) -> Architecture:  # fmt: skip
    """The Architecture that a config describes.

    source           text of a config.json, or the object already parsed
    name             a friendly name (default: what the config calls itself)
    hf_quant_config  text of the hf_quant_config.json beside it, if there is one
    Raises ConfigError with one sentence: what is wrong, where, what was expected, what to do.
    """
    data = parse(source) if isinstance(source, str) else dict(source)
    log = Log()
    model_type = data.get("model_type")
    function, exact = _family(data, str(model_type))
    top = Keys(data, "", class_defaults().get(str(model_type)), log)
    body = function(top)
    if log.missing:
        raise ConfigError(
            f"The config lacks {', '.join(log.missing)}, so the model's size cannot be computed. "
            "Paste the whole config.json of the model."
        )
    positions = top.optional("max_position_embeddings")
    dtype = top.text("dtype")
    log.used["model_type"] = model_type
    config = _rebuild(log.used)
    return Architecture(
        name=name or data.get("_name_or_path") or str(model_type),
        model_type=str(model_type), blocks=tuple(body.blocks), n_layers=body.n_layers, hidden=body.hidden,
        vocab=body.vocab, heads=body.heads, kv_heads=body.kv_heads, tied=body.tied, max_positions=positions,
        dtype=dtype, recognised="exact" if exact and not log.guesses else "guessed",
        config=config, warnings=tuple(log.guesses + log.warnings),
        keys=KeyLog(tuple(log.used), dict(log.defaulted), tuple(k for k in data if k not in config)),
    )  # fmt: skip


def _family(data: Mapping[str, Any], model_type: str) -> tuple[FamilyFunction, bool]:
    families = load_all()
    if model_type in families:
        return families[model_type], True
    raise ConfigError(f"model_type {model_type!r} is not known to the planner.")


def _rebuild(used: Mapping[str, Any]) -> dict[str, Any]:
    """The nested object that holds just these dotted paths."""
    out: dict[str, Any] = {}
    for path, value in used.items():
        *sections, key = path.split(".")
        place = out
        for section in sections:
            place = place.setdefault(section, {})
        place[key] = value
    return out


_ = SHAPE_KEYS
