"""The map of devices: bandwidth against arithmetic."""

from __future__ import annotations

from typing import Final

from ui.charts.parts import BLUE, CONFIG, INK, Spec, number, tooltips

_X, _Y = "memory bandwidth, GB/s (decode)", "16-bit TFLOP/s (prefill)"


def _named(place: str, align: str, test: str) -> list[Spec]:
    """The name of a marked device, with a white edge so that marks below it do not blur it.

    Devices lie along the diagonal: a name fits best above it to the left, or below it to the right.
    """
    text = {"type": "text", "align": align, "dx": -9 if align == "right" else 9, "dy": -11 if place == "above" else 13,
            "fontSize": 12, "fontWeight": "bold"}  # fmt: skip
    return [
        {"transform": [{"filter": f"datum.place == '{place}' && {test}"}], "mark": {**text, **colours},
         "encoding": {"x": number("bandwidth_gb_s", _X, log=True), "y": number("tflops", _Y, log=True),
                      "text": {"field": "label", "type": "nominal"}}}
        for colours in ({"stroke": "white", "strokeWidth": 5, "color": "white"}, {"color": INK})
    ]  # fmt: skip


# Two short entries side by side: room for them is there on a phone too.
_FITS: Final[Spec] = {"field": "fits", "type": "nominal", "title": None, "legend": {"columns": 2}}

# Rows: label, bandwidth_gb_s, tflops, fits, place ("above" or "below" for the two that are compared).
MAP: Final[Spec] = {
    "height": 340, "config": CONFIG,
    "layer": [
        {"mark": {"type": "point", "filled": True, "size": 80, "opacity": 0.9},
         "encoding": {
             "x": number("bandwidth_gb_s", _X, log=True), "y": number("tflops", _Y, log=True),
             "color": {**_FITS, "scale": {"domain": ["fits", "does not fit"], "range": [BLUE, "#B8C0C8"]}},
             "shape": {**_FITS, "scale": {"domain": ["fits", "does not fit"], "range": ["circle", "cross"]}},
             "tooltip": tooltips(label="Device", bandwidth_gb_s="GB/s", tflops="TFLOP/s", fits="Verdict")}},
        {"transform": [{"filter": "datum.place != ''"}],
         "mark": {"type": "point", "size": 190, "stroke": INK, "strokeWidth": 2, "opacity": 1},
         "encoding": {"x": number("bandwidth_gb_s", _X, log=True), "y": number("tflops", _Y, log=True)}},
        *_named("above", "right", "datum.bandwidth_gb_s > 500"), *_named("above", "left", "datum.bandwidth_gb_s <= 500"),
        *_named("below", "left", "datum.bandwidth_gb_s < 2500"), *_named("below", "right", "datum.bandwidth_gb_s >= 2500"),
    ],
}  # fmt: skip
