"""Vega-Lite specifications, built once at import; pages hand them rows.

Colours are Okabe and Ito's, which colour-blind readers can tell apart; a second cue (shape, dash, text, order) always
goes with them. Charts carry no selections: those would be neither in links nor in tests.
"""

from __future__ import annotations

from typing import Any, Final

BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY, INK = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999", "#1F2933",
)  # fmt: skip

Spec = dict[str, Any]

_CONFIG: Final[Spec] = {
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 260, "grid": True, "gridColor": "#E4E9EE",
             "titleColor": INK, "labelColor": INK},
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "orient": "top", "labelLimit": 260,
               "columns": {"expr": "width < 300 ? 1 : 3"},  # on a phone one below the other, else they are cut
               "labelColor": INK, "titleColor": INK},
    "view": {"stroke": None},
}  # fmt: skip


def _q(field: str, title: str, *, log: bool = False, base: int = 10, **more: Any) -> Spec:
    scale: Spec = {"type": "log", "base": base, "nice": False} if log else {}
    out: Spec = {"field": field, "type": "quantitative", "title": title, **more}
    return out | ({"scale": {**scale, **more.get("scale", {})}} if scale or "scale" in more else {})


def _tips(**fields: str) -> list[Spec]:
    """Tooltips: field=title, numbers with four significant digits."""
    return [
        {"field": f, "title": t, **({} if f in ("label", "part", "bound", "series", "fits", "prefix") else
                                    {"type": "quantitative", "format": ",.4~g"})}
        for f, t in fields.items()
    ]  # fmt: skip


PARTS: Final = {
    "weights": ("Weights", BLUE), "conversations asked for": ("Conversations asked for", ORANGE),
    "room for more": ("Room for more", "#F6DFA4"), "engine": ("The engine's own needs", PINK),
    "left alone": ("Left alone by the engine", "#D5DADF"),
}  # fmt: skip

# Rows: label, part, gib, order, usable, fits, rank.
BUDGET: Final[Spec] = {
    "height": {"step": 26}, "config": _CONFIG,
    "encoding": {"y": {"field": "label", "type": "nominal", "title": None, "sort": {"field": "rank", "op": "min", "order": "ascending"}}},
    "layer": [
        {"mark": {"type": "bar", "stroke": "white", "strokeWidth": 0.5},
         "encoding": {
             "x": _q("gib", "GiB on each device", stack="zero"),
             "color": {"field": "part", "type": "nominal", "title": None,
                       "scale": {"domain": [n for n, _ in PARTS.values()], "range": [c for _, c in PARTS.values()]}},
             "order": {"field": "order", "type": "quantitative"},
             "opacity": {"condition": {"test": "datum.fits == 'cannot load' || datum.fits == 'cannot hold one request'",
                                       "value": 0.4}, "value": 1},
             "tooltip": _tips(label="Device", part="Part", gib="GiB", usable="Usable GiB", fits="Verdict")}},
        {"mark": {"type": "tick", "color": "black", "thickness": 3, "size": 22},
         "encoding": {"x": _q("usable", "GiB on each device"), "tooltip": _tips(label="Device", usable="Usable GiB")}},
        {"transform": [{"filter": "datum.order == 0 && datum.fits != 'fits'"}],
         "mark": {"type": "text", "align": "left", "dx": 6, "color": INK, "fontSize": 12},
         "encoding": {"x": _q("end", "GiB on each device"), "text": {"field": "flag", "type": "nominal"}}},
    ],
}  # fmt: skip

