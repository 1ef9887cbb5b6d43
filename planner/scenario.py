"""The scenario: one frozen model with every choice, its default, its range and its sentence.

The same names stand in the form, the link, the command line, the JSON and the exports.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from planner.architecture import Architecture, read_config
from planner.architecture.reader import parse
from planner.devices import Device, custom_device, find_device
from planner.engines import ENGINES, Engine, find_engine
from planner.errors import PlannerError
from planner.precision import FORMATS, KV_FORMATS, find_format, find_kv_format

MODELS: Final = Path(__file__).resolve().parent.parent / "data" / "models"
CUSTOM: Final = "custom"
VERSION: Final = 1

Count = Annotated[int, Field(strict=True)]


class Scenario(BaseModel):
    """Every choice of one what-if. Unset fields take the defaults shown; `engine_defaults` come from the engine.

    Raises PlannerError (through `Scenario.of`) with a sentence naming the field, the value and the range.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field("Qwen3 32B", description="example model, or the name given to a pasted config")
    config: dict[str, Any] | None = Field(None, description="a config.json (only the keys that were used)", repr=False)
    device: str = Field("H100 80GB SXM", description="device by label, id or name; `custom` for a typed-in one")
    device_name: str = Field("My device", max_length=60, description="name of the typed-in device")
    device_memory_gib: float | None = Field(None, gt=0, le=100_000, description="its memory in GiB")
    device_bandwidth_gb_s: float | None = Field(None, gt=0, le=1_000_000, description="its memory bandwidth in GB/s")
    device_tflops: float | None = Field(None, gt=0, le=10_000_000, description="its dense 16-bit TFLOP/s")
    devices: int = Field(1, ge=1, le=256, description="devices that share one copy of each layer (tensor parallel)")
    pipeline: int = Field(1, ge=1, le=64, description="pipeline stages, each with its share of the layers")
    copies: int = Field(1, ge=1, le=10_000, description="whole copies of the model (data parallel)")
    expert_parallel: bool = Field(False, description="deal whole experts out to devices instead of slicing each")
    attention_data_parallel: int = Field(1, ge=1, le=256, description="groups that each hold whole attention weights")
    engine: str = Field("vLLM", description="serving engine, which sets version defaults")
    weights: str = Field("checkpoint", description="storage format of the weights; `checkpoint`: as published")
    kv: str = Field("auto", description="storage format of conversation memory; `auto`: as the checkpoint says, else 16 bit")
    utilization: float | None = Field(None, ge=0.05, le=1, description="share of memory the engine takes (blank: its default)")
    prompt: int = Field(4096, ge=1, le=10_000_000, description="prompt tokens, all included")
    output: int = Field(512, ge=1, le=1_000_000, description="output tokens")
    shared_prefix: int = Field(0, ge=0, le=10_000_000, description="first tokens of the prompt that are already cached")
    load: Literal["closed", "open"] = Field("closed", description="closed: conversations at once; open: arrivals per second")
    users: int = Field(8, ge=1, le=1_000_000, description="conversations at once, in all copies")
    rate: float = Field(1.0, gt=0, le=1_000_000, description="requests per second, in all copies")
    max_num_seqs: int | None = Field(None, ge=1, le=100_000, description="requests the engine admits (blank: its default)")
    max_num_batched_tokens: int | None = Field(None, ge=1, le=10_000_000, description="tokens a step may process")
    accepted: float = Field(1.0, ge=1, le=32, description="tokens per step with speculative decoding (1: without)")
    window_pages: Literal["engine", "freed", "kept"] = Field("engine", description="pages of window layers that slid out")
    state: Literal["engine", "fp32", "bf16"] = Field("engine", description="storage of recurrent state")
    max_ttft: float | None = Field(None, gt=0, le=3600, description="limit for the time to first token in seconds")
    max_tpot: float | None = Field(None, gt=0, le=3600, description="limit for the time per output token in seconds")
    calibrated_decode: float | None = Field(None, gt=0, le=2, description="measured decode time over the expected one")
    calibrated_prefill: float | None = Field(None, gt=0, le=100, description="measured prefill time over the expected one")
    calibrated_on: str | None = Field(None, max_length=80, description="what the calibration was measured with")
    price: float | None = Field(None, gt=0, le=1_000_000, description="USD per device and hour (blank: the table's)")

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
            missing = [n for n in ("device_memory_gib", "device_bandwidth_gb_s", "device_tflops") if getattr(self, n) is None]
            if missing:
                raise PlannerError(
                    f"device = custom needs {', '.join(missing)} too. Type its memory, bandwidth and 16-bit TFLOP/s."
                )
        else:
            object.__setattr__(self, "device", find_device(self.device).label)
        if self.shared_prefix > self.prompt - 1:
            object.__setattr__(self, "shared_prefix", max(self.prompt - 1, 0))
        if self.devices % self.attention_data_parallel:
            raise PlannerError(
                f"attention_data_parallel = {self.attention_data_parallel} does not divide devices = {self.devices}. "
                "Choose a divisor."
            )
        if self.config is None:
            object.__setattr__(self, "model", find_model(self.model))
        return self

    @classmethod
    def of(cls, **choices: Any) -> Scenario:
        """A Scenario from keyword choices. Raises PlannerError with one sentence for the first bad one."""
        if choices.get("rate") is not None and "load" not in choices and choices.get("users") is None:
            choices["load"] = "open"
        try:
            return cls(**{k: v for k, v in choices.items() if v is not None or k in _NULLABLE})
        except ValidationError as error:
            raise PlannerError(sentence(error)) from None

    @property
    def architecture(self) -> Architecture:
        """The model that was chosen, read once."""
        return example(self.model) if self.config is None else _read(_frozen(self.config), self.model)

    @property
    def device_row(self) -> Device:
        """The device that was chosen or typed in."""
        if self.device == CUSTOM:
            assert self.device_memory_gib and self.device_bandwidth_gb_s and self.device_tflops
            return custom_device(self.device_name, self.device_memory_gib, self.device_bandwidth_gb_s, self.device_tflops)
        return find_device(self.device)

    @property
    def engine_row(self) -> Engine:
        """The engine that was chosen."""
        return ENGINES[self.engine]

    def change(self, **choices: Any) -> Scenario:
        """A copy with some choices changed, validated again."""
        return Scenario.of(**{**self.model_dump(exclude_unset=False), **choices})

    def choices(self) -> dict[str, Any]:
        """Every choice by name, defaults filled in; the config only where one was pasted."""
        return self.model_dump(exclude={"config"} if self.config is None else None)


