"""Text of a config.json -> Architecture, or one clear sentence about why not."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from typing import Any, Final

from planner.architecture.families import WRAPPERS, Body, FamilyFunction, load_all
from planner.architecture.guess import choose
from planner.architecture.keys import Keys, Log, shown
from planner.architecture.keys import Path as KeyPath
from planner.architecture.ledger import Architecture, KeyLog
from planner.architecture.paste import parse, parse_side_file, refuse_unless_model
from planner.architecture.sections import text_sections
from planner.architecture.vocabulary import number_type
from planner.errors import ConfigError

# Where checkpoints keep their quantization: at the top, or (Kimi) in the text section.
QUANTIZATION_KEYS: Final = ("quantization_config", "compression_config")

# Sections of towers for images and sound.
OTHER_PARTS: Final = (
    "vision_config", "audio_config", "vision_tower_config", "speech_config", "img_processor", "audio_processor",
    "visual",
)  # fmt: skip

# Lists and patterns with one entry per layer.
PER_LAYER: Final = ("layer_types", "hybrid_override_pattern", "layers_block_type", "block_configs", "mlp_layer_types")


def read_config(source: str | Mapping[str, Any], name: str | None = None,
                hf_quant_config: str | Mapping[str, Any] | None = None) -> Architecture:  # fmt: skip
    """The Architecture that a config describes.

    source           text of a config.json, or the object already parsed
    name             a friendly name (default: what the config calls itself)
    hf_quant_config  text of the hf_quant_config.json beside it, if there is one
    Raises ConfigError with one sentence: what is wrong, where, what was expected, what to do.
    """
    data = parse(source) if isinstance(source, str) else dict(source)
    refuse_unless_model(data)
    log = Log()
    model_type, defaults = choose(data, log)
    top = Keys(data, (), defaults, log)
    body = _run(load_all()[model_type], top)
    if log.missing:
        raise ConfigError(_lacks(log))
    _check_lengths(data, body)
    if model_type not in WRAPPERS:
        _note_uncounted(data, log)
    quantization = _quantization(data, log, hf_quant_config)
    if isinstance(data.get("model_type"), str):
        model_type = log.used[("model_type",)] = data["model_type"]
    if name is None and isinstance(data.get("_name_or_path"), str) and data["_name_or_path"]:
        name = data["_name_or_path"]
        log.used[("_name_or_path",)] = name
    positions = _first(top, "max_position_embeddings").optional("max_position_embeddings")
    dtype = _first(top, "dtype").text("dtype")
    if dtype and number_type(dtype) is None:
        top.warn(f"dtype is {shown(dtype)}, a number type that the planner does not know: counted as 16 bit.")
    return Architecture(
        name=name or model_type, model_type=model_type, blocks=tuple(body.blocks), n_layers=body.n_layers,
        hidden=body.hidden, vocab=body.vocab, heads=body.heads, kv_heads=body.kv_heads, tied=body.tied,
        max_positions=positions, dtype=dtype, recognised="guessed" if log.guesses else "exact",
        quantization=quantization, config=_rebuild(log.used), warnings=tuple(log.guesses + log.warnings),
        keys=KeyLog(tuple(".".join(p) for p in log.used), dict(log.defaulted), tuple(_ignored(data, log.used))),
    )  # fmt: skip


def _run(function: FamilyFunction, top: Keys) -> Body:
    """The family's list; values that fit no family's arithmetic become one sentence."""
    try:
        return function(top)
    except ConfigError:
        if top.log.missing:
            raise ConfigError(_lacks(top.log)) from None
        raise
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        if top.log.missing:
            raise ConfigError(_lacks(top.log)) from None
        raise ConfigError(
            f"The values of this config do not fit together as a {top.data.get('model_type')!r} model ({error}). "
            "Compare it with the file that the model's publisher gives."
        ) from error


def _lacks(log: Log) -> str:
    return (
        f"The config lacks {', '.join(log.missing)}, so the model's size cannot be computed. "
        "Paste the whole config.json of the model."
    )


def _note_uncounted(data: Mapping[str, Any], log: Log) -> None:
    """Mark the reading as a guess where the file has a part for images or sound that no family looked at."""
    for path in ((), *text_sections(data)):
        for key in OTHER_PARTS:
            if isinstance(_at(data, path).get(key), Mapping) and (*path, key) not in log.used:
                log.used[(*path, key)] = {}
                log.guesses.append(
                    f"{'.'.join((*path, key))} describes a part for images or sound, which is not counted; only the "
                    "language model is."
                )


def _check_lengths(data: Mapping[str, Any], body: Body) -> None:
    """Raise ConfigError for a list per layer of another length than the model, whether the family needs it or not."""
    paths = text_sections(data)
    path = paths[-1] if paths else ()
    for key in PER_LAYER:
        value = _at(data, path).get(key)
        # Some files list the MLP that follows each attention as an entry of its own.
        attentions = [kind for kind in value if kind != "mlp"] if isinstance(value, list) else []
        lengths = (len(value), len(attentions)) if isinstance(value, (list, str)) else ()
        if value and lengths and body.n_layers not in lengths:
            raise ConfigError(
                f"{'.'.join((*path, key))} has {len(value)} entries, but the model has {body.n_layers} layers. "
                "Correct one of the two and paste the config again."
            )


def _first(top: Keys, name: str) -> Keys:
    """The section that holds this key: the top one, else the language model's."""
    place = top
    for path in ((), *text_sections(top.data)):
        if path:
            place = place.section(path[-1])
        if place.has(name):
            return place
    return top


