"""Finding a device by what people call it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches
from functools import lru_cache

from planner.devices.device import Device, DeviceError
from planner.devices.table import load_devices

OTHER_NAMES = {
    "H100 SXM": "h100-sxm",
    "H100 SXM5": "h100-sxm",
    "H100 PCIe": "h100-pcie",
    "H100 NVL": "h100-nvl",
    "H200": "h200-sxm",
    "H200 SXM": "h200-sxm",
    "H20": "h20",
    "B200": "b200",
    "B300": "b300",
    "DGX Spark": "dgx-spark-gb10",
    "GB10": "dgx-spark-gb10",
    "Jetson AGX Thor": "jetson-thor-t5000",
    "Strix Halo": "ryzen-ai-max-395",
    "Radeon 8060S": "ryzen-ai-max-395",
    "Trillium": "tpu-v6e",
    "TPU v7": "tpu-v7-ironwood",
    "Ironwood": "tpu-v7-ironwood",
    "RTX PRO 6000 Blackwell": "rtx-pro-6000",
    "RTX 3080": "rtx-3080-10gb",
    "RTX 3060": "rtx-3060-12gb",
    "Arc A770": "arc-a770-16gb",
    "Tesla P100": "tesla-p100-pcie-16gb",
    "Tesla T4": "t4",
    # As nvidia-smi prints them.
    "NVIDIA H100 80GB HBM3": "h100-sxm",
    "NVIDIA H100 PCIe": "h100-pcie",
    "NVIDIA H100 NVL": "h100-nvl",
    "NVIDIA H200": "h200-sxm",
    "NVIDIA H200 NVL": "h200-nvl",
    "NVIDIA B200": "b200",
    "NVIDIA A100-SXM4-80GB": "a100-80gb-sxm",
    "NVIDIA A100-SXM4-40GB": "a100-40gb-sxm",
    "Tesla V100-SXM2-16GB": "v100-sxm2-16gb",
    "Tesla V100-SXM2-32GB": "v100-sxm2-32gb",
    "NVIDIA RTX 6000 Ada Generation": "rtx-6000-ada",
    "NVIDIA GB10": "dgx-spark-gb10",
}
"""Names that the form, links and the command line also accept: trade names, and labels of earlier releases."""

_SUGGESTIONS = 4


def short_label(device: Device) -> str:
    """The text that stands for a device in forms and links; see `Device.label`."""
    return device.label


def _key(text: str) -> str:
    """Text reduced to what spelling cannot change: lower-case letters, digits and the plus of a model name."""
    return re.sub(r"[^a-z0-9+]", "", text.lower())


def _unordered(text: str) -> str:
    """The words of a text in alphabetical order, so that "H100 SXM 80GB" is "H100 80GB SXM"."""
    return " ".join(sorted(re.findall(r"[a-z0-9+]+", text.lower())))


@lru_cache(maxsize=1)
def _by_key() -> dict[str, Device]:
    devices = load_devices()
    by_id = {device.id: device for device in devices}
    known = {_key(name): by_id[device_id] for name, device_id in OTHER_NAMES.items() if device_id in by_id}
    known |= {_unordered(name): device for device in devices for name in (device.label, device.name)}
    known |= {_key(device.label): device for device in devices}
    known |= {_key(device.name): device for device in devices}
    # The id comes last, so that it always wins.
    return known | {_key(device.id): device for device in devices}


def _suggestions(text: str, devices: Iterable[Device]) -> list[str]:
    """Labels that contain every word of the text, then those spelled most like it."""
    labels = {device.label: device for device in devices}
    words = re.findall(r"[a-z]+|\d+", text.lower())
    inside = [
        label
        for label, device in labels.items()
        if words and all(word in f"{device.name} {device.id}".lower() for word in words)
    ]
    keys = {_key(label): label for label in labels}
    close = [keys[key] for key in get_close_matches(_key(text), list(keys), n=_SUGGESTIONS, cutoff=0.5)]
    return list(dict.fromkeys(inside + close))[:_SUGGESTIONS]


def find_device(text: str) -> Device:
    """The device with this id, name, label or other known name; case, spaces, hyphens and word order do not matter.

    Args:
        text: what was typed or found in a link, such as "h100-sxm" or "NVIDIA H100 80GB SXM".

    Raises:
        DeviceError: no device is called so; the message suggests the nearest names.
    """
    known = _by_key()
    found = known.get(_key(text)) or known.get(_unordered(text))
    if found is not None:
        return found
    shown = text if len(text) <= 60 else text[:57] + "..."
    near = _suggestions(text[:200], load_devices())
    hint = f"did you mean {', '.join(near)}?" if near else "`python -m planner devices` lists all names."
    raise DeviceError(
        f'Device "{shown}" is not in the device table; {hint} A device that is not listed can be typed in.'
    )
