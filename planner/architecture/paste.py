"""Pasted text -> a JSON object, or the name of the file that was pasted instead of a config.json."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

from planner.architecture.keys import shown
from planner.errors import ConfigError
from planner.json_text import nests_deeper

LARGEST_TEXT: Final = 5_000_000  # characters; the largest published config (per-layer quantization tables) has 2.8 M
DEEPEST: Final = 40  # levels of braces and brackets; published configs have at most 8

_HALF: Final = re.compile("[\ud800-\udfff]")
_SHAPES: Final = ("hidden_size", "num_hidden_layers", "n_embd", "n_layer", "d_model", "n_layers", "text_config")

# Keys that give another file away -> what it is and what to do. Looked at only where no shape of a model is given.
_OTHER_FILES: Final[tuple[tuple[tuple[str, ...], str], ...]] = (
    (("weight_map",), "This is a weights index (model.safetensors.index.json)"),
    (("peft_type",), "This is the adapter_config.json of a LoRA or other adapter"),
    (("base_model_name_or_path", "lora_alpha"), "This is the adapter_config.json of a LoRA or other adapter"),
    (("image_processor_type",), "This is a preprocessor_config.json"),
    (("feature_extractor_type",), "This is a preprocessor_config.json"),
    (("processor_class", "image_mean"), "This is a preprocessor_config.json"),
    (("processor_class", "image_token"), "This is a processor_config.json"),
    (("added_tokens_decoder",), "This is a tokenizer_config.json"),
    (("tokenizer_class",), "This is a tokenizer_config.json"),
    (("chat_template",), "This is a chat template"),
    (("pre_tokenizer", "model"), "This is a tokenizer.json"),
    (("added_tokens", "normalizer"), "This is a tokenizer.json"),
    (("additional_special_tokens",), "This is a special_tokens_map.json"),
    (("bos_token", "eos_token"), "This is a special_tokens_map.json"),
    (("_diffusers_version",), "This describes an image or video model of the diffusers library"),
    (("do_sample",), "This is a generation_config.json"),
    (("eos_token_id", "transformers_version"), "This is a generation_config.json"),
    (("hidden_dim", "n_head"), "This model description has the keys of another tool (hidden_dim, n_head)"),
    (("choices", "usage"), "This is the answer of a chat service"),
    (("scenario", "findings"), "This is a result of this planner"),
)  # fmt: skip

_QUANTIZATION_SIDE_FILE: Final = (
    "This is a hf_quant_config.json: it says how a checkpoint is quantized, not what the model is. Paste the model's "
    "config.json, and give this file beside it (--hf-quant-config, or as quantization_config inside the config.json)."
)

# Small networks that propose tokens for a larger model; their configs look like whole models but share its tables.
_DRAFT_NAME: Final = re.compile(r"eagle|medusa|dflash|draft|speculator|nextn|MTP(?:$|Model|For)", re.IGNORECASE)
_DRAFT_KEYS: Final = (
    "draft_vocab_size", "dflash_config", "eagle_config", "medusa_num_heads", "medusa_num_layers",
    "speculators_config", "speculators_model_type", "num_target_layers",
)  # fmt: skip

# Class names of models that judge, label or embed a text instead of continuing it.
_NO_WRITER: Final = re.compile(
    r"For(MaskedLM|PreTraining|NextSentencePrediction|MultipleChoice|QuestionAnswering|TokenClassification|CTC|"
    r"(Image|Audio|Video)Classification|AudioFrameClassification|XVector|ObjectDetection|ImageSegmentation|"
    r"(Semantic|Instance|Universal)Segmentation|MaskedImageModeling|DepthEstimation|SentenceEmbedding|"
    r"AudioTokenization|ImageToImage)$"
)


@cache
def other_models() -> frozenset[str]:
    """model_types that embed, label, recognise or speak, or are a part of another model: they write no text.

    The names that transformers 5.24 registers without a language-model head, and older ones.
    """
    return frozenset(json.loads(Path(__file__).with_name("other_models.json").read_text()))


def parse(text: str) -> dict[str, Any]:
    """A JSON object from text (Infinity and NaN are accepted as some real files hold them).

    Raises ConfigError with line and column for broken JSON, and for texts that are too large, too deep or no object;
    size and depth are looked at before the text is parsed.
    """
    if len(text) > LARGEST_TEXT:
        raise ConfigError(
            f"This text has {len(text):,} characters; a config.json has at most {LARGEST_TEXT:,}. "
            "Paste the model's config.json, not its weights index or tokenizer."
        )
    text = text.lstrip("\ufeff")
    if not text.strip():
        raise ConfigError("Nothing was pasted. Paste the text of the model's config.json.")
    if nests_deeper(text, DEEPEST):
        raise ConfigError(_other_text(text) or f"{_too_deep('This JSON')} Paste the model's config.json.")
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise ConfigError(
            _other_text(text)
            or f"Line {error.lineno}, column {error.colno}: this is not JSON ({error.msg}). "
            "Copy the whole config.json file, from the first { to the last }."
        ) from None
    except ValueError:  # a number of thousands of digits
        raise ConfigError("This JSON holds a number with thousands of digits; correct it and paste again.") from None
    if not isinstance(data, dict):
        raise ConfigError(f"This JSON is a {_kind(data)}; a config.json is an object in braces {{...}}.")
    return data


def parse_side_file(source: str | Mapping[str, Any]) -> dict[str, Any]:
    """The object of a hf_quant_config.json, from its text or already parsed. Raises ConfigError about that file."""
    file, again = "hf_quant_config.json", "Give the file of the same checkpoint, or leave it out."
    data = source
    if isinstance(source, str):
        text = source.lstrip("\ufeff")
        if not text.strip():
            raise ConfigError(f"The {file} is empty. {again}")
        if len(text) > LARGEST_TEXT:
            raise ConfigError(f"The {file} has {len(text):,} characters, more than {LARGEST_TEXT:,}. {again}")
        if nests_deeper(text, DEEPEST):
            raise ConfigError(f"{_too_deep(f'The {file}')} {again}")
        try:
            data = json.loads(text)
        except ValueError as error:
            place = f", line {error.lineno}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
            raise ConfigError(f"The {file}{place} is not JSON. {again}") from None
    if not isinstance(data, Mapping):
        raise ConfigError(f"The {file} is a {_kind(data)}; expected an object in braces {{...}}. {again}")
    if not data:
        raise ConfigError(f"The {file} is an empty object; expected a key such as quantization. {again}")
    if any(key in data for key in (*_SHAPES, "model_type", "architectures")):
        raise ConfigError(
            f"What was given as the {file} describes a model, as a config.json does; expected how its weights are "
            f"quantized. {again}"
        )
    _refuse_unfit(data, f"The {file}")
    return dict(data)


def refuse_unless_model(data: Mapping[str, Any]) -> None:
    """Raise ConfigError for an object that is no language model's config: another file, a draft head, an encoder."""
    _refuse_unfit(data)
    if not data:
        raise ConfigError("This JSON object is empty. Paste the whole config.json of the model.")
    kind = data.get("model_type")
    if kind is not None and not isinstance(kind, str):
        raise ConfigError(f'model_type is {shown(kind)}; expected a text such as "llama". Correct it and paste again.')
    if not any(key in data for key in (*_SHAPES, "model_type")):
        _refuse_other_file(data)
    names = [n for n in architectures(data) if _DRAFT_NAME.search(n)]
    names += [k for k in _DRAFT_KEYS if data.get(k) is not None]
    if kind and _DRAFT_NAME.search(kind):
        names.append(kind)
    if names:
        raise ConfigError(
            f"This is a draft head for speculative decoding ({names[0]}), not a whole model: it borrows its tables "
            "from the model that it drafts for. Paste the config.json of that model."
        )
    if kind in other_models():
        raise ConfigError(
            f"model_type {kind!r} is an encoder or another model that does not write tokens; this planner is about "
            "models that generate text. Paste the config.json of such a model."
        )
    classes = architectures(data)
    if classes and all(_NO_WRITER.search(n) for n in classes):
        raise ConfigError(
            f"architectures says {classes[0]:.60}, a model that does not write tokens; this planner is about models "
            "that generate text. Paste the config.json of such a model."
        )


