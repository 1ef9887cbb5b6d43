"""The system that a published row was measured on: engine, model with its formats, device and how it is spread."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from planner.architecture import Architecture, read_config
from planner.devices import Device, find_device, load_devices, measured_device
from planner.engines import Engine
from planner.errors import PlannerError
from planner.layout import Layout
from planner.precision import KvFormat
from planner.scenario import bounds
from planner.validate.cells import SkippedRow, count, text
from planner.validate.names import engine_of, kv_of, weights_of


def engine(row: Mapping[str, Any]) -> Engine:
    """The engine of a row, in the version that it states or that its year suggests. Raises SkippedRow."""
    found = engine_of(text(row, "engine"), text(row, "engine_version"), year_of(row))
    if found is None:
        raise SkippedRow(f"engine {text(row, 'engine') or '(blank)'} is not one that the planner knows")
    return found


def model(row: Mapping[str, Any], configs: Path, runs: Engine) -> tuple[Architecture, str, KvFormat]:
    """Architecture, weight format and KV format of a row on the engine that runs it. Raises SkippedRow."""
    arch = architecture(row, configs)
    weights = weights_of(text(row, "weight_dtype"), arch, runs)
    if weights is None:
        raise SkippedRow(f"weight_dtype {text(row, 'weight_dtype') or '(blank)'} has no format of known size here")
    kv = kv_of(text(row, "kv_dtype"), arch, weights, runs)
    if kv is None:
        raise SkippedRow(f"kv_dtype {text(row, 'kv_dtype')} is not known")
    return arch, weights, kv


@lru_cache(maxsize=512)
def _read(path: Path) -> Architecture:
    return read_config(path.read_text(encoding="utf-8"), name=path.stem)


def architecture(row: Mapping[str, Any], configs: Path) -> Architecture:
    """The model of a row. Raises SkippedRow."""
    name = text(row, "config")
    if not name:
        raise SkippedRow("no config: the row names none")
    return _found(name, configs)


@lru_cache(maxsize=512)
def _found(name: str, configs: Path) -> Architecture:
    try:
        path = (configs / name).resolve()
        if not path.is_relative_to(configs.resolve()) or not path.is_file():
            raise SkippedRow(f"no config: {name} is not among the configs")
        return _read(path)
    except SkippedRow:
        raise
    except PlannerError as error:
        raise SkippedRow(f"config {name} cannot be read: {error}") from None
    except (OSError, ValueError):  # a name that no file can have, or a file that is no text
        raise SkippedRow(f"no config: {name:.80} is not a text file among the configs") from None


@lru_cache(maxsize=1)
def _by_id() -> dict[str, Device]:
    return {device.id: device for device in load_devices()}


def device_of(row: Mapping[str, Any]) -> Device:
    """The device of a row: by the measured name (which tells Apple parts by GPU cores), by id, by name.

    Raises SkippedRow.
    """
    name, device_id = text(row, "device"), text(row, "device_id")
    if device_id and device_id not in _by_id():
        raise SkippedRow(f"no device: device_id {device_id:.40} is not in the device table")
    found = (measured_device(name) if name else None) or _by_id().get(device_id)
    if found is None and name:
        try:
            found = find_device(name)
        except PlannerError:
            found = None
    if found is None:
        raise SkippedRow(f"no device: {name or device_id or 'none named'} is not in the device table")
    return found


def year_of(row: Mapping[str, Any]) -> int | None:
    """The latest year that the engine's version names, else that of the source's date."""
    for column in ("engine_version", "source_date"):
        years = [int(y) for y in re.findall(r"(?<!\d)(20[12]\d)(?!\d)", text(row, column))]
        if years:
            return max(years)
    return None


def layout_of(row: Mapping[str, Any], engine: Engine) -> Layout:
    """How the copy is spread: tp as stated, further devices as pipeline stages (llama.cpp deals out layers).

    Raises SkippedRow where the cells contradict each other.
    """
    tensor, devices = count(row, "tp", 1), count(row, "n_devices", 1)
    most = bounds("devices")[1]
    if most is not None and max(tensor, devices) > most:
        raise SkippedRow(f"n_devices is {devices} with tp {tensor}; a copy has up to {most:.0f} devices")
    if tensor > devices and text(row, "n_devices"):
        raise SkippedRow(f"tp is {tensor}, more than the n_devices of {devices}")
    stages = max(devices // tensor, 1)
    groups = count(row, "attention_dp", 1)
    if not engine.tensor_parallel and tensor > 1 and stages == 1:
        # Sources that list tensor parallelism for an engine without it dealt out layers.
        tensor, stages = 1, tensor
    if groups > 1:
        # Attention groups divide the devices that share the rest of each layer.
        tensor, stages = max(devices, tensor), 1
    return Layout(tensor, stages, count(row, "ep", 1) > 1, groups if tensor % groups == 0 else 1)
