"""Scenario <-> link. Every choice is a readable parameter; a pasted config travels compressed in one of them.

The link carries the text of the form's options, so that text is a public interface: short, stable, former names kept.
`vet` is the gate for links that come in: pure, it never raises, and what it returns passes it unchanged.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import zlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from types import NoneType
from typing import Any, Final, get_args
from urllib.parse import parse_qs, urlencode, urlsplit

from planner.architecture import read_config
from planner.devices import find_device
from planner.engines import find_engine
from planner.errors import LinkError, PlannerError
from planner.precision import FORMATS, KV_FORMATS, find_format, find_kv_format
from planner.scenario import CUSTOM, DEFAULTS, VERSION, Scenario, bounds, find_model

LONG: Final = 1_000  # characters a link should stay under; chat tools and trackers cut longer ones
LONGEST: Final = 2_000  # characters past which the scenario is offered as a file instead
LARGEST_CONFIG: Final = 4_000_000  # bytes a compressed config may unpack to
LARGEST_CODE: Final = 400_000  # characters of the config parameter that are looked at
MARK: Final = "1."  # version of the config code

# Text that configs share, so that the compressor need not spell it out. Part of the link format: never edit, only add
# a new MARK with a new text.
PRESET: Final = (
    b'"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],'
    b'"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":128,"symmetric":true}}},"ignore":["lm_head"],'
    b'"fp8","weight_block_size":[128,128],"activation_scheme":"dynamic","modules_to_not_convert":null,"bits":4,"awq","gptq",'
    b'"layer_types":["linear_attention","linear_attention","linear_attention","full_attention","sliding_attention",'
    b'"sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention"],'
    b'"vision_config":{"depth":27,"patch_size":16,"out_hidden_size":4096,"model_type":"vision"},"text_config":{'
    b'"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,'
    b'"first_k_dense_replace":1,"moe_layer_freq":1,"n_routed_experts":256,"n_shared_experts":1,"num_nextn_predict_layers":1,'
    b'"decoder_sparse_step":1,"mlp_only_layers":[],"num_local_experts":8,"num_experts":128,"num_experts_per_tok":8,'
    b'"moe_intermediate_size":768,"shared_expert_intermediate_size":512,"sliding_window":4096,"use_sliding_window":false,'
    b'"max_window_layers":28,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,'
    b'"attention_bias":false,"mlp_bias":false,"tie_word_embeddings":false,"max_position_embeddings":131072,"torch_dtype":"bfloat16",'
    b'"dtype":"bfloat16","architectures":["LlamaForCausalLM"],"model_type":"llama","num_key_value_heads":8,"head_dim":128,'
    b'"hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":128256}'
)

# Names that parameters of earlier links had.
FORMER_NAMES: Final = {"tp": "devices", "pp": "pipeline", "dp": "copies", "prefix": "shared_prefix"}

_LABELS: Final[dict[str, dict[str, str]]] = {
    "load": {"closed": "Users at once", "open": "Arrivals per second"},
    "weights": {"checkpoint": "As published", **{name: f.label for name, f in FORMATS.items()}},
    "kv": {"auto": "As published", **{name: f.label for name, f in KV_FORMATS.items()}},
    "window_pages": {"engine": "Engine's way", "freed": "Freed", "kept": "Kept"},
    "state": {"engine": "Engine's way", "fp32": "FP32", "bf16": "BF16"},
}


def labels(field: str) -> dict[str, str]:
    """Value -> option text of a field whose options have texts of their own (empty for others)."""
    return _LABELS.get(field, {})


def encode_config(name: str, config: Mapping[str, Any]) -> str:
    """A config (its used keys) and its name as one URL-safe code, the same for the same content."""
    text = json.dumps([name, config], separators=(",", ":"), ensure_ascii=False)
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, PRESET)
    packed = packer.compress(text.encode()) + packer.flush()
    return MARK + base64.urlsafe_b64encode(packed).decode().rstrip("=")


@lru_cache(maxsize=64)
def decode_config(code: str) -> tuple[str, dict[str, Any]]:
    """Name and config from a code. Raises LinkError with one sentence when it is cut, changed or too large."""
    cut = LinkError(
        "The model in this link is incomplete or was changed (chat tools sometimes cut long links). "
        "Ask for the link again, or paste the model's config.json."
    )
    if not code.startswith(MARK):
        raise LinkError("The model in this link was written by a version of the planner that this one cannot read. "
                        "Paste the model's config.json instead.")  # fmt: skip
    if len(code) > LARGEST_CODE:
        raise cut
    body = code[len(MARK) :]
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj(-15, PRESET)
        text = unpacker.decompress(packed, LARGEST_CONFIG)
        if not unpacker.eof or unpacker.unconsumed_tail or unpacker.unused_data:
            raise cut
        name, config = json.loads(text)
    except (ValueError, binascii.Error, zlib.error, TypeError, RecursionError):
        raise cut from None
    if not isinstance(name, str) or not isinstance(config, dict):
        raise cut
    return name[:80], config


def parameters(s: Scenario) -> dict[str, str]:
    """Every set choice as link parameters, option texts as in the form, the version first."""
    out: dict[str, str] = {"v": str(VERSION)}
    for name, value in s.model_dump(exclude={"config"}).items():
        if value is None or (name.startswith("device_") and s.device != CUSTOM):
            continue
        if name == "model" and s.config is not None:
            out["config"] = encode_config(s.model, s.config)
            continue
        if name in ("users", "rate") and (name == "users") != (s.load == "closed"):
            continue
        out[name] = _text(labels(name).get(str(value), value))
    return out


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
    return str(value)


def link(s: Scenario, base: str = "") -> str:
    """The link of a scenario: `base` (an address, or "") + "?v=1&..." with every setting spelled out."""
    return f"{base}?{urlencode(parameters(s))}"


def read_link(text: str) -> tuple[Scenario, list[str]]:
    """The scenario of a link (an address, or the query alone) and what had to be said about it.

    Raises LinkError when the text holds no parameter at all.
    """
    text = text.strip()
    query = urlsplit(text).query if "?" in text else text
    try:
        params = parse_qs(query, keep_blank_values=True, max_num_fields=1000)
    except ValueError:
        raise LinkError("This link has over 1,000 parameters; a scenario has at most 40. Copy the link again.") from None
    if not params:
        raise LinkError(f"{text[:60]!r} holds no scenario; expected a link with parameters, such as ?v=1&model=...")
    clean, notes = vet(params)
    return scenario_from(clean), notes


def scenario_from(clean: Mapping[str, Any]) -> Scenario:
    """The scenario of vetted parameters. Raises PlannerError for what the gate would have refused."""
    return Scenario.of(**_choices(clean))


def _choices(clean: Mapping[str, Any]) -> dict[str, Any]:
    choices = {name: _value(name, text) for name, text in clean.items() if name not in ("v", "config")}
    if clean.get("config"):
        choices["model"], choices["config"] = decode_config(clean["config"])
    return choices


def vet(params: Mapping[str, Sequence[str]]) -> tuple[dict[str, str], list[str]]:
    """Parameters as they came -> parameters as the form writes them, and a plain sentence for each that was wrong.

    Pure, never raises, and idempotent: what it returns, it returns again without a note.
    """
    clean: dict[str, str] = {}
    notes: list[str] = []
    for given, values in params.items():
        name = FORMER_NAMES.get(given, given)
        if not values or name == "embed" or name.startswith("embed_"):
            continue
        if name == "v":
            if values[-1] != str(VERSION):
                notes.append(f"This link says version {values[-1][:20]!r}; the planner reads version {VERSION} and did its best.")
            clean["v"] = str(VERSION)
            continue
        if name != "config" and name not in DEFAULTS:
            notes.append(f"This link has a setting {given[:40]!r} that the planner does not know; it was ignored.")
            continue
        if len(set(values)) > 1:
            notes.append(f"This link sets {name} {len(values)} times; the first, {values[0][:40]!r}, is shown.")
        try:
            text, note = _vet_one(name, values[0])
        except PlannerError as error:
            notes.append(_kept(name, str(error)))
            continue
        if note:
            notes.append(note)
        if text is not None:
            clean[name] = text
    return _together(clean, notes), notes


def _kept(name: str, sentence: str) -> str:
    if name == "config":
        return f"{sentence} Showing {DEFAULTS['model']} instead."
    return f"This link: {sentence} Showing the usual {name} instead."


def _together(clean: dict[str, str], notes: list[str]) -> dict[str, str]:
    """Drop what does not go together, with a note, until the rest makes a scenario."""
    if clean.get("config"):
        clean.pop("model", None)
    if "rate" in clean and "users" not in clean and "load" not in clean:
        clean["load"] = labels("load")["open"]
    for suspect in ("", "attention_data_parallel", "device", "config", "shared_prefix"):
        if suspect in clean:
            clean = {k: v for k, v in clean.items() if k != suspect}
        try:
            s = scenario_from(clean)
            _ = s.architecture, s.device_row
        except PlannerError as error:
            if not suspect:
                notes.append(f"This link: {error} The usual value is shown instead.")
            continue
        return clean
    return {}


def _type(name: str) -> type:
    annotation = Scenario.model_fields[name].annotation
    kinds = [a for a in get_args(annotation) if a is not NoneType] or [annotation]
    return kinds[0] if isinstance(kinds[0], type) else str


def _value(name: str, text: Any) -> Any:
    """A parameter's text as the field's value; option texts become the names behind them."""
    if not isinstance(text, str):
        return text
    for value, label in labels(name).items():
        if text.strip().lower() in (value.lower(), label.lower()):
            return value
    kind = _type(name)
    if kind is bool:
        return text.strip().lower() in ("true", "1", "yes", "on")
    if kind in (int, float):
        try:
            number = float(text.replace(",", ""))
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            low, high = bounds(name)
            raise PlannerError(f"{name} = {text[:40]!r} is not a number; expected one from {low:g} to {high:g}.")
        return round(number) if kind is int else number
    return text


def _vet_one(name: str, text: str) -> tuple[str | None, str]:
    """One parameter: the text the form would write (None: leave it out) and a note ("" when there is nothing to say)."""
    if text.strip() == "":
        return None, ""
    if name == "config":
        model, config = decode_config(text)
        read_config(config, name=model)
        return text, ""
    value = _value(name, text)
    kind = _type(name)
    if kind in (int, float) and not isinstance(value, bool):
        low, high = bounds(name)
        assert low is not None and high is not None
        exclusive = low == 0 and kind is float
        nearest = min(max(value, low), high)
        if nearest != value or (exclusive and value <= 0):
            shown = _text(DEFAULTS[name]) if exclusive and value <= 0 else _text(kind(nearest))
            note = f"This link asks for {name} = {text[:40]}; the planner takes {low:g} to {high:g}"
            return (None, f"{note}, so it was left out.") if shown == "None" else (shown, f"{note}, so it shows {shown}.")
        return _text(value), ""
    if kind is bool:
        return _text(value), ""
    finders = {"model": find_model, "engine": lambda t: find_engine(t).name, "weights": lambda t: _format(t),
               "kv": lambda t: _kv(t), "device": lambda t: t if t == CUSTOM else find_device(t).label}  # fmt: skip
    if name in finders:
        found = finders[name](str(value))
        return labels(name).get(found, found), ""
    if name in labels(name) or labels(name):
        if value not in labels(name):
            raise PlannerError(f"{name} = {text[:40]!r} is not one of {', '.join(labels(name).values())}.")
        return labels(name)[value], ""
    most = max((getattr(rule, "max_length", 0) or 0 for rule in Scenario.model_fields[name].metadata), default=0)
    return str(value)[: most or None], ""


def _format(text: str) -> str:
    return text if text == "checkpoint" else find_format(text).name


def _kv(text: str) -> str:
    return text if text == "auto" else find_kv_format(text).name
