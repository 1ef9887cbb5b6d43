"""Predicted beside measured for published rows: the same figures on the command line and on the evidence page."""

from planner.validate.report import CONFIGS, MEASUREMENTS, published, read_rows, validate

__all__ = ["CONFIGS", "MEASUREMENTS", "published", "read_rows", "validate"]