# Rows: tokens, series, gib, limit.
GROWTH: Final[Spec] = {
    "height": 300, "config": _CONFIG,
    "layer": [
        {"mark": {"type": "line", "strokeWidth": 2.5, "clip": True, "point": {"size": 35}},
         "encoding": {
             "x": _q("tokens", "tokens in each conversation", log=True, base=2),
             "y": _q("gib", "GiB on each device"),
             "color": {"field": "series", "type": "nominal", "title": None, "sort": None,
                       "scale": {"range": [GREEN, BLUE, RED]}},
             "strokeDash": {"field": "series", "type": "nominal", "title": None, "sort": None},
             "tooltip": _tips(series="Conversations", tokens="Tokens each", gib="GiB")}},
        {"transform": [{"aggregate": [{"op": "max", "field": "limit", "as": "limit"}]}],
         "mark": {"type": "rule", "color": "black", "strokeWidth": 2.5},
         "encoding": {"y": _q("limit", "GiB on each device")}},
        {"transform": [{"aggregate": [{"op": "max", "field": "limit", "as": "limit"}, {"op": "min", "field": "tokens", "as": "tokens"}]}],
         "mark": {"type": "text", "align": "left", "dy": -8, "dx": 4, "fontSize": 12, "color": INK},
         "encoding": {"x": _q("tokens", "tokens in each conversation", log=True, base=2), "y": _q("limit", "GiB on each device"),
                      "text": {"value": "all the engine may take"}}},
    ],
}  # fmt: skip

