"""`data/efficiency.csv` from the fits: each parameter with its range over fits that leave one device out."""

from __future__ import annotations

import csv
import io
import re

import numpy as np

from planner.efficiency.table import FIELDS, LOCAL, SERVERS, Key
from tools.evidence.cases import Array, Features
from tools.evidence.fit import INDEX, NAMES, NEWER
from tools.evidence.model import DECODE, Model
from tools.evidence.model import predicted as predict

QUANTILES = (0.1, 0.9)
# With a single device the residuals are those of the fit itself, which other devices won't share: the band is then at
# least the spread that a device left out shows in the groups that have several (decode; prefill).
ALONE = {"decode_band": (0.78, 1.3), "prefill_band": (0.6, 1.7), "batch_band": (0.6, 1.7)}


def text_of(model: Model, predicted: Array) -> str:
    """The whole file; `predicted` are the seconds of each case from fits without its device."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for key in sorted(model.keys()):
        for row in _group(model, key, predicted):
            writer.writerow([*key, *row])
    return out.getvalue()


def _members(x: Features, key: Key) -> Array:
    cls, engine, mixture = key
    engines = x.engine != LOCAL if engine == SERVERS else x.engine == engine
    return np.asarray((x.group == cls) & engines & (x.mixture == (mixture == "experts")))


def _group(model: Model, key: Key, predicted: Array) -> list[list[str]]:
    x = model.x
    member = _members(x, key)
    fits = [Model(x, str(d)).fit(key).values for d in np.unique(x.device[member])]
    values = model.fit(key).values
    decode, prefill = np.isin(x.quantity, DECODE), x.quantity == "prefill_rate"
    batch = x.quantity == "batch_rate"
    rows = []
    for name in NAMES:
        parameter, _, storage = name.partition(" ")
        chosen = member & ~prefill if parameter not in ("compute", "layer_s") else member.copy()
        if storage:
            chosen &= x.storage == storage
            chosen &= decode if parameter == "memory" else prefill | (decode & (x.engine != LOCAL))
        if parameter == "reduce_s":
            chosen &= x.tensor > 1
        if parameter == "newer":
            chosen &= x.year >= NEWER
        i = INDEX[name]
        spread = [f[i] for f in fits] if len(fits) > 1 and chosen.any() else []
        rows.append([parameter, storage, f"{values[i]:.4g}", *_range(spread), *_behind(x.take(chosen))])
    for phase, which in (("decode_band", decode), ("prefill_band", prefill), ("batch_band", batch)):
        chosen = member & which
        low, high = _band(phase, x, chosen, predicted, model)
        rows.append([phase, "", "1", f"{low:.4g}", f"{high:.4g}", *_behind(x.take(chosen))])
    return rows


def _band(phase: str, x: Features, chosen: Array, predicted: Array, model: Model) -> tuple[float, float]:
    """Factors on the predicted time that hold 80 % of the measured ones."""
    if not chosen.any():
        return ALONE[phase]
    several = len(np.unique(x.device[chosen])) > 1
    part = x.take(chosen)
    seconds = predicted[chosen] if several else predict(model, part)
    low, high = np.exp(np.quantile(np.log(part.measured / seconds), QUANTILES))
    if not several:
        low, high = min(low, ALONE[phase][0]), max(high, ALONE[phase][1])
    return float(min(low, 1.0)), float(max(high, 1.0))


def _range(spread: list[float]) -> list[str]:
    return [f"{min(spread):.4g}", f"{max(spread):.4g}"] if spread else ["", ""]


def _behind(x: Features) -> list[str]:
    years = sorted({int(y) for y in x.year})
    span = "" if not years else str(years[0]) if len(years) == 1 else f"{years[0]}-{years[-1] % 100}"
    return [str(len(x)), str(len(np.unique(x.device))) if len(x) else "0", span, runs([c.id for c in x.cases])]


def runs(ids: list[str]) -> str:
    """Row ids with consecutive ones drawn together, such as "D00001-D00047 D00050"."""
    pairs = sorted((m[1], int(m[2])) for i in ids if (m := re.fullmatch(r"([A-Z]+)(\d+)", i)))
    parts: list[list[tuple[str, int]]] = []
    for letter, n in pairs:
        if parts and parts[-1][-1][0] == letter and n - parts[-1][-1][1] <= 1:
            parts[-1].append((letter, n))
        else:
            parts.append([(letter, n)])
    return " ".join(f"{p[0][0]}{p[0][1]:05d}" + (f"-{p[-1][0]}{p[-1][1]:05d}" if len(p) > 1 else "") for p in parts)

