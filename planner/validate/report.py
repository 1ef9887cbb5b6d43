"""Rows of measurements -> predictions and error summary."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from planner.errors import PlannerError
from planner.validate.case import read_case
from planner.validate.cells import SkippedRow, text
from planner.validate.memory import predict_memory
from planner.validate.names import group_of
from planner.validate.predict import predict

DATA: Final = Path(__file__).resolve().parents[2] / "data"
MEASUREMENTS: Final = DATA / "measurements"
CONFIGS: Final = DATA / "measurement_configs"
# More rows than any published table has; a larger file is refused before work starts.
MOST_ROWS: Final = 200_000


def published(names: Iterable[str] = ("decode_single", "prefill", "batch_throughput", "serving_latency", "memory_log")
              ) -> list[dict[str, str]]:  # fmt: skip
    """Rows of the published measurements that come with the planner, by file name without its ending."""
    rows: list[dict[str, str]] = []
    for name in names:
        with (MEASUREMENTS / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            rows += list(csv.DictReader(file))
    return rows


def read_rows(content: str) -> list[dict[str, Any]]:
    """Rows of a CSV text; blank lines before its header are skipped. Raises PlannerError for what is no such table."""
    try:
        reader = csv.DictReader(io.StringIO(content.lstrip("\r\n \t"), newline=""))
        _check_columns(reader.fieldnames or ())
        return list(reader)
    except csv.Error as error:
        raise PlannerError(f"The file cannot be read as CSV ({error}). Save it again as CSV with a header.") from None


def _check_columns(names: Iterable[Any]) -> None:
    if not {"kind", "metric", "value"} <= set(names):
        raise PlannerError(
            "The file has no columns kind, metric and value: expected those of data/measurements. Rename its columns."
        )


def validate(rows: Iterable[Mapping[str, Any]], configs_dir: str | Path = CONFIGS) -> dict[str, Any]:
    """Each row with what the planner predicts, or the reason why it cannot; and the errors per kind and engine.

    rows         mappings with the columns of `data/measurements`
    configs_dir  folder in which a row's `config` is looked up

    Returns `rows` (id, kind, metric, predicted_low, predicted, predicted_high, ceiling, measured, error or skipped) and
    `summary` (per kind and engine, see `group_of`). Raises PlannerError for rows without such columns, or no folder.
    """
    given = list(rows)
    if len(given) > MOST_ROWS:
        raise PlannerError(f"{len(given)} rows are more than the {MOST_ROWS} that are checked at once. Split the file.")
    if given:
        _check_columns(given[0])
    configs = Path(configs_dir)
    if not str(configs_dir) or "\0" in str(configs_dir) or not configs.is_dir():
        raise PlannerError(f"The folder of configs {str(configs_dir)!r} does not exist. Check the path.")
    results = [_checked(row, configs) for row in given]
    return {"rows": results, "summary": _summary(given, results)}


def _checked(row: Mapping[str, Any], configs: Path) -> dict[str, Any]:
    base = {"id": text(row, "id"), "kind": text(row, "kind"), "metric": text(row, "metric")}
    try:
        if base["kind"] == "memory_log":
            return base | predict_memory(row, configs)
        case = read_case(row, configs)
        found = predict(case)
    except SkippedRow as reason:
        return base | {"skipped": str(reason)}
    except PlannerError as error:
        return base | {"skipped": f"cannot be predicted: {error}"}
    measured = case.measured * case.scale
    return base | {
        "predicted_low": found.low, "predicted": found.mid, "predicted_high": found.high, "ceiling": found.ceiling,
        "measured": measured, "error": found.mid / measured - 1,
    }  # fmt: skip


def _summary(rows: list[Mapping[str, Any]], results: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[tuple[dict[str, Any], bool]]] = {}
    spelled: dict[str, str] = {}
    for row, result in zip(rows, results, strict=True):
        faster_is_less = text(row, "unit").lower() in ("ms", "s", "us")
        engine = group_of(text(row, "engine"))
        engine = spelled.setdefault(engine.casefold(), engine)
        groups.setdefault((result["kind"], engine), []).append((result, faster_is_less))
    return [{"kind": kind, "engine": engine, **_figures(found)} for (kind, engine), found in sorted(groups.items())]


def _figures(found: list[tuple[dict[str, Any], bool]]) -> dict[str, Any]:
    done = [(r, less) for r, less in found if "skipped" not in r]
    errors = np.array([r["error"] for r, _ in done], float)
    banded = [r for r, _ in done if r["predicted_low"] is not None]
    bounded = [(r, less) for r, less in done if r["ceiling"] is not None]
    size = np.abs(errors)
    return {
        "n": len(done), "skipped": len(found) - len(done),
        "median_abs_error": float(np.median(size)) if len(done) else None,
        "mean_abs_error": float(np.mean(size)) if len(done) else None,
        "p90_abs_error": float(np.quantile(size, 0.9)) if len(done) else None,
        "bias": float(np.median(errors)) if len(done) else None,
        "inside_band": (sum(r["predicted_low"] <= r["measured"] <= r["predicted_high"] for r in banded) / len(banded)
                        if banded else None),
        "above_ceiling": sum((r["measured"] < r["ceiling"]) if less else (r["measured"] > r["ceiling"])
                             for r, less in bounded),
    }  # fmt: skip
