"""The scenario: one frozen model with every choice, its default, its range and its sentence.

The same names stand in the form, the link, the command line, the JSON and the exports.
"""

from __future__ import annotations

import difflib
import json
from functools import cached_property, lru_cache
from pathlib import Path
from types import NoneType
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from planner.architecture import Architecture, read_config
from planner.devices import Device, custom_device, find_device
from planner.engines import ENGINES, Engine, find_engine
from planner.errors import PlannerError
from planner.names import named
from planner.precision import FORMATS, KV_FORMATS, find_format, find_kv_format

MODELS: Final = Path(__file__).resolve().parent.parent / "data" / "models"
CUSTOM: Final = "custom"
VERSION: Final = 1

SMALLEST: Final = 1e-6  # of what may be any number above 0: a rate, a limit, a price
LONGEST_NAME: Final = 80  # characters of the name of a pasted model


class Scenario(BaseModel):
    """Every choice of one what-if. Unset fields take the defaults shown; `engine_defaults` come from the engine.

    Raises PlannerError (through `Scenario.of`) with a sentence naming the field, the value and the range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)

    model: str = Field("Qwen3 32B", description="example model, or the name given to a pasted config")
    config: dict[str, Any] | None = Field(None, description="a config.json (only the keys that were used)", repr=False)
    device: str = Field("H100 80GB SXM", description="device by label, id or name; `custom` for a typed-in one")
    device_name: str = Field("My device", max_length=60, description="name of the typed-in device")
    device_memory_gib: float | None = Field(None, ge=0.1, le=100_000, description="its memory in GiB")
    device_bandwidth_gb_s: float | None = Field(None, ge=0.1, le=1_000_000, description="its bandwidth in GB/s")
    device_tflops: float | None = Field(None, ge=0.001, le=1_000_000, description="its dense 16-bit TFLOP/s")
    device_tflops_8bit: float | None = Field(None, ge=0.001, le=1_000_000, description="its dense FP8 TFLOP/s")
    device_kind: Literal["gpu", "cpu", "apu"] = Field("gpu", description="gpu, cpu, or apu with shared memory")
    devices: int = Field(1, ge=1, le=256, description="devices that share one copy of each layer (tensor parallel)")
    pipeline: int = Field(1, ge=1, le=64, description="pipeline stages, each with its share of the layers")
    copies: int = Field(1, ge=1, le=10_000, description="whole copies of the model (data parallel)")
    expert_parallel: bool = Field(False, description="deal out whole experts instead of slicing each")
    attention_data_parallel: int = Field(1, ge=1, le=256, description="groups, each with whole attention weights")
    engine: str = Field("vLLM", description="serving engine, which sets version defaults")
    weights: str = Field("checkpoint", description="storage format of the weights; `checkpoint`: as published")
    kv: str = Field("auto", description="format of conversation memory; `auto`: as the checkpoint says, else 16 bit")
    utilization: float | None = Field(None, ge=0.05, le=1, description="share of memory taken (blank: the engine's)")
    prompt: int = Field(4096, ge=1, le=10_000_000, description="prompt tokens, all included")
    output: int = Field(512, ge=1, le=1_000_000, description="output tokens")
    shared_prefix: int = Field(0, ge=0, le=10_000_000, description="first tokens of the prompt that are already cached")
    load: Literal["closed", "open"] = Field("closed", description="closed: conversations at once; open: arrivals")
    users: int = Field(8, ge=1, le=1_000_000, description="conversations at once, in all copies")
    rate: float = Field(1.0, ge=SMALLEST, le=1_000_000, description="requests per second, in all copies")
    max_num_seqs: int | None = Field(None, ge=1, le=100_000, description="requests admitted at once (blank: engine's)")
    max_num_batched_tokens: int | None = Field(None, ge=1, le=10_000_000, description="tokens a step may process")
    accepted: float = Field(1.0, ge=1, le=32, description="tokens per step with speculative decoding (1: without)")
    window_pages: Literal["engine", "freed", "kept"] = Field("engine", description="window pages that slid out")
    state: Literal["engine", "fp32", "bf16"] = Field("engine", description="storage of recurrent state")
    max_ttft: float | None = Field(None, ge=SMALLEST, le=3600, description="limit for the time to first token, seconds")
    max_tpot: float | None = Field(None, ge=SMALLEST, le=3600, description="limit for the time per token, seconds")
    calibrated_decode: float | None = Field(None, ge=0.01, le=100, description="measured over expected decode time")
    calibrated_prefill: float | None = Field(None, ge=0.01, le=100, description="measured over expected prefill time")
    calibrated_on: str | None = Field(None, max_length=80, description="what it was measured with")
    price: float | None = Field(None, ge=SMALLEST, le=1_000_000, description="USD per device and hour (blank: table's)")

    @model_validator(mode="before")
    @classmethod
    def _tidy(cls, data: Any) -> Any:
        return {name: _tidied(name, value) for name, value in data.items()} if isinstance(data, dict) else data

    @field_validator("engine")
    @classmethod
    def _engine(cls, value: str) -> str:
        return find_engine(value).name

    @field_validator("weights")
    @classmethod
    def _weights(cls, value: str) -> str:
        return value if value == "checkpoint" else find_format(value).name

    @field_validator("kv")
    @classmethod
    def _kv(cls, value: str) -> str:
        return value if value == "auto" else find_kv_format(value).name

    @model_validator(mode="after")
    def _together(self) -> Scenario:
        if self.device == CUSTOM:
            figures = ("device_memory_gib", "device_bandwidth_gb_s", "device_tflops")
            missing = [name for name in figures if getattr(self, name) is None]
            if missing:
                raise PlannerError(
                    f"device = custom needs {', '.join(missing)} too. Type its memory, bandwidth and 16-bit TFLOP/s."
                )
        else:
            self._settle("device", find_device(self.device).label)
        self._settle("device_name", self.device_name or DEFAULTS["device_name"])
        self._settle("calibrated_on", self.calibrated_on or None)
        # The last token of a prompt is always computed: its logits are wanted.
        self._settle("shared_prefix", min(self.shared_prefix, self.prompt - 1))
        if self.devices % self.attention_data_parallel:
            raise PlannerError(
                f"attention_data_parallel = {self.attention_data_parallel} does not divide devices = {self.devices}. "
                "Choose a divisor."
            )
        if self.config is None:
            self._settle("model", find_model(self.model))
        else:
            given = self.model if "model" in self.model_fields_set else read_config(self.config).name
            self._settle("model", short(given, LONGEST_NAME) or "pasted model")
        return self

    def _settle(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of(cls, /, **choices: Any) -> Scenario:
        """A Scenario from keyword choices. Raises PlannerError with one sentence for the first bad one."""
        if choices.get("rate") is not None and "load" not in choices and choices.get("users") is None:
            choices["load"] = "open"
        for name in choices:
            if name not in DEFAULTS:
                known = ", ".join(DEFAULTS)
                raise PlannerError(
                    f"{name[:40]!r} is not a setting of the planner. Leave it out, or choose from: {known}."
                )
        try:
            return cls(**{k: v for k, v in choices.items() if v is not None})
        except ValidationError as error:
            raise PlannerError(sentence(error)) from None

    @cached_property
    def architecture(self) -> Architecture:
        """The model that was chosen, read once."""
        return example(self.model) if self.config is None else _read(json.dumps(self.config), self.model)

    @cached_property
    def device_row(self) -> Device:
        """The device that was chosen or typed in."""
        if self.device != CUSTOM:
            return find_device(self.device)
        figures = (self.device_memory_gib, self.device_bandwidth_gb_s, self.device_tflops)
        memory, bandwidth, wide = (f or 0.0 for f in figures)
        name, narrow = self.device_name, self.device_tflops_8bit
        return custom_device(name, memory, bandwidth, wide, narrow, kind=self.device_kind)

    @property
    def engine_row(self) -> Engine:
        """The engine that was chosen."""
        return ENGINES[self.engine]

    def change(self, /, **choices: Any) -> Scenario:
        """A copy with some choices changed, validated again."""
        return Scenario.of(**{**self.model_dump(exclude_unset=False), **choices})

    def choices(self) -> dict[str, Any]:
        """Every choice by name, defaults filled in; the config only where one was pasted."""
        return self.model_dump(exclude={"config"} if self.config is None else None)


DEFAULTS: Final = {name: field.default for name, field in Scenario.model_fields.items()}
_KINDS: Final[dict[str, type]] = {}


def kind(name: str) -> type:
    """The type of a field's values: int, float, bool, dict or str (also for fields with a fixed list of values)."""
    if not _KINDS:
        for field, info in Scenario.model_fields.items():
            kinds = [a for a in get_args(info.annotation) if a is not NoneType] or [info.annotation]
            _KINDS[field] = dict if field == "config" else kinds[0] if isinstance(kinds[0], type) else str
    return _KINDS.get(name, str)