def _quantization(data: Mapping[str, Any], log: Log,
                  side_file: str | Mapping[str, Any] | None) -> dict[str, Any] | None:  # fmt: skip
    """How the checkpoint is stored, kept whole; a side file and the experts' type stand in it under their own names."""
    path, own = _own_quantization(data)
    found = dict(own)
    if side_file is not None:
        found["hf_quant_config"] = parse_side_file(side_file)
    if not found:
        return None
    log.used[path] = dict(found)
    for place in ((), *text_sections(data)):
        section = _at(data, place)
        if section.get("expert_dtype") is not None:
            log.used[(*place, "expert_dtype")] = found["expert_dtype"] = section["expert_dtype"]
    return found


def _own_quantization(data: Mapping[str, Any]) -> tuple[KeyPath, Mapping[str, Any]]:
    """Where the config keeps its quantization, and what it says there; empty where it says nothing."""
    for path in ((), *text_sections(data)):
        for key in QUANTIZATION_KEYS:
            value = _at(data, path).get(key)
            if value is not None and not isinstance(value, Mapping):
                raise ConfigError(
                    f"{'.'.join((*path, key))} is {shown(value)}; expected an object in braces, or null. "
                    "Correct it and paste the config again."
                )
            if value:
                return (*path, key), value
    by_mlx = data.get("quantization")  # MLX writes its own section, in older files without the usual one
    return (("quantization",), by_mlx) if isinstance(by_mlx, Mapping) else (("quantization_config",), {})


def _at(data: Mapping[str, Any], path: KeyPath) -> Mapping[str, Any]:
    place: Any = data
    for step in path:
        place = place[step]
    return place  # type: ignore[no-any-return]


def _rebuild(used: Mapping[KeyPath, Any]) -> dict[str, Any]:
    """The nested object that holds just these keys."""
    out: dict[str, Any] = {}
    for path, value in used.items():
        *sections, key = path
        place = out
        for section in sections:
            place = place.setdefault(section, {})
        if isinstance(value, Mapping) and isinstance(place.get(key), dict):
            place[key] = copy.deepcopy(dict(value)) | place[key]
        else:
            place[key] = copy.deepcopy(value)
    return out


def _ignored(data: Mapping[str, Any], used: Mapping[KeyPath, Any]) -> Iterator[str]:
    """Dotted paths of the keys that no part of the reading looked at."""
    reached = {path[: n + 1] for path in used for n in range(len(path))}
    pending: list[tuple[KeyPath, Mapping[str, Any]]] = [((), data)]
    while pending:
        place, section = pending.pop()
        for key, value in section.items():
            path = (*place, key)
            if path not in reached:
                yield ".".join(path)
            elif isinstance(value, Mapping) and not used.get(path):
                pending.append((path, value))
