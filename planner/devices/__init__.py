"""Hardware: the device table, devices typed in by hand, and devices that only measurements name."""

from planner.devices.custom import custom_device
from planner.devices.device import COMPUTE_FALLBACKS, Device, DeviceError
from planner.devices.evidence import Price, Source, prices
from planner.devices.lookup import find_device, short_label
from planner.devices.measured import measured_device
from planner.devices.table import load_devices

__all__ = [
    "COMPUTE_FALLBACKS",
    "Device",
    "DeviceError",
    "Price",
    "Source",
    "custom_device",
    "find_device",
    "load_devices",
    "measured_device",
    "prices",
    "short_label",
]