def _tidied(name: str, value: Any) -> Any:
    if isinstance(value, str):
        return plain(value)
    # JSON does not tell 8.0 from 8.
    return int(value) if isinstance(value, float) and value.is_integer() and kind(name) is int else value


def plain(text: str) -> str:
    """A text on one line, without control characters and halves of characters that no file or link can hold.

    Joiners stay between two characters: they make one emoji of several, and spell words of many scripts.
    """
    kept = text if text.isprintable() else "".join(c if _stays(text, at) else " " for at, c in enumerate(text))
    return " ".join(kept.split())


def short(text: str, most: int) -> str:
    """A plain text of at most so many characters; a joiner that a cut leaves at the end goes too."""
    return plain(plain(text)[:most])


_JOINERS: Final = "\u200c\u200d"


def _stays(text: str, at: int) -> bool:
    if text[at] not in _JOINERS:
        return text[at].isprintable()
    beside = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
    return len(beside) == 2 and beside.isprintable() and " " not in beside


def sentence(error: ValidationError) -> str:
    """The first fault of a pydantic error as a sentence: field, value found, what was expected."""
    fault = error.errors()[0]
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, PlannerError):
        return str(cause)
    name = str(fault["loc"][0])
    shown = repr(fault["input"])
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return f"{name} = {shown} cannot be used; expected {expected(name)}. Correct it."