def architectures(data: Mapping[str, Any]) -> list[str]:
    """The class names that the config states, as far as they are texts."""
    names = data.get("architectures")
    if isinstance(names, str):
        return [names]
    return [n for n in names if isinstance(n, str)] if isinstance(names, list) else []


def _refuse_other_file(data: Mapping[str, Any]) -> None:
    if isinstance(data.get("quantization"), Mapping) or "quant_method" in data or "config_groups" in data:
        raise ConfigError(_QUANTIZATION_SIDE_FILE)
    for keys, what in _OTHER_FILES:
        if all(key in data for key in keys):
            raise ConfigError(f"{what}, not a config.json. Paste the config.json of the model's main folder.")


def refuse_native_params(data: Mapping[str, Any]) -> None:
    """Raise ConfigError for the params.json of a vendor's own format."""
    if "model_type" not in data and "dim" in data and "n_heads" in data and "n_layers" in data:
        raise ConfigError(
            "This is a params.json (dim, n_layers, n_heads) of a vendor's own format, not a config.json. "
            "Paste the config.json of the same model in the Hugging Face format."
        )
    if "model_type" not in data and "hidden_dim" in data and "hidden_size" not in data:
        raise ConfigError(
            "This model description has the keys of another tool (hidden_dim), not those of a config.json. "
            "Paste the config.json of the model's main folder."
        )


