"""Charts of memory: the budget, its growth with context, and parameters by part."""

from __future__ import annotations

from typing import Final

from ui.charts.parts import BLUE, CONFIG, GREEN, INK, ORANGE, PINK, RED, Spec, number, tooltips

PARTS: Final = {
    "weights": ("Weights", BLUE), "engine": ("The engine's own needs", PINK),
    "left alone": ("Left alone by the engine", "#D5DADF"),
    "conversations": ("Conversations", ORANGE), "room for more": ("Room for more", "#F6DFA4"),
}  # fmt: skip

# Rows: label, part, gib, order, usable, fits, rank.
BUDGET: Final[Spec] = {
    "height": {"step": 26}, "config": CONFIG,
    "encoding": {"y": {"field": "label", "type": "nominal", "title": None, "sort": {"field": "rank", "op": "min", "order": "ascending"}}},
    "layer": [
        {"mark": {"type": "bar", "stroke": "white", "strokeWidth": 0.5},
         "encoding": {
             "x": number("gib", "GiB on each device", stack="zero"),
             "color": {"field": "part", "type": "nominal", "title": None,
                       "scale": {"domain": [n for n, _ in PARTS.values()], "range": [c for _, c in PARTS.values()]}},
             "order": {"field": "order", "type": "quantitative"},
             "opacity": {"condition": {"test": "datum.fits == 'cannot load' || datum.fits == 'cannot hold one request'",
                                       "value": 0.4}, "value": 1},
             "tooltip": tooltips(label="Device", part="Part", gib="GiB", usable="Usable GiB", fits="Verdict")}},
        {"mark": {"type": "tick", "color": "black", "thickness": 3, "size": 22},
         "encoding": {"x": number("usable", "GiB on each device"), "tooltip": tooltips(label="Device", usable="Usable GiB")}},
        {"transform": [{"filter": "datum.order == 0 && datum.fits != 'fits'"}],
         "mark": {"type": "text", "align": "left", "dx": 6, "color": INK, "fontSize": 12},
         "encoding": {"x": number("end", "GiB on each device"), "text": {"field": "flag", "type": "nominal"}}},
    ],
}  # fmt: skip

# Rows: tokens, series, gib, limit.
GROWTH: Final[Spec] = {
    "height": 300, "config": CONFIG,
    "layer": [
        {"mark": {"type": "line", "strokeWidth": 2.5, "clip": True, "point": {"size": 35}},
         "encoding": {
             "x": number("tokens", "tokens in each conversation", log=True, base=2),
             "y": number("gib", "GiB on each device"),
             "color": {"field": "series", "type": "nominal", "title": None, "sort": None,
                       "scale": {"range": [GREEN, BLUE, RED]}},
             "strokeDash": {"field": "series", "type": "nominal", "title": None, "sort": None},
             "tooltip": tooltips(series="Conversations", tokens="Tokens each", gib="GiB")}},
        {"transform": [{"aggregate": [{"op": "max", "field": "limit", "as": "limit"}]}],
         "mark": {"type": "rule", "color": "black", "strokeWidth": 2.5},
         "encoding": {"y": number("limit", "GiB on each device")}},
        {"transform": [{"aggregate": [{"op": "max", "field": "limit", "as": "limit"}, {"op": "min", "field": "tokens", "as": "tokens"}]}],
         "mark": {"type": "text", "align": "left", "dy": -8, "dx": 4, "fontSize": 12, "color": INK},
         "encoding": {"x": number("tokens", "tokens in each conversation", log=True, base=2), "y": number("limit", "GiB on each device"),
                      "text": {"value": "all the engine may take"}}},
    ],
}  # fmt: skip

# Rows: part, params, order.
PARAMETERS: Final[Spec] = {
    "height": {"step": 24}, "config": CONFIG,
    "encoding": {"y": {"field": "part", "type": "nominal", "title": None, "sort": None}},
    "layer": [
        {"mark": {"type": "bar", "color": BLUE},
         "encoding": {"x": number("billions", "billions of parameters"),
                      "tooltip": [{"field": "part", "title": "Part"},
                                  {"field": "params", "type": "quantitative", "title": "Parameters", "format": ","}]}},
        {"mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 12, "color": INK},
         "encoding": {"x": number("billions", "billions of parameters"), "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip
