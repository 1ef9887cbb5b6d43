"""Charts of measurements: beside their bound, and as a share of what the hardware can do."""

from __future__ import annotations

from typing import Final

from ui.charts.parts import BLUE, CONFIG, GREEN, GREY, INK, ORANGE, PINK, RED, SKY, Spec, number, tooltips


def evidence(x: str, x_title: str, y_title: str) -> Spec:
    """Measured against a bound (or a prediction) on log axes, the diagonal, and each row's expected band as a pale bar.

    Rows: `x`, measured, low, high, series, label, predicted, ceiling.
    """
    return {
        "height": 430, "config": CONFIG,
        "encoding": {"x": number(x, x_title, log=True)},
        "layer": [
            {"transform": [{"filter": "isValid(datum.low)"}],
             "mark": {"type": "rule", "opacity": 0.12, "color": GREY, "strokeWidth": 3},
             "encoding": {"y": number("low", y_title, log=True), "y2": {"field": "high"}}},
            {"mark": {"type": "point", "opacity": 0.75, "size": 32, "filled": True},
             "encoding": {
                 "y": number("measured", y_title, log=True),
                 "color": {"field": "series", "type": "nominal", "title": None,
                           "scale": {"range": [BLUE, ORANGE, GREEN, RED, PINK, INK, SKY, GREY]}},
                 "shape": {"field": "series", "type": "nominal", "title": None},
                 "tooltip": [{"field": "label", "title": "Row"}, *tooltips(measured="Measured", predicted="Expected", low="Band from",
                                                                       high="Band to", ceiling="Ceiling or floor")]}},
            {"transform": [{"aggregate": [{"op": "min", "field": x, "as": "a"}, {"op": "max", "field": x, "as": "b"}]},
                           {"fold": ["a", "b"], "as": ["end", "at"]}],
             "mark": {"type": "line", "color": INK, "strokeWidth": 2},
             "encoding": {"x": number("at", x_title, log=True), "y": number("at", y_title, log=True)}},
        ],
    }  # fmt: skip


EVIDENCE: Final = {
    "rate": evidence("ceiling", "ceiling, tokens/s", "measured, tokens/s"),
    "time": evidence("ceiling", "floor, milliseconds", "measured, milliseconds"),
    "memory": evidence("predicted", "predicted, GiB or tokens", "logged, GiB or tokens"),
}

# Rows: figure, low, mid, high, limit, share (all % of the limit), bound, shown, state.
SHARES: Final[Spec] = {
    "height": {"step": 74}, "config": CONFIG,
    "encoding": {"y": {"field": "figure", "type": "nominal", "title": None, "sort": None}},
    "layer": [
        {"mark": {"type": "bar", "height": 26, "color": SKY, "opacity": 0.55},
         "encoding": {"x": number("low", "% of what the hardware can do"), "x2": {"field": "high"},
                      "tooltip": tooltips(low="Expected from, %", mid="Expected, %", high="Expected to, %",
                                          share="Measured, %")}},
        {"mark": {"type": "tick", "size": 26, "thickness": 2, "color": BLUE},
         "encoding": {"x": number("mid", "% of what the hardware can do")}},
        {"mark": {"type": "tick", "size": 44, "thickness": 4, "color": "black"},
         "encoding": {"x": number("limit", "% of what the hardware can do", scale={"domainMin": 0})}},
        {"mark": {"type": "text", "align": "right", "dx": -8, "dy": -27, "fontSize": 12, "color": INK},
         "encoding": {"x": number("limit", "% of what the hardware can do"), "text": {"field": "bound", "type": "nominal"}}},
        {"transform": [{"filter": "isValid(datum.share)"}],
         "mark": {"type": "point", "filled": True, "size": 260, "opacity": 1, "stroke": "white", "strokeWidth": 1},
         "encoding": {
             "x": number("share", "% of what the hardware can do"),
             "color": {"field": "state", "type": "nominal", "legend": None,
                       "scale": {"domain": ["measured", "measured, impossible"], "range": [INK, RED]}},
             "shape": {"field": "state", "type": "nominal", "legend": None,
                       "scale": {"domain": ["measured", "measured, impossible"], "range": ["diamond", "cross"]}}}},
        {"transform": [{"filter": "isValid(datum.share)"}],
         # A label at the right half would be cut at the edge.
         "mark": {"type": "text", "align": {"expr": "datum.share > 50 ? 'right' : 'left'"},
                  "dx": {"expr": "datum.share > 50 ? 6 : -6"}, "dy": 27, "fontSize": 13, "fontWeight": "bold", "color": INK},
         "encoding": {"x": number("share", "% of what the hardware can do"), "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip
# Before anything was measured: a layer without marks has no text for those who cannot see it.
SHARES_USUAL: Final[Spec] = {**SHARES, "layer": SHARES["layer"][:4]}