def expected(name: str) -> str:
    """What a field takes, in words."""
    info = Scenario.model_fields[name]
    options = [o for o in get_args(info.annotation) if isinstance(o, str)]
    if options:
        return f"one of {', '.join(options)}"
    if kind(name) in (bool, dict):
        return "true or false" if kind(name) is bool else "an object, as in a config.json"
    low, high = bounds(name)
    if low is None or high is None:
        longest = [rule.max_length for rule in info.metadata if hasattr(rule, "max_length")]
        return f"a text of at most {longest[0]} characters" if longest else "a text"
    if kind(name) is int:
        return f"a whole number from {figure(low)} to {figure(high)}"
    return f"a number from {figure(low)} to {figure(high)}"


def figure(value: float) -> str:
    """A bound as people write it: 1,000,000 or 0.05, never 1e-06."""
    return f"{value:,.10f}".rstrip("0").rstrip(".")


def bounds(name: str) -> tuple[float | None, float | None]:
    """The least and most value of a numeric field (None: it is no number)."""
    low = high = None
    field = Scenario.model_fields.get(name)
    for rule in field.metadata if field else ():
        low = getattr(rule, "ge", low)
        high = getattr(rule, "le", high)
    return low, high


@lru_cache(maxsize=1)
def _index() -> dict[str, dict[str, str]]:
    entries: list[dict[str, str]] = json.loads((MODELS / "index.json").read_text(encoding="utf-8"))
    return {entry["name"]: entry for entry in entries}


@lru_cache(maxsize=1)
def model_names() -> dict[str, Path]:
    """Friendly name -> file of the example models, small to large as the index lists them."""
    return {name: MODELS / entry["file"] for name, entry in _index().items()}


def find_model(name: str) -> str:
    """The name of an example model given by name or file; case, blanks and hyphens do not matter.

    Raises PlannerError with what there is.
    """
    if name in model_names():
        return name
    files = {path.stem: known for known, path in model_names().items()}
    if found := named(name, {known: known for known in model_names()}) or named(name, files):
        return found
    close = difflib.get_close_matches(name[:60], model_names(), n=3, cutoff=0.3)
    raise PlannerError(
        f"model = {name[:60]!r} is not one of the {len(model_names())} examples"
        + (f"; nearest: {', '.join(close)}" if close else "")
        + ". Choose one, or give a config.json."
    )


@lru_cache(maxsize=256)
def example(name: str) -> Architecture:
    """The architecture of an example model, with the quantization file that stands beside it where there is one."""
    beside = _index()[name].get("hf_quant_config")
    quantized = (MODELS / beside).read_text(encoding="utf-8") if beside else None
    return read_config(model_names()[name].read_text(encoding="utf-8"), name=name, hf_quant_config=quantized)


@lru_cache(maxsize=256)
def _read(config: str, name: str) -> Architecture:
    return read_config(json.loads(config), name=name)


__all__ = [
    "CUSTOM", "DEFAULTS", "FORMATS", "KV_FORMATS", "Scenario", "bounds", "example", "expected", "figure", "find_model",
    "kind", "model_names", "plain", "short",
]  # fmt: skip
