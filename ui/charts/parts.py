"""What all charts share: colours, fonts, axes and tooltips.

Colours are Okabe and Ito's, which colour-blind readers can tell apart; a second cue (shape, dash, text, order) always
goes with them.
"""

from __future__ import annotations

from typing import Any, Final

BLUE, ORANGE, GREEN, RED, SKY, PINK, GREY, INK = (
    "#0072B2", "#E69F00", "#009E73", "#D55E00", "#56B4E9", "#CC79A7", "#999999", "#1F2933",
)  # fmt: skip

Spec = dict[str, Any]

CONFIG: Final[Spec] = {
    "axis": {"labelFontSize": 12, "titleFontSize": 12, "labelLimit": 260, "grid": True, "gridColor": "#E4E9EE",
             "titleColor": INK, "labelColor": INK},
    "axisQuantitative": {"labelSeparation": 10},  # else long numbers run together
    "legend": {"labelFontSize": 12, "titleFontSize": 12, "orient": "top", "labelLimit": 260,
               "columns": {"expr": "width < 300 ? 1 : 3"},  # on a phone one below the other, else they are cut
               "labelColor": INK, "titleColor": INK},
    "view": {"stroke": None},
}  # fmt: skip


def number(field: str, title: str, *, log: bool = False, base: int = 10, **more: Any) -> Spec:
    """An axis of numbers, linear or logarithmic."""
    scale: Spec = {"type": "log", "base": base, "nice": False} if log else {}
    out: Spec = {"field": field, "type": "quantitative", "title": title, **more}
    return out | ({"scale": {**scale, **more.get("scale", {})}} if scale or "scale" in more else {})


def tooltips(**fields: str) -> list[Spec]:
    """Tooltips: field=title, numbers with four significant digits."""
    return [
        {"field": f, "title": t, **({} if f in ("label", "part", "bound", "series", "fits", "prefix") else
                                    {"type": "quantitative", "format": ",.4~g"})}
        for f, t in fields.items()
    ]  # fmt: skip
