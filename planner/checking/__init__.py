"""A measurement beside its plan: floor, ceiling and band at the measured load, what to do, and calibration."""

from planner.checking.adopt import adopted
from planner.checking.calibration import CLEARED, Calibration, calibration
from planner.checking.compare import Comparison, compare
from planner.checking.conditions import Conditions, conditions
from planner.checking.figures import Figure, planned
from planner.checking.identity import same_system
from planner.checking.rows import chart_legend, chart_rows, chart_words, figure_table, headlines, run_rows
from planner.checking.sending import sending
from planner.checking.verdict import OTHER, outlook, verdict

__all__ = [
    "CLEARED",
    "OTHER",
    "Calibration",
    "Comparison",
    "Conditions",
    "Figure",
    "adopted",
    "calibration",
    "chart_legend",
    "chart_rows",
    "chart_words",
    "compare",
    "conditions",
    "figure_table",
    "headlines",
    "outlook",
    "planned",
    "run_rows",
    "same_system",
    "sending",
    "verdict",
]
