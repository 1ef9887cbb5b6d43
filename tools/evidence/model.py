"""The fit of every group, its hierarchy of priors, and prediction with one device left out."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from planner.efficiency.expect import MIXTURE_PREFILL
from planner.efficiency.table import LOCAL, SERVERS, Key, nearest
from tools.evidence.cases import Array, Features
from tools.evidence.fit import INDEX, NAMES, TYPES, Fit, fit, seconds

# Where the fit starts and what it stays near without rows. Shares of bandwidth and overheads per layer: medians of
# public llama.cpp tables (0.9; 100 us per layer in 2024, about half in newer builds; Apple 160 us); of serving engines:
# 2 ms a step and 20 us a layer (70B on H100 and H200). MFU 0.5. `unpack`: 70B Q4_K_M on Apple M1 and M2.
_START = {"memory": 0.88, "compute": 0.5, "unpack": 0.07, "layer_s": 1e-4, "step_s": 1e-5, "sequence_s": 1e-5,
          "reduce_s": 1e-5, "newer": 0.55}  # fmt: skip
_OTHER = {
    "apple": {"layer_s": 1.6e-4, "newer": 1.0},
    SERVERS: {"layer_s": 2e-5, "step_s": 2e-3, "newer": 1.0},
    # Medians of public llama.cpp tables: boxes with unified memory (decode 0.75 of the bandwidth over all, prefill 0.14
    # of the peak on Strix Halo and 0.32 on GB10) and Radeon cards (decode 0.62 over all, prefill 0.36), of more devices
    # than have rows here.
    "unified": {"memory": 0.85, "compute": 0.14},
    "nvidia_unified": {"memory": 0.85, "compute": 0.32},
    "radeon": {"memory": 0.8, "compute": 0.36, "layer_s": 1.2e-4, "newer": 0.75},
}

_MEMORY = tuple(n for n in NAMES if n.startswith("memory"))
_COMPUTE = tuple(n for n in NAMES if n.startswith("compute"))
_SERVER = (*_MEMORY, *_COMPUTE, "layer_s", "step_s", "sequence_s", "reduce_s")
# A storage type is fitted by itself from so many rows on.
ENOUGH = 3
# Classes whose start rests on more devices than have rows here.
_WELL_KNOWN = ("unified", "nvidia_unified", "radeon")
# Rows whose time is dominated by steps of decode, and by prefill; static batches of 2024 keep apart.
DECODE = ("decode_rate", "request_rate_out", "tpot")


def start(name: str) -> Array:
    """The prior of a class or pool before any row is seen."""
    chosen = {**_START, **_OTHER.get(name, {})}
    return np.array([chosen[n.split()[0]] for n in NAMES], float)


@dataclass
class Model:
    """Fits by group, filled on demand; `without` leaves one device out of every fit."""

    x: Features
    without: str | None = None
    fits: dict[Key, Fit] = field(default_factory=dict)
    known: set[Key] | None = None

    def rows(self, key: Key) -> Features:
        """The cases of a group (a pool takes all its engines)."""
        x, (cls, engine, mixture) = self.x, key
        engines = np.isin(x.engine, [LOCAL], invert=True) if engine == SERVERS else x.engine == engine
        chosen = (x.group == cls) & engines & (x.mixture == (mixture == "experts"))
        if self.without is not None:
            chosen &= x.device != self.without
        return x.take(chosen)

    def keys(self) -> set[Key]:
        """Groups with at least one case, pools included."""
        if self.known is None:
            self.known = self._keys()
        return self.known

    def _keys(self) -> set[Key]:
        found: set[Key] = set()
        x = self.x
        kept = np.ones(len(x), bool) if self.without is None else x.device != self.without
        for cls, engine, mixture in {*zip(x.group[kept], x.engine[kept], x.mixture[kept], strict=True)}:
            kind = "experts" if mixture else "dense"
            found.add((str(cls), str(engine), kind))
            if engine != LOCAL:
                found.add((str(cls), SERVERS, kind))
        return found

    def fit(self, key: Key) -> Fit:
        """The fit of a group; its prior is the pool's, the dense models' or the nearest class's."""
        if key not in self.fits:
            self.fits[key] = self._fit(key)
        return self.fits[key]

    def _prior(self, key: Key) -> tuple[Array, bool]:
        """Where the fit of a group starts and stays near, and whether that rests on more rows of its class."""
        cls, engine, mixture = key
        known = self.keys() - {key}
        if mixture == "experts":
            known -= {k for k in known if k[2] == "experts" and (engine == SERVERS or k[1] != SERVERS)}
            dense = nearest(known, cls, engine, False)[0] if (cls, SERVERS, "experts") not in known else None
            return as_mixture(self.fit(dense or (cls, SERVERS, "experts")).values, engine), engine != LOCAL
        if engine not in (SERVERS, LOCAL):
            return self.fit((cls, SERVERS, "dense")).values, True
        if cls in ("intel", "instinct", "cpu", "accelerator"):
            many = ("geforce", "workstation", "datacentre", "apple")
            trusted = {k for k in known if k[0] in many and k[2] == "dense"}
            if trusted:
                return self.fit(nearest(trusted, cls, engine, False)[0]).values, False
        known_well = engine == LOCAL and cls in _WELL_KNOWN
        return start(cls if cls in _OTHER and engine == LOCAL else engine), known_well

    def _fit(self, key: Key) -> Fit:
        cls, engine, _ = key
        x = self.rows(key)
        prior, fitted = self._prior(key)
        decode = x.take(np.isin(x.quantity, DECODE))
        prefill = x.take(x.quantity == "prefill_rate")
        local = (*_MEMORY, "layer_s", *(("newer",) if cls != "apple" else ()), *(("unpack",) if cls == "apple" else ()))
        found = fit(decode, prior, local if engine == LOCAL else _SERVER, fitted)
        values = _carry(found.values, prior, decode, "memory")
        both = prefill if engine == LOCAL else x.take(np.isin(x.quantity, (*DECODE, "prefill_rate")))
        if engine == LOCAL:
            values = fit(prefill, values, _COMPUTE, fitted).values
        values = _carry(values, prior, both, "compute")
        return Fit(values, len(x), len(np.unique(x.device)))


