"""The published measurements beside what the planner predicts for them, as the evidence page shows them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pandas as pd

from planner.efficiency.classes import family
from planner.validate import published, validate
from planner.validate.names import engine_of, group_of

KINDS: Final = {
    "decode_single": "One conversation (tokens/s)",
    "prefill": "Prefill (tokens/s)",
    "batch_throughput": "Batches (tokens/s)",
    "serving_latency": "Serving, users at once (ms)",
    "memory_log": "Memory at start",
}

# The line of the table of devices left out that speaks of the rows of a file.
_LEFT_OUT: Final = {
    "decode_single": "decode of one sequence, every engine known here",
    "prefill": "prefill",
    "batch_throughput": "throughput of static batches",
    "serving_latency": "time per output token, closed loop, dense",
}

GUIDE: Final = Path(__file__).resolve().parent.parent / "docs" / "evidence.md"

# A prediction is called good up to this error of nine rows in ten. A judgement: a device's next larger sibling is often
# no more than that faster.
_GOOD: Final = 0.3

Row = dict[str, Any]


@lru_cache(maxsize=8)
def checked(kind: str) -> tuple[tuple[Row, ...], tuple[Row, ...]]:
    """(rows, summary) of one file of measurements: each row's own columns with its prediction beside them.

    Engines are spelled as in the summary.
    """
    given = published((kind,))
    found = validate(given)
    rows = tuple(
        {**row, **result, "engine": group_of(row["engine"])} for row, result in zip(given, found["rows"], strict=True)
    )
    return rows, tuple(found["summary"])


def choose(rows: Iterable[Row], engines: Iterable[str], devices: Iterable[str], models: Iterable[str]) -> list[Row]:
    """Rows of these engines, devices and models (none given: all)."""
    wanted = {"engine": set(engines), "device": set(devices), "model": set(models)}
    return [r for r in rows if all(not values or r[field] in values for field, values in wanted.items())]


@lru_cache(maxsize=8)
def drawn(kind: str) -> tuple[Row, ...]:
    """The rows of one file of measurements that have a prediction, the largest misses first."""
    return tuple(predicted(checked(kind)[0]))


def predicted(rows: Iterable[Row]) -> list[Row]:
    """Rows that have a prediction, as the chart and the table show them; the largest misses first."""
    out = [
        {
            "label": f"{r['id']}: {r['model']} on {r['device']}",
            "Row": r["id"],
            "model": r["model"],
            "device": r["device"],
            "Devices": r.get("n_devices"),
            "engine": r["engine"],
            "Weights": r["weight_dtype"],
            "Batch": r.get("batch"),
            "Metric": r["metric"],
            "Unit": r.get("unit"),
            "predicted": r["predicted"],
            "low": r["predicted_low"],
            "high": r["predicted_high"],
            "ceiling": r["ceiling"],
            "measured": r["measured"],
            "error": r["error"],
            "series": _family(r["engine"]),
            "Source": r["source"],
            "Suspect": r.get("suspect") or None,
        }
        for r in rows
        if r.get("predicted") is not None and r.get("measured")
    ]
    return sorted(out, key=lambda r: -abs(r["error"]))


def _family(engine: str) -> str:
    """The engine whatever its version and backend, for the colours of the chart."""
    known = engine_of(engine)
    return family(known) if known else engine


def by_engine(summary: Iterable[Row]) -> list[Row]:
    """The error summary per engine and backend, those with predictions first."""
    out = [
        {
            "Engine": s["engine"],
            "Median miss, %": _percent(s["median_abs_error"]),
            "Nine in ten within, %": _percent(s["p90_abs_error"]),
            "Inside the band, %": _percent(s["inside_band"]),
            "Bias, %": _percent(s["bias"]),
            "Rows predicted": s["n"],
            "Not predicted": s["skipped"],
            "Beyond ceiling or floor": s["above_ceiling"],
        }
        for s in summary
    ]
    return sorted(out, key=lambda r: -r["Rows predicted"])


def _percent(share: float | None) -> float | None:
    return None if share is None else 100 * share


def table(rows: Iterable[Row]) -> list[Row]:
    """Predicted rows for reading and download."""
    names = {
        "model": "Model", "device": "Device", "engine": "Engine", "predicted": "Expected", "low": "Band from",
        "high": "Band to", "ceiling": "Ceiling or floor", "measured": "Measured",
    }  # fmt: skip
    kept = ("measured", "predicted", "low", "high", "ceiling", "model", "device", "Devices", "engine", "Weights",
            "Batch", "Metric", "Unit")  # fmt: skip
    return [
        {
            "Row": r["Row"],
            "Miss, %": 100 * r["error"],
            **{names.get(k, k): r[k] for k in kept},
            "Suspect": r["Suspect"],
            "Source": r["Source"],
        }
        for r in rows
    ]


@lru_cache(maxsize=16)
def frames(
    kind: str, engines: tuple[str, ...], devices: tuple[str, ...], models: tuple[str, ...]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The chosen rows with a prediction: as drawn, and for reading and download. Not to be changed: they are kept."""
    found = choose(drawn(kind), engines, devices, models)
    return pd.DataFrame(found), pd.DataFrame(table(found))


