"""Efficiencies fitted to published measurements, and how well they hold: `python -m tools.evidence`."""
