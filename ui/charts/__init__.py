"""Vega-Lite specifications, built once at import; pages hand them rows.

Charts carry no selections: those would be neither in links nor in tests.
"""

from ui.charts.devices import MAP, MAP_OPEN
from ui.charts.load import ARRIVALS, ARRIVALS_PAST, ARRIVALS_WAIT
from ui.charts.measured import EVIDENCE, SHARES, SHARES_USUAL
from ui.charts.memory import BUDGET, GROWTH, PARAMETERS
from ui.charts.parts import Spec
from ui.charts.speed import BITS, CONTEXT, EACH, PHASES, PROMPT, RANKED, TOTAL

__all__ = ["ARRIVALS", "ARRIVALS_PAST", "ARRIVALS_WAIT", "BITS", "BUDGET", "CONTEXT", "EACH", "EVIDENCE", "GROWTH", "MAP", "MAP_OPEN", "PARAMETERS", "PHASES",
           "PROMPT", "RANKED", "SHARES", "SHARES_USUAL", "TOTAL", "Spec"]  # fmt: skip
