"""The chart of requests in flight against arrivals."""

from __future__ import annotations

from typing import Any, Final

from ui.charts.parts import BLUE, CONFIG, GREEN, INK, ORANGE, RED, Spec, number, tooltips

_HEIGHT: Final = "requests in flight"
# Room between the legend and the drawing, where a label may stand.
_NAMED: Final[dict[str, Any]] = {"type": "nominal", "title": None, "legend": {"offset": 24}}


def _of(kind: str) -> list[dict[str, str]]:
    return [{"filter": f"datum.kind == '{kind}'"}]


_CURVE: Final[list[dict[str, Any]]] = [
    {"mark": {"type": "area", "opacity": 0.18, "color": GREEN}, "transform": _of("curve"),
     "encoding": {"y": number("holds", _HEIGHT)}},
    {"mark": {"type": "line", "strokeWidth": 2.5, "color": BLUE}, "transform": _of("curve"),
     "encoding": {"y": number("in_flight", _HEIGHT),
                  "tooltip": tooltips(rate="Requests/s", in_flight="In flight", stay="Seconds each stays")}},
    {"mark": {"type": "rule", "color": RED, "strokeWidth": 2, "strokeDash": [6, 3]},
     "transform": [{"aggregate": [{"op": "max", "field": "capacity", "as": "rate"}]}], "encoding": {}},
]  # fmt: skip


def _spec(here: list[dict[str, Any]]) -> Spec:
    return {"height": 300, "config": CONFIG, "encoding": {"x": number("rate", "requests per second")},
            "layer": [*_CURVE, *here]}  # fmt: skip


# Above the drawing, so that no label crosses the curve; the marks it names stand at its right end.
_LABEL: Final[dict[str, Any]] = {
    "mark": {"type": "text", "align": "right", "baseline": "bottom", "fontSize": 12, "fontWeight": "bold", "color": INK},
    "encoding": {"y": {"value": -6}, "text": {"field": "label", "type": "nominal"}},
}  # fmt: skip


def _point(said: str, colour: str, shape: str, *more: dict[str, Any]) -> Spec:
    """The scenario as one point, which the legend names."""
    return _spec([
        {"mark": {"type": "point", "size": 160, "filled": True, "opacity": 1},
         "transform": [*_of("now"), {"calculate": f"'{said}'", "as": "state"}],
         "encoding": {"y": number("in_flight", _HEIGHT),
                      "color": {"field": "state", **_NAMED, "scale": {"domain": [said], "range": [colour]}},
                      "shape": {"field": "state", **_NAMED, "scale": {"domain": [said], "range": [shape]}}}},
        *more,
    ])  # fmt: skip


# Rows: kind (curve, now or asked), rate, in_flight, holds, capacity, stay, label.
ARRIVALS: Final = _point("this scenario", INK, "circle")
ARRIVALS_WAIT: Final = _point("this scenario: some wait", ORANGE, "triangle-up", {**_LABEL, "transform": _of("now")})
# Past capacity no number in flight lasts: the arrivals are an upright line.
ARRIVALS_PAST: Final = _spec([
    {"mark": {"type": "rule", "color": INK, "strokeWidth": 2.5}, "transform": _of("asked"), "encoding": {}},
    {**_LABEL, "transform": _of("asked")},
])  # fmt: skip