def _other_text(text: str) -> str | None:
    """What a text that is not JSON looks like, as a sentence; None when it looks like broken JSON."""
    start = text.lstrip()[:2000]
    if start.startswith("GGUF") or "\0" in start:
        return (
            "This is a binary file (GGUF or other weights), not a config.json. "
            "Paste the config.json of the original model."
        )
    if re.match(r"<!doctype|<html|<\?xml|<head|<body", start, re.IGNORECASE):
        return "This is a web page, not the file itself. Open the file's raw view and copy the text from { to }."
    if start.startswith("version https://git-lfs"):
        return "This is a pointer to a file kept elsewhere (Git LFS). Download the file itself and paste its text."
    if re.match(r"\{\s*'|\{[^}]*\b(?:True|False|None)\b", start):
        return (
            "This is a Python dictionary, not JSON: JSON has double quotes, true, false and null. "
            "Paste the config.json file, or print the dictionary with json.dumps."
        )
    if not start.startswith(("{", "[")) and re.match(r"(?:(?:---|#.*)?[^\S\n]*\n)*[\w.-]+:(?:\s|$)", start):
        return "This looks like YAML, not JSON. Paste the model's config.json, an object in braces {...}."
    return None


def _refuse_unfit(data: Mapping[str, Any], what: str = "This config") -> None:
    """Raise ConfigError for an object that is nested too deeply, or holds what no page, file or link can show."""
    pending: list[tuple[Any, int]] = [(data, 1)]
    while pending:
        value, depth = pending.pop()
        if isinstance(value, str):
            _refuse_halves(value, what)
        elif isinstance(value, (Mapping, list)):
            if depth > DEEPEST:
                raise ConfigError(f"{_too_deep(what)} Give the file as it was published.")
            inner = [*value, *value.values()] if isinstance(value, Mapping) else value
            pending += [(v, depth + 1) for v in inner if isinstance(v, (Mapping, list, str))]


def _refuse_halves(text: str, what: str) -> None:
    r"""Raise ConfigError for half of a surrogate pair: JSON can spell one (\ud800), UTF-8 cannot."""
    if _HALF.search(text):
        raise ConfigError(
            f"{what} holds half a character in the text {text[:40]!a}. Correct it, or copy the file from its "
            "publisher again."
        )


def _too_deep(what: str) -> str:
    return f"{what} is nested more than {DEEPEST} levels deep; published ones have at most 8."


def _kind(value: Any) -> str:
    return {list: "list", str: "text", int: "number", float: "number", bool: "truth value"}.get(type(value), "null")
