"""What real engines reach: measured shares and overheads by device class, engine and data type, as bands."""

from planner.efficiency.classes import device_class, storage_type
from planner.efficiency.expect import Expectation, calibrated, expectation

__all__ = ["Expectation", "calibrated", "device_class", "expectation", "storage_type"]