def as_mixture(dense: Array, engine: str) -> Array:
    """Parameters for mixtures of experts from those of dense models (or of mixtures, where engines have a pool)."""
    out = dense.copy()
    if engine == LOCAL:
        out[[INDEX[name] for name in _COMPUTE]] *= MIXTURE_PREFILL
    return out


def _carry(values: Array, prior: Array, x: Features, parameter: str) -> Array:
    """Storage types of no or next to no rows move with those that have more."""
    counts = np.array([(x.storage == t).sum() for t in TYPES])
    there = [i for i in range(len(TYPES)) if counts[i] >= min(ENOUGH, counts.max())]
    if not counts.any():
        return values
    index = np.array([INDEX[f"{parameter} {t}"] for t in TYPES])
    move = float(np.mean(np.log(values[index][there] / prior[index][there])))
    out = values.copy()
    for i in range(len(TYPES)):
        if i not in there:
            out[index[i]] = min(prior[index[i]] * np.exp(move), 1.0)
    return out


def predicted(model: Model, x: Features) -> Array:
    """Predicted seconds of each case by the nearest group of the model."""
    out = np.zeros(len(x))
    known = model.keys()
    for cls, engine, mixture in {*zip(x.group, x.engine, x.mixture, strict=True)}:
        chosen = (x.group == cls) & (x.engine == engine) & (x.mixture == mixture)
        key, _ = nearest(known, str(cls), str(engine), bool(mixture))
        values = model.fit(key).values
        if mixture and key[2] == "dense":
            values = as_mixture(values, key[1])
        out[chosen] = seconds(x.take(chosen), values)
    return out


class Models:
    """The model of all cases, and those without one device, each made once."""

    def __init__(self, x: Features) -> None:
        self.x = x
        self.whole = Model(x)
        self._without: dict[str, Model] = {}

    def without(self, device: str) -> Model:
        """The model that has no row of this device."""
        if device not in self._without:
            self._without[device] = Model(self.x, device)
        return self._without[device]


def left_out(x: Features, models: Models) -> Array:
    """Predicted seconds of each case from fits in which its own device has no part."""
    out = np.zeros(len(x))
    for device in np.unique(x.device):
        chosen = x.device == device
        out[chosen] = predicted(models.without(str(device)), x.take(chosen))
    return out