_NULLABLE: Final = frozenset()

DEFAULTS: Final = {name: field.default for name, field in Scenario.model_fields.items()}


def sentence(error: ValidationError) -> str:
    """The first fault of a pydantic error as a sentence: field, value found, what was expected."""
    fault = error.errors()[0]
    cause = fault.get("ctx", {}).get("error")
    if isinstance(cause, PlannerError):
        return str(cause)
    name = ".".join(str(p) for p in fault["loc"]) or "scenario"
    if fault["type"] == "extra_forbidden":
        return f"{name} is not a setting of the planner. Leave it out, or choose from: {', '.join(DEFAULTS)}."
    shown = repr(fault["input"])
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    low, high = bounds(name)
    expected = f"a value from {low:g} to {high:g}" if low is not None and high is not None else fault["msg"].lower()
    return f"{name} = {shown} cannot be used; expected {expected}. Correct it."


def bounds(name: str) -> tuple[float | None, float | None]:
    """The least and most value of a numeric field (None: it is no number)."""
    low = high = None
    field = Scenario.model_fields.get(name)
    for rule in field.metadata if field else ():
        low = getattr(rule, "ge", getattr(rule, "gt", low))
        high = getattr(rule, "le", high)
    return low, high


@lru_cache(maxsize=1)
def _index() -> dict[str, dict[str, str]]:
    entries: list[dict[str, str]] = json.loads((MODELS / "index.json").read_text())
    return {entry["name"]: entry for entry in entries}


def model_names() -> dict[str, Path]:
    """Friendly name -> file of the example models, small to large as the index lists them."""
    return {name: MODELS / entry["file"] for name, entry in _index().items()}


def find_model(name: str) -> str:
    """The friendly name of an example model given by name or file (any case). Raises PlannerError with what there is."""
    wanted = name.strip().lower()
    for known, path in model_names().items():
        if wanted in (known.lower(), path.stem.lower()):
            return known
    import difflib

    close = difflib.get_close_matches(name, model_names(), n=3, cutoff=0.3)
    raise PlannerError(
        f"model = {name!r} is not one of the {len(model_names())} examples"
        + (f"; nearest: {', '.join(close)}" if close else "")
        + ". Choose one, or give a config.json."
    )


@lru_cache(maxsize=256)
def example(name: str) -> Architecture:
    """The architecture of an example model, with the quantization file that stands beside it where there is one."""
    beside = _index()[name].get("hf_quant_config")
    quantized = (MODELS / beside).read_text() if beside else None
    return read_config(model_names()[name].read_text(), name=name, hf_quant_config=quantized)


def _frozen(config: dict[str, Any]) -> str:
    return json.dumps(config, sort_keys=True)


@lru_cache(maxsize=256)
def _read(config: str, name: str) -> Architecture:
    return read_config(parse(config), name=name)


__all__ = ["CUSTOM", "DEFAULTS", "FORMATS", "KV_FORMATS", "Scenario", "bounds", "example", "find_model", "model_names"]
