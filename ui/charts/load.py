"""The chart of requests in flight against arrivals."""

from __future__ import annotations

from typing import Final

from ui.charts.parts import BLUE, CONFIG, GREEN, INK, ORANGE, RED, Spec, number, tooltips

STATES: Final = ["now", "now, some wait", "now, past capacity"]

# Rows: rate, in_flight, holds; one row with now = 1.
ARRIVALS: Final[Spec] = {
    "height": 300, "config": CONFIG,
    "encoding": {"x": number("rate", "requests per second")},
    "layer": [
        {"mark": {"type": "area", "opacity": 0.18, "color": GREEN}, "transform": [{"filter": "datum.now == 0"}],
         "encoding": {"y": number("holds", "requests in flight")}},
        {"mark": {"type": "line", "strokeWidth": 2.5, "color": BLUE}, "transform": [{"filter": "datum.now == 0"}],
         "encoding": {"y": number("in_flight", "requests in flight"),
                      "tooltip": tooltips(rate="Requests/s", in_flight="In flight", stay="Seconds each stays")}},
        {"mark": {"type": "rule", "color": RED, "strokeWidth": 2, "strokeDash": [6, 3]},
         "transform": [{"aggregate": [{"op": "max", "field": "capacity", "as": "rate"}]}], "encoding": {}},
        {"mark": {"type": "point", "size": 160, "filled": True, "opacity": 1}, "transform": [{"filter": "datum.now == 1"}],
         "encoding": {"y": number("in_flight", "requests in flight"),
                      "color": {"field": "state", "type": "nominal", "title": None,
                                "scale": {"domain": STATES, "range": [INK, ORANGE, RED]}},
                      "shape": {"field": "state", "type": "nominal", "title": None,
                                "scale": {"domain": STATES, "range": ["circle", "triangle-up", "cross"]}}}},
    ],
}  # fmt: skip
