"""AIPerf and its predecessor genai-perf: console table, CSV and JSON of the profile export.

Names and units: https://github.com/ai-dynamo/aiperf, docs/metrics_reference.md. Inter token latency is
(request latency - TTFT) / (output tokens - 1) of each request: TPOT in the sense of the other tools.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from typing import Any

from planner.measurements.documents import Pasted
from planner.measurements.measured import Loop, Measured, Stat
from planner.measurements.numbers import at, count, number, positive, ratio, text

_NAME = re.compile(r"^(.*?)\s*(?:\(([^()]*)\))?$")
_SECONDS = {"ms": 1e-3, "s": 1.0, "sec": 1.0, "us": 1e-6, "ns": 1e-9}
_STATISTICS = {"avg", "mean", "min", "max", "p50", "p90", "p99"}
_KNOWN = {"time_to_first_token", "inter_token_latency", "request_latency", "output_token_throughput"}
_Metrics = dict[str, tuple[str, Mapping[str, object]]]
"""Name in snake case -> (unit, statistic -> printed figure)."""


def read(pasted: Pasted) -> Measured | None:
    """The figures of one profile run, None where the text is from neither tool."""
    exports = [(records, item) for item in pasted.objects if (records := _records(item))]
    if exports:
        records, item = exports[-1]
        return _measured(_from_json(records), item)
    rows = _boxed(pasted.lines) or _comma(pasted.lines)
    metrics = _from_rows(rows)
    return _measured(metrics, {}) if len(_KNOWN & metrics.keys()) >= 2 else None


def _records(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """The mapping that holds the metrics: the export itself, or its `records` in early versions; else empty."""
    for level in (item, item.get("records")):
        if isinstance(level, Mapping) and sum(number(at(level, name, "avg")) is not None for name in _KNOWN) >= 2:
            return level
    return {}


def _from_json(item: Mapping[str, Any]) -> _Metrics:
    return {
        name: (text(entry.get("unit")) or "", entry)
        for name, entry in item.items()
        if isinstance(entry, Mapping) and "avg" in entry
    }


def _boxed(lines: Sequence[str]) -> list[list[str]]:
    """Cells of the boxed table; a line with a name alone continues the name of the line above, which wrapped."""
    rows: list[list[str]] = []
    for line in lines:
        if line.count("|") < 3:
            continue
        cells = [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]
        if rows and cells[0] and not any(cells[1:]):
            rows[-1][0] = f"{rows[-1][0]} {cells[0]}"
        else:
            rows.append(cells)
    return rows


def _comma(lines: Sequence[str]) -> list[list[str]]:
    if not any(line.strip().lower().startswith(("metric,avg", '"metric"')) for line in lines):
        return []
    try:
        return [[cell.strip() for cell in row] for row in csv.reader(line.strip() for line in lines)]
    except csv.Error:
        return []


def _from_rows(rows: Sequence[Sequence[str]]) -> _Metrics:
    """Rows under a header `Metric, avg, min, ...` or `Metric, Value`; names that wrap over lines are joined."""
    metrics: _Metrics = {}
    header: Sequence[str] = ()
    for row in rows:
        words = [cell.lower() for cell in row]
        if words and words[0] in ("metric", "statistic") and (_STATISTICS & set(words) or "value" in words):
            header = ["avg" if word in ("value", "mean") else word for word in words]
        elif header and len(row) > 1 and (match := _NAME.match(row[0][:120])):
            name = re.sub(r"[^a-z0-9]+", "_", match.group(1).lower()).strip("_")
            metrics.setdefault(name, (match.group(2) or "", dict(zip(header[1:], row[1:], strict=False))))
    return metrics


def _measured(metrics: _Metrics, item: Mapping[str, Any]) -> Measured:
    ttft, tpot, e2e = (
        _stat(metrics, name) for name in ("time_to_first_token", "inter_token_latency", "request_latency")
    )
    output = _average(metrics, "output_sequence_length")
    completed, failed = count(_average(metrics, "request_count")), count(_average(metrics, "error_request_count"))
    arguments = item.get("input_config")
    cap = positive(at(arguments, "loadgen", "concurrency") or at(arguments, "perf_analyzer", "stimulus", "concurrency"))
    rate = positive(at(arguments, "loadgen", "request_rate"))
    per_user = _average(metrics, "output_token_throughput_per_user")
    names = at(arguments, "endpoint", "model_names") or at(arguments, "model_names")
    notes = [
        "TTFT was taken by the client: network, tokenising and the queue are in it.",
        "Inter token latency is one mean a request over (tokens - 1), which is TPOT here; single gaps are not printed.",
    ]
    return Measured(
        tool="aiperf",
        label="AIPerf / genai-perf",
        kind="serving",
        version=text(item.get("aiperf_version")),
        model=text(names[0]) if isinstance(names, list) and names else None,
        prompt_tokens=_average(metrics, "input_sequence_length"),
        output_tokens=output if output is not None else _derived_tokens(ttft, tpot, e2e, notes),
        max_concurrency=cap,
        request_rate=rate,
        loop=_loop(rate, cap),
        sent=None if completed is None or failed is None else completed + failed,
        completed=completed,
        failed=failed,
        duration_s=_seconds(metrics, "benchmark_duration"),
        ttft_s=ttft,
        tpot_s=tpot,
        e2e_s=e2e,
        decode_tok_per_s=ratio(1.0, tpot.centre),
        reported_decode_tok_per_s=per_user,
        output_tok_per_s=_average(metrics, "output_token_throughput"),
        total_tok_per_s=_average(metrics, "total_token_throughput"),
        request_per_s=_average(metrics, "request_throughput"),
        goodput_per_s=_average(metrics, "goodput") or _average(metrics, "request_goodput"),
        notes=tuple(notes),
    )


def _loop(rate: float | None, cap: float | None) -> Loop | None:
    return "open" if rate is not None else "closed" if cap is not None else None


def _average(metrics: _Metrics, name: str) -> float | None:
    return number(metrics[name][1].get("avg")) if name in metrics else None


def _seconds(metrics: _Metrics, name: str, statistic: str = "avg") -> float | None:
    """One figure in seconds; where the unit is not printed it is milliseconds, the tools' own default."""
    if name not in metrics:
        return None
    unit, entry = metrics[name]
    figure = number(entry.get(statistic))
    return None if figure is None else figure * _SECONDS.get(unit.lower(), 1e-3)


def _stat(metrics: _Metrics, name: str) -> Stat:
    mean, median, p90, p95, p99 = (_seconds(metrics, name, word) for word in ("avg", "p50", "p90", "p95", "p99"))
    return Stat(mean=mean, median=median, p90=p90, p95=p95, p99=p99)


def _derived_tokens(ttft: Stat, tpot: Stat, e2e: Stat, notes: list[str]) -> float | None:
    """Mean output tokens from the three means, where the length itself is not printed."""
    if ttft.mean is None or e2e.mean is None or not tpot.mean or e2e.mean < ttft.mean:
        return None
    tokens = 1.0 + (e2e.mean - ttft.mean) / tpot.mean
    notes.append(f"Output tokens are not printed; (latency - TTFT) / TPOT + 1 gives about {tokens:.0f}.")
    return tokens