# Rows: label, ceiling, low, high, mine ("yes", "no"), rank.
RANKED: Final[Spec] = {
    "height": {"step": 19}, "config": _CONFIG, "resolve": {"scale": {"color": "independent"}},
    "encoding": {"y": {"field": "label", "type": "nominal", "title": None, "sort": {"field": "rank", "op": "min", "order": "ascending"}}},
    "layer": [
        {"mark": {"type": "bar", "height": {"band": 0.75}},
         "encoding": {
             "x": _q("ceiling", "tokens/s of one conversation"),
             "color": {"field": "mine", "type": "nominal", "legend": None, "scale": {"domain": ["yes", "no"], "range": [SKY, "#D5DADF"]}},
             "tooltip": _tips(label="Device", ceiling="Ceiling tokens/s", low="Expected from", high="Expected to")}},
        {"mark": {"type": "rule", "strokeWidth": 5},
         "encoding": {"x": _q("low", "tokens/s of one conversation"), "x2": {"field": "high"},
                      "color": {"field": "mine", "type": "nominal", "legend": None,
                                "scale": {"domain": ["yes", "no"], "range": [BLUE, "#5C6670"]}}}},
        {"mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 11, "color": INK},
         "encoding": {"x": _q("ceiling", "tokens/s of one conversation"), "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip

# Rows: phase, part, ms.
PHASES: Final[Spec] = {
    "height": {"step": 42}, "config": _CONFIG,
    "encoding": {"y": {"field": "phase", "type": "nominal", "title": None, "sort": None},
                 "yOffset": {"field": "part", "type": "nominal", "sort": None}},
    "layer": [
        {"mark": {"type": "bar"},
         "encoding": {"x": _q("ms", "milliseconds at the ceiling"),
                      "color": {"field": "part", "type": "nominal", "title": None, "sort": None,
                                "scale": {"domain": ["arithmetic", "memory traffic"], "range": [ORANGE, BLUE]}},
                      "tooltip": [{"field": "phase", "title": "Phase"}, {"field": "part", "title": "Spent on"},
                                  {"field": "ms", "type": "quantitative", "title": "ms", "format": ",.4~g"}]}},
        {"mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 12, "color": INK},
         "encoding": {"x": _q("ms", "milliseconds at the ceiling"), "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip


def band(x: str, x_title: str, y_title: str, *, base: int = 2, log_y: bool = False, ceiling: str = "ceiling",
         series: str | None = None) -> Spec:  # fmt: skip
    """A ceiling line with the expected band below it, against a doubling axis.

    Rows: `x`, ceiling (or floor), low, mid, high, now (1 on the scenario's own row), and `series` where there are several.
    A series whose rows have no band is a line only.
    """
    color: Spec = {"value": BLUE}
    dash: Spec = {"value": [1, 0]}
    if series:
        color = {"field": series, "type": "nominal", "title": None, "sort": None, "scale": {"range": [BLUE, GREEN]}}
        dash = {"field": series, "type": "nominal", "title": None, "sort": None}
    tips = _tips(**{x: x_title, ceiling: ceiling.capitalize(), "low": "Expected from", "mid": "Expected", "high": "Expected to"})
    if series:
        tips = [*_tips(**{series: "Case"}), *tips]
    return {
        "height": 300, "config": _CONFIG,
        "encoding": {"x": _q(x, x_title, log=True, base=base, axis={"values": [2**n for n in range(24)]})},
        "layer": [
            {"transform": [{"filter": "isValid(datum.low)"}], "mark": {"type": "area", "opacity": 0.22},
             "encoding": {"y": _q("low", y_title, log=log_y), "y2": {"field": "high"}, "color": color}},
            {"transform": [{"filter": "isValid(datum.mid)"}],
             "mark": {"type": "line", "strokeWidth": 1.5, "strokeDash": [5, 3]},
             "encoding": {"y": _q("mid", y_title, log=log_y), "color": color}},
            {"mark": {"type": "line", "strokeWidth": 2.5, "point": {"size": 30}},
             "encoding": {"y": _q(ceiling, y_title, log=log_y), "color": color, "strokeDash": dash, "tooltip": tips}},
            {"transform": [{"filter": "datum.now == 1"}], "mark": {"type": "rule", "color": "black", "strokeDash": [2, 3]},
             "encoding": {}},
        ],
    }  # fmt: skip


CONTEXT: Final = band("tokens", "tokens of context", "tokens/s of one conversation")
PROMPT: Final = band("tokens", "prompt tokens", "seconds to the first token", log_y=True, ceiling="floor", series="prefix")
TOTAL: Final = band("batch", "conversations at once in one copy", "tokens/s of all together")
EACH: Final = band("batch", "conversations at once in one copy", "tokens/s of each")

# Rows: label (device), series, ceiling, rank, flag (said where a device has no ceiling).
BITS: Final[Spec] = {
    "height": {"step": 26}, "config": _CONFIG,
    "encoding": {"y": {"field": "label", "type": "nominal", "title": None, "sort": {"field": "rank", "op": "min", "order": "ascending"}}},
    "layer": [
        {"transform": [{"aggregate": [{"op": "min", "field": "ceiling", "as": "from"}, {"op": "max", "field": "ceiling", "as": "to"}],
                        "groupby": ["label", "rank"]}],
         "mark": {"type": "rule", "color": "#B8C0C8", "strokeWidth": 2},
         "encoding": {"x": _q("from", "tokens/s of one conversation, at most"), "x2": {"field": "to"}}},
        {"transform": [{"filter": "isValid(datum.ceiling)"}],
         "mark": {"type": "point", "size": 110, "filled": True, "opacity": 1, "strokeWidth": 2},
         "encoding": {
             "x": _q("ceiling", "tokens/s of one conversation, at most"),
             "color": {"field": "series", "type": "nominal", "title": None, "sort": None, "scale": {"range": [BLUE, ORANGE, RED]}},
             "shape": {"field": "series", "type": "nominal", "title": None, "sort": None,
                       "scale": {"range": ["circle", "square", "triangle-up"]}},
             "tooltip": _tips(label="Device", series="Weights", ceiling="Ceiling tokens/s")}},
        {"transform": [{"filter": "!isValid(datum.ceiling)"}],
         "mark": {"type": "text", "align": "left", "fontSize": 12, "color": INK},
         "encoding": {"x": {"value": 6}, "text": {"field": "flag", "type": "nominal"}}},
    ],
}  # fmt: skip

STATES: Final = ["now", "now, some wait", "now, past capacity"]

# Rows: rate, in_flight, holds; one row with now = 1.
ARRIVALS: Final[Spec] = {
    "height": 300, "config": _CONFIG,
    "encoding": {"x": _q("rate", "requests per second")},
    "layer": [
        {"mark": {"type": "area", "opacity": 0.18, "color": GREEN}, "transform": [{"filter": "datum.now == 0"}],
         "encoding": {"y": _q("holds", "requests in flight")}},
        {"mark": {"type": "line", "strokeWidth": 2.5, "color": BLUE}, "transform": [{"filter": "datum.now == 0"}],
         "encoding": {"y": _q("in_flight", "requests in flight"),
                      "tooltip": _tips(rate="Requests/s", in_flight="In flight", stay="Seconds each stays")}},
        {"mark": {"type": "rule", "color": RED, "strokeWidth": 2, "strokeDash": [6, 3]},
         "transform": [{"aggregate": [{"op": "max", "field": "capacity", "as": "rate"}]}], "encoding": {}},
        {"mark": {"type": "point", "size": 160, "filled": True, "opacity": 1}, "transform": [{"filter": "datum.now == 1"}],
         "encoding": {"y": _q("in_flight", "requests in flight"),
                      "color": {"field": "state", "type": "nominal", "title": None,
                                "scale": {"domain": STATES, "range": [INK, ORANGE, RED]}},
                      "shape": {"field": "state", "type": "nominal", "title": None,
                                "scale": {"domain": STATES, "range": ["circle", "triangle-up", "cross"]}}}},
    ],
}  # fmt: skip

# Rows: part, params, order.
PARAMETERS: Final[Spec] = {
    "height": {"step": 24}, "config": _CONFIG,
    "encoding": {"y": {"field": "part", "type": "nominal", "title": None, "sort": None}},
    "layer": [
        {"mark": {"type": "bar", "color": BLUE},
         "encoding": {"x": _q("billions", "billions of parameters"),
                      "tooltip": [{"field": "part", "title": "Part"},
                                  {"field": "params", "type": "quantitative", "title": "Parameters", "format": ","}]}},
        {"mark": {"type": "text", "align": "left", "dx": 4, "fontSize": 12, "color": INK},
         "encoding": {"x": _q("billions", "billions of parameters"), "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip

_X, _Y = "memory bandwidth, GB/s (decode)", "16-bit TFLOP/s (prefill)"


def _named(place: str, align: str, test: str) -> list[Spec]:
    """The name of a marked device, with a white edge so that marks below it do not blur it.

    Devices lie along the diagonal: a name fits best above it to the left, or below it to the right.
    """
    text = {"type": "text", "align": align, "dx": -9 if align == "right" else 9, "dy": -11 if place == "above" else 13,
            "fontSize": 12, "fontWeight": "bold"}  # fmt: skip
    return [
        {"transform": [{"filter": f"datum.place == '{place}' && {test}"}], "mark": {**text, **colours},
         "encoding": {"x": _q("bandwidth_gb_s", _X, log=True), "y": _q("tflops", _Y, log=True),
                      "text": {"field": "label", "type": "nominal"}}}
        for colours in ({"stroke": "white", "strokeWidth": 5, "color": "white"}, {"color": INK})
    ]  # fmt: skip


# Two short entries side by side: room for them is there on a phone too.
_FITS: Final[Spec] = {"field": "fits", "type": "nominal", "title": None, "legend": {"columns": 2}}

# Rows: label, bandwidth_gb_s, tflops, fits, place ("above" or "below" for the two that are compared).
MAP: Final[Spec] = {
    "height": 340, "config": _CONFIG,
    "layer": [
        {"mark": {"type": "point", "filled": True, "size": 80, "opacity": 0.9},
         "encoding": {
             "x": _q("bandwidth_gb_s", _X, log=True), "y": _q("tflops", _Y, log=True),
             "color": {**_FITS, "scale": {"domain": ["fits", "does not fit"], "range": [BLUE, "#B8C0C8"]}},
             "shape": {**_FITS, "scale": {"domain": ["fits", "does not fit"], "range": ["circle", "cross"]}},
             "tooltip": _tips(label="Device", bandwidth_gb_s="GB/s", tflops="TFLOP/s", fits="Verdict")}},
        {"transform": [{"filter": "datum.place != ''"}],
         "mark": {"type": "point", "size": 190, "stroke": INK, "strokeWidth": 2, "opacity": 1},
         "encoding": {"x": _q("bandwidth_gb_s", _X, log=True), "y": _q("tflops", _Y, log=True)}},
        *_named("above", "right", "datum.bandwidth_gb_s > 500"), *_named("above", "left", "datum.bandwidth_gb_s <= 500"),
        *_named("below", "left", "datum.bandwidth_gb_s < 2500"), *_named("below", "right", "datum.bandwidth_gb_s >= 2500"),
    ],
}  # fmt: skip

def evidence(x: str, x_title: str, y_title: str) -> Spec:
    """Measured against a bound (or a prediction) on log axes, the diagonal, and each row's expected band as a pale bar.

    Rows: `x`, measured, low, high, series, label, predicted, ceiling.
    """
    return {
        "height": 430, "config": _CONFIG,
        "encoding": {"x": _q(x, x_title, log=True)},
        "layer": [
            {"transform": [{"filter": "isValid(datum.low)"}],
             "mark": {"type": "rule", "opacity": 0.12, "color": GREY, "strokeWidth": 3},
             "encoding": {"y": _q("low", y_title, log=True), "y2": {"field": "high"}}},
            {"mark": {"type": "point", "opacity": 0.75, "size": 32, "filled": True},
             "encoding": {
                 "y": _q("measured", y_title, log=True),
                 "color": {"field": "series", "type": "nominal", "title": None,
                           "scale": {"range": [BLUE, ORANGE, GREEN, RED, PINK, INK, SKY, GREY]}},
                 "shape": {"field": "series", "type": "nominal", "title": None},
                 "tooltip": [{"field": "label", "title": "Row"}, *_tips(measured="Measured", predicted="Expected", low="Band from",
                                                                       high="Band to", ceiling="Bound")]}},
            {"transform": [{"aggregate": [{"op": "min", "field": x, "as": "a"}, {"op": "max", "field": x, "as": "b"}]},
                           {"fold": ["a", "b"], "as": ["end", "at"]}],
             "mark": {"type": "line", "color": INK, "strokeWidth": 2},
             "encoding": {"x": _q("at", x_title, log=True), "y": _q("at", y_title, log=True)}},
        ],
    }  # fmt: skip


EVIDENCE: Final = {
    "rate": evidence("ceiling", "ceiling, tokens/s", "measured, tokens/s"),
    "time": evidence("ceiling", "floor, milliseconds", "measured, milliseconds"),
    "memory": evidence("predicted", "predicted, GiB or tokens", "logged, GiB or tokens"),
}

# Rows: figure, low, mid, high, limit, share (all % of the limit), bound, shown, state.
SHARES: Final[Spec] = {
    "height": {"step": 74}, "config": _CONFIG,
    "encoding": {"y": {"field": "figure", "type": "nominal", "title": None, "sort": None}},
    "layer": [
        {"mark": {"type": "bar", "height": 26, "color": SKY, "opacity": 0.55},
         "encoding": {"x": _q("low", "% of what the hardware can do"), "x2": {"field": "high"},
                      "tooltip": _tips(low="Usual from, %", mid="Usual, %", high="Usual to, %", share="Measured, %")}},
        {"mark": {"type": "tick", "size": 26, "thickness": 2, "color": BLUE},
         "encoding": {"x": _q("mid", "% of what the hardware can do")}},
        {"mark": {"type": "tick", "size": 44, "thickness": 4, "color": "black"},
         "encoding": {"x": _q("limit", "% of what the hardware can do", scale={"domainMin": 0})}},
        {"mark": {"type": "text", "align": "right", "dx": -8, "dy": -27, "fontSize": 12, "color": INK},
         "encoding": {"x": _q("limit", "% of what the hardware can do"), "text": {"field": "bound", "type": "nominal"}}},
        {"transform": [{"filter": "isValid(datum.share)"}],
         "mark": {"type": "point", "filled": True, "size": 260, "opacity": 1, "stroke": "white", "strokeWidth": 1},
         "encoding": {
             "x": _q("share", "% of what the hardware can do"),
             "color": {"field": "state", "type": "nominal", "legend": None,
                       "scale": {"domain": ["measured", "measured, impossible"], "range": [INK, RED]}},
             "shape": {"field": "state", "type": "nominal", "legend": None,
                       "scale": {"domain": ["measured", "measured, impossible"], "range": ["diamond", "cross"]}}}},
        {"transform": [{"filter": "isValid(datum.share)"}],
         "mark": {"type": "text", "align": "left", "dx": -6, "dy": 27, "fontSize": 13, "fontWeight": "bold", "color": INK},
         "encoding": {"x": _q("share", "% of what the hardware can do"), "text": {"field": "shown", "type": "nominal"}}},
    ],
}  # fmt: skip
# Before anything was measured: a layer without marks has no text for those who cannot see it.
SHARES_USUAL: Final[Spec] = {**SHARES, "layer": SHARES["layer"][:4]}
