"""Outputs of measuring tools -> measured figures with units and denominators made equal.

One small module a tool; `read` recognises which one wrote a text, `commands` says how to measure, `advice` what to do.
"""

from planner.measurements.advice import advice
from planner.measurements.commands import TOOLS, Command, Load, commands, experiment
from planner.measurements.limits import Advice, Expected, share_of_ceiling
from planner.measurements.measured import BenchRow, Measured, Stat
from planner.measurements.recognise import LOOKED_FOR, read

__all__ = [
    "LOOKED_FOR",
    "TOOLS",
    "Advice",
    "BenchRow",
    "Command",
    "Expected",
    "Load",
    "Measured",
    "Stat",
    "advice",
    "commands",
    "experiment",
    "read",
    "share_of_ceiling",
]