def skipped(rows: Iterable[Row]) -> list[Row]:
    """How many rows have no prediction, by reason."""
    reasons: dict[str, int] = {}
    for r in rows:
        if r.get("skipped"):
            reasons[r["skipped"]] = reasons.get(r["skipped"], 0) + 1
    return [{"Why not predicted": reason, "Rows": n} for reason, n in sorted(reasons.items(), key=lambda i: -i[1])]


def left_out() -> list[Row]:
    """Errors with each device left out of the fit in turn: the table of docs/evidence.md, made by `make evidence`."""
    text = GUIDE.read_text(encoding="utf-8").split("### Each device left out of the fit in turn", 1)[1]
    lines = [line for line in text.split("###", 1)[0].splitlines() if line.startswith("|")]
    names = ("What", "Rows", "Median miss", "Mean miss", "Nine in ten within", "Median bias", "Inside the band")
    read = [dict(zip(names, (cell.strip() for cell in line.strip("|").split("|")), strict=True)) for line in lines[2:]]
    first = ("What", "Median miss", "Nine in ten within", "Inside the band", "Rows")
    return [{name: row[name] for name in (*first, *(n for n in names if n not in first))} for row in read]


def unmeasured(kind: str) -> Row | None:
    """Errors of rows of this kind, their device left out of the fit: n, median, p90, inside; None: nothing fitted."""
    found = next((row for row in left_out() if row["What"] == _LEFT_OUT.get(kind)), None)
    if found is None:
        return None
    figures = ("Median miss", "Nine in ten within", "Inside the band")
    median, p90, inside = (float(found[name].removesuffix("%")) / 100 for name in figures)
    dense = " of dense models" if kind == "serving_latency" else ""
    return {"n": int(found["Rows"]), "median": median, "p90": p90, "inside": inside, "of": dense}


def figures(rows: list[Row]) -> Row:
    """Error summary of predicted rows: n, median and p90 of |error|, share inside the band, above the ceiling."""
    import numpy as np

    sound = [r for r in rows if not r["Suspect"]]
    if not sound:
        return {"n": 0, "median": None, "p90": None, "inside": None, "suspect": len(rows)}
    errors = np.abs([r["error"] for r in sound])
    banded = [r for r in sound if r["low"] is not None]
    inside = [r["low"] <= r["measured"] <= r["high"] for r in banded]
    return {
        "n": len(sound),
        "median": float(np.median(errors)),
        "p90": float(np.quantile(errors, 0.9)),
        "inside": float(np.mean(inside)) if inside else None,
        "suspect": len(rows) - len(sound),
    }


def verdict(kind: str, rows: list[Row], shown: Row) -> tuple[str, str]:
    """The page's first sentence: the error on a device that had no part in the fit, then that of the rows as fitted."""
    if not shown["n"]:
        return "warn", "No published measurement with a known device and config matches this choice."
    inside = "" if shown["inside"] is None else f" {shown['inside']:.0%} lie inside the expected band."
    fitted = "" if shown["inside"] is None else f", {shown['inside']:.0%} inside"
    new, what = unmeasured(kind), KINDS[kind].split(" (")[0]
    within = f"{shown['median']:.0%}, nine in ten within {shown['p90']:.0%}"
    if new is None:
        tone = "good" if shown["p90"] <= _GOOD else "warn"
        return tone, f"{what}: half of {shown['n']:,} published figures are predicted within {within}.{inside}"
    return "good" if max(new["p90"], shown["p90"]) <= _GOOD else "warn", (
        f"{what}, on a device that had no part in the fit: half of {new['n']:,} published measurements{new['of']} are "
        f"predicted within {new['median']:.1%}, nine in ten within {new['p90']:.0%}, and {new['inside']:.0%} lie "
        "inside the expected band. With their own device in the fit, half of the "
        f"{shown['n']:,} rows shown within {within}"
        f"{fitted}."
    )
