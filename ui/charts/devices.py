"""The map of devices: bandwidth against arithmetic."""

from __future__ import annotations

from typing import Final

from ui.charts.parts import BLUE, CONFIG, INK, ORANGE, Spec, number, tooltips

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


# Short entries: room for them is there on a phone too.
_FITS: Final[Spec] = {"field": "fits", "type": "nominal", "title": None, "legend": {"columns": 3}}


def _map(does: str, lacks: str) -> Spec:
    """The map; words of the two better verdicts, which depend on how the load is given."""
    words = [does, lacks, "does not fit or run"]
    return {
        "height": 340, "config": CONFIG,
        "layer": [
            {"mark": {"type": "point", "filled": True, "size": 80, "opacity": 0.9},
             "encoding": {
                 "x": number("bandwidth_gb_s", _X, log=True), "y": number("tflops", _Y, log=True),
                 "color": {**_FITS, "scale": {"domain": words, "range": [BLUE, ORANGE, "#B8C0C8"]}},
                 "shape": {**_FITS, "scale": {"domain": words, "range": ["circle", "triangle-up", "cross"]}},
                 "tooltip": tooltips(label="Device", bandwidth_gb_s="GB/s", tflops="TFLOP/s", fits="Verdict")}},
            {"transform": [{"filter": "datum.place != ''"}],
             "mark": {"type": "point", "size": 190, "stroke": INK, "strokeWidth": 2, "opacity": 1},
             "encoding": {"x": number("bandwidth_gb_s", _X, log=True), "y": number("tflops", _Y, log=True)}},
            *_named("above", "right", "datum.bandwidth_gb_s > 500"),
            *_named("above", "left", "datum.bandwidth_gb_s <= 500"),
            *_named("below", "left", "datum.bandwidth_gb_s < 2500"),
            *_named("below", "right", "datum.bandwidth_gb_s >= 2500"),
        ],
    }  # fmt: skip


# Rows: label, bandwidth_gb_s, tflops, fits, place ("above" or "below" for the two that are compared).
MAP: Final = _map("fits", "fits fewer")
MAP_OPEN: Final = _map("keeps up", "cannot keep up")
