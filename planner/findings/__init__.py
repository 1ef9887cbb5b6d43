"""What a buyer must know about a plan, worst first, each with the smallest change that flips it."""

from planner.findings.changes import Change
from planner.findings.settle import ORDER, VERDICTS, Finding, findings

__all__ = ["ORDER", "VERDICTS", "Change", "Finding", "findings"]
