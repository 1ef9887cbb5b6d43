"""`data/efficiency.csv` from the fits: each parameter with its range over fits that leave one device out."""

from __future__ import annotations

import csv
import io
import re

import numpy as np

from planner.efficiency.expect import LEAST, WIDER
from planner.efficiency.table import FIELDS, LOCAL, SERVERS, Key, nearest
from tools.evidence.cases import Array, Features
from tools.evidence.fit import INDEX, NAMES
from tools.evidence.model import DECODE, Model, Models
from tools.evidence.model import predicted as predict

QUANTILES = (0.1, 0.9)
# With a single device the residuals are those of the fit itself, which other devices won't share: the band is then at
# least the spread that a device left out shows in the groups that have several (decode; prefill).
ALONE = {"decode_band": (0.78, 1.3), "prefill_band": (0.6, 1.7), "batch_band": (0.72, 1.38)}
# Mixtures of experts spread more: which experts a batch wakes and how kernels group them differs by engine and model.
ALONE_EXPERTS = (0.6, 1.7)
# Residuals of up to so many devices do not tell on which side of the fit the next one falls: the band reaches as far to
# either side as it does to the farther one. (Of two devices, each is as much faster than the fit to the other as that
# is slower.)
FEW = 3


def text_of(models: Models, predicted: Array) -> str:
    """The whole file; `predicted` are the seconds of each case from fits without its device."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(FIELDS)
    for key in sorted(models.whole.keys()):
        for row in _group(models, key, predicted):
            writer.writerow([*key, *row])
    return out.getvalue()


def _members(x: Features, key: Key) -> Array:
    cls, engine, mixture = key
    engines = x.engine != LOCAL if engine == SERVERS else x.engine == engine
    return np.asarray((x.group == cls) & engines & (x.mixture == (mixture == "experts")))


def _group(models: Models, key: Key, predicted: Array) -> list[list[str]]:
    x, model = models.x, models.whole
    member = _members(x, key)
    fits = [models.without(str(d)).fit(key).values for d in np.unique(x.device[member])]
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
            chosen &= x.newer
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
    least = ALONE_EXPERTS if x.mixture[chosen].any() else ALONE[phase]
    if not chosen.any():
        return least
    devices = len(np.unique(x.device[chosen]))
    several = devices > 1
    part = x.take(chosen)
    seconds = predicted[chosen] if several else predict(model, part)
    # A device with many rows counts more than one with a single row, but far less than in proportion, as in the fit.
    _, inverse, counts = np.unique(part.device, return_inverse=True, return_counts=True)
    low, high = np.exp(_quantiles(np.log(part.measured / seconds), counts[inverse] ** -0.7))
    if not several:
        return float(min(low, least[0])), float(max(high, least[1]))
    if devices <= FEW:
        high = max(high, 1 / low)
        low = 1 / high
    return float(min(low, 1.0)), float(max(high, 1.0))


def _quantiles(values: Array, weights: Array) -> Array:
    order = np.argsort(values)
    share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    return np.asarray(np.interp(QUANTILES, share, values[order]))


def inside(x: Features, predicted: Array) -> Array:
    """Whether each measured time lies in the band that the residuals of all other devices give.

    predicted  seconds of each case from fits in which its own device has no part
    """
    out = np.zeros(len(x), bool)
    for device in np.unique(x.device):
        model = Model(x, str(device))
        others = x.device != device
        for i in np.flatnonzero(~others):
            low, high = _other_band(model, x, others, predicted, int(i))
            out[i] = low <= x.measured[i] / predicted[i] <= high
    return out


def _other_band(model: Model, x: Features, others: Array, predicted: Array, i: int) -> tuple[float, float]:
    key, away = nearest(model.keys(), str(x.group[i]), str(x.engine[i]), bool(x.mixture[i]))
    quantity = str(x.quantity[i])
    phase = {"prefill_rate": "prefill_band", "batch_rate": "batch_band"}.get(quantity, "decode_band")
    which = DECODE if phase == "decode_band" else (quantity,)
    members = others & _members(x, key)
    low, high = _band(phase, x, members & np.isin(x.quantity, which), predicted, model)
    known = x.storage[i] in x.storage[members & np.isin(x.quantity, DECODE)]
    power = WIDER ** (away + (not known))
    return min(low, 1 / LEAST) ** power, max(high, LEAST) ** power


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

