"""Charts of memory: the budget, its growth with context, and parameters by part."""

from __future__ import annotations

from typing import Final

from ui.charts.parts import BLUE, CONFIG, GREEN, INK, ORANGE, PINK, RED, Spec, number, tooltips

PARTS: Final = {
    "weights": ("Weights", BLUE), "engine": ("The engine's own needs", PINK),
    "left alone": ("Left alone by the engine", "#B9C1C9"),
    "conversations": ("Conversations", ORANGE), # Not a pale orange: bars of what cannot load are faded.
    "room for more": ("Room for more", "#C9E9DC"),
}  # fmt: skip

# Long names take two lines: on a phone they would leave no room for the bars.
_WORDS: Final = "split(datum.label, ' ')"
_LONG: Final = "length(datum.value) > 20 && length(split(datum.value, ' ')) > 3"
_BROKEN: Final[Spec] = {
    "labelExpr": f"{_LONG} ? [join(slice({_WORDS}, 0, 3), ' '), join(slice({_WORDS}, 3), ' ')] : datum.label",
    "labelLineHeight": 12, "labelOffset": {"condition": {"test": _LONG, "value": -6}, "value": 0},
}  # fmt: skip

# Rows: label, part, gib, order, usable, fits, rank, flag.
BUDGET: Final[Spec] = {
    "height": {"step": 26}, "config": CONFIG,
    "encoding": {"y": {"field": "label", "type": "nominal", "title": None, "axis": _BROKEN,
                       "sort": {"field": "rank", "op": "min", "order": "ascending"}}},
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
         # A column of its own at the right edge: text that begins inside the drawing is cut where its end passes it.
         "mark": {"type": "text", "align": "left", "dx": 6, "color": INK, "fontSize": 12},
         "encoding": {"x": {"value": "width"}, "text": {"field": "flag", "type": "nominal"}}},
    ],
}  # fmt: skip



def _limit(side: str, x: str) -> list[Spec]:
    """The name of the limit at one end of it, with a white edge so that lines behind it do not strike it through."""
    text: Spec = {"type": "text", "align": side, "baseline": "bottom", "dy": -5, "dx": 4 if side == "left" else -4,
                  "fontSize": 12}  # fmt: skip
    ends = [{"op": "max", "field": "limit", "as": "limit"}, {"op": x, "field": "tokens", "as": "tokens"}]
    return [
        {"transform": [{"filter": f"datum.side == '{side}'"}, {"aggregate": ends}], "mark": {**text, **colours},
         "encoding": {"x": number("tokens", "tokens in each conversation", log=True, base=2),
                      "y": number("limit", "GiB on each device"), "text": {"value": "all the engine may take"}}}
        for colours in ({"stroke": "white", "strokeWidth": 5, "color": "white"}, {"color": INK})
    ]  # fmt: skip


# Rows: tokens, series, gib, limit, side ("left" or "right": where the limit's name stands).
GROWTH: Final[Spec] = {
    "height": 300, "config": CONFIG,
    "layer": [
        {"mark": {"type": "line", "strokeWidth": 2.5, "clip": True, "point": {"size": 35}},
         "encoding": {
             "x": number("tokens", "tokens in each conversation", log=True, base=2,
                         axis={"values": [2**n for n in range(3, 24)]}),
             "y": number("gib", "GiB on each device"),
             "color": {"field": "series", "type": "nominal", "title": "conversations", "sort": None,
                       "scale": {"range": [GREEN, BLUE, RED]}},
             "strokeDash": {"field": "series", "type": "nominal", "title": "conversations", "sort": None},
             "tooltip": tooltips(series="Conversations", tokens="Tokens each", gib="GiB")}},
        {"transform": [{"aggregate": [{"op": "max", "field": "limit", "as": "limit"}]}],
         "mark": {"type": "rule", "color": "black", "strokeWidth": 2.5},
         "encoding": {"y": number("limit", "GiB on each device")}},
        *_limit("left", "min"), *_limit("right", "max"),
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
