"""Charts of speed: devices ranked, prefill beside decode, speed along one axis, and fewer bits."""

from __future__ import annotations

from typing import Final

from ui.charts.parts import BLUE, CONFIG, GREEN, INK, ORANGE, RED, SKY, Spec, number, tooltips

# Rows: label, ceiling, low, high, mine ("yes", "no"), rank, shown (the ceiling, or why there is none).
RANKED: Final[Spec] = {
    "height": {"step": 19}, "config": CONFIG, "resolve": {"scale": {"color": "independent"}},
    "encoding": {"y": {"field": "label", "type": "nominal", "title": None, "sort": {"field": "rank", "op": "min", "order": "ascending"}}},
    "layer": [
        {"transform": [{"filter": "isValid(datum.ceiling)"}],
         "mark": {"type": "bar", "height": {"band": 0.75}},
         "encoding": {
             "x": number("ceiling", "tokens/s of one conversation"),
             "color": {"field": "mine", "type": "nominal", "legend": None, "scale": {"domain": ["yes", "no"], "range": [SKY, "#D5DADF"]}},
             "tooltip": tooltips(label="Device", ceiling="Ceiling tokens/s", low="Expected from", high="Expected to")}},
        {"transform": [{"filter": "isValid(datum.ceiling)"}],
         "mark": {"type": "rule", "strokeWidth": 5},
         "encoding": {"x": number("low", "tokens/s of one conversation"), "x2": {"field": "high"},
                      "color": {"field": "mine", "type": "nominal", "legend": None,
                                "scale": {"domain": ["yes", "no"], "range": [BLUE, "#5C6670"]}}}},
        {"transform": [{"filter": "isValid(datum.ceiling)"}],
         "mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11, "color": INK},
         "encoding": {"x": number("ceiling", "tokens/s of one conversation"), "text": {"field": "shown", "type": "nominal"}}},
        {"transform": [{"filter": "!isValid(datum.ceiling)"}],
         "mark": {"type": "text", "align": "left", "fontSize": 12, "fontWeight": "bold", "color": INK},
         "encoding": {"x": {"value": 6}, "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip

# Rows: phase, part, ms.
PHASES: Final[Spec] = {
    "height": {"step": 42}, "config": CONFIG,
    "encoding": {"y": {"field": "phase", "type": "nominal", "title": None, "sort": None},
                 "yOffset": {"field": "part", "type": "nominal", "sort": None}},
    "layer": [
        {"mark": {"type": "bar"},
         "encoding": {"x": number("ms", "milliseconds at the ceiling"),
                      "color": {"field": "part", "type": "nominal", "title": None, "sort": None,
                                "scale": {"domain": ["arithmetic", "memory traffic"], "range": [ORANGE, BLUE]}},
                      "tooltip": [{"field": "phase", "title": "Phase"}, {"field": "part", "title": "Spent on"},
                                  {"field": "ms", "type": "quantitative", "title": "ms", "format": ",.4~g"}]}},
        {"mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 12, "color": INK},
         "encoding": {"x": number("ms", "milliseconds at the ceiling"), "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip


def band(x: str, x_title: str, y_title: str, *, base: int = 2, log_y: bool = False, ceiling: str = "ceiling",
         series: str | None = None) -> Spec:  # fmt: skip
    """A ceiling line with the expected band below it, against a doubling axis.

    Rows: `x`, ceiling (or floor), low, mid, high, now (1 on the scenario's own row), and `series` where there are several,
    told apart by colour and by the shape of their points.
    """
    color: Spec = {"value": BLUE}
    shape: Spec = {"value": "circle"}
    if series:
        named = {"field": series, "type": "nominal", "title": None, "sort": None, "legend": {"symbolOpacity": 1}}
        color, shape = {**named, "scale": {"range": [BLUE, GREEN]}}, {**named, "scale": {"range": ["circle", "square"]}}
    tips = tooltips(**{x: x_title, ceiling: ceiling.capitalize(), "low": "Expected from", "mid": "Expected", "high": "Expected to"})
    if series:
        tips = [*tooltips(**{series: "Case"}), *tips]
    return {
        "height": 300, "config": CONFIG,
        "encoding": {"x": number(x, x_title, log=True, base=base, axis={"values": [2**n for n in range(24)]})},
        "layer": [
            {"mark": {"type": "area", "opacity": 0.22},
             "encoding": {"y": number("low", y_title, log=log_y), "y2": {"field": "high"}, "color": color}},
            {"mark": {"type": "line", "strokeWidth": 1.5, "strokeDash": [5, 3]},
             "encoding": {"y": number("mid", y_title, log=log_y), "color": color}},
            {"mark": {"type": "line", "strokeWidth": 2.5},
             "encoding": {"y": number(ceiling, y_title, log=log_y), "color": color}},
            {"mark": {"type": "point", "size": 34, "filled": True, "opacity": 1},
             "encoding": {"y": number(ceiling, y_title, log=log_y), "color": color, "shape": shape, "tooltip": tips}},
            {"transform": [{"filter": "datum.now == 1"}], "mark": {"type": "rule", "color": "black", "strokeDash": [2, 3]},
             "encoding": {}},
        ],
    }  # fmt: skip


CONTEXT: Final = band("tokens", "tokens of context", "tokens/s of one conversation")
PROMPT: Final = band("tokens", "prompt tokens", "seconds to the first token", log_y=True, ceiling="floor", series="prefix")
TOTAL: Final = band("batch", "conversations at once in one copy", "tokens/s of all together")
EACH: Final = band("batch", "conversations at once in one copy", "tokens/s of each")

_SERIES: Final[Spec] = {"field": "series", "type": "nominal", "title": None, "sort": None}
_BITS_X: Final = "tokens/s of one conversation"

# Rows: label (device), series, low, high, ceiling, rank, flag (said where a device has no ceiling).
BITS: Final[Spec] = {
    "height": {"step": 42, "for": "position"}, "config": CONFIG,
    "encoding": {"y": {"field": "label", "type": "nominal", "title": None, "sort": {"field": "rank", "op": "min", "order": "ascending"}}},
    "layer": [
        {"transform": [{"filter": "isValid(datum.ceiling)"}],
         "mark": {"type": "rule", "strokeWidth": 6},
         "encoding": {"x": number("low", _BITS_X), "x2": {"field": "high"}, "yOffset": _SERIES,
                      "color": {**_SERIES, "scale": {"range": [BLUE, ORANGE, RED]}},
                      "tooltip": tooltips(label="Device", series="Weights", low="Expected from", high="Expected to")}},
        {"transform": [{"filter": "isValid(datum.ceiling)"}],
         "mark": {"type": "point", "size": 70, "filled": True, "opacity": 1},
         "encoding": {
             "x": number("ceiling", _BITS_X), "yOffset": _SERIES,
             "color": {**_SERIES, "scale": {"range": [BLUE, ORANGE, RED]}},
             "shape": {**_SERIES, "scale": {"range": ["circle", "square", "triangle-up"]}},
             "tooltip": tooltips(label="Device", series="Weights", low="Expected from", high="Expected to",
                                 ceiling="Ceiling tokens/s")}},
        {"transform": [{"filter": "!isValid(datum.ceiling)"}],
         "mark": {"type": "text", "align": "left", "fontSize": 12, "color": INK},
         "encoding": {"x": {"value": 6}, "text": {"field": "flag", "type": "nominal"}}},
    ],
}  # fmt: skip
