"""Rows that the page's chart and tables show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from planner import efficiency
from planner.checking import limits
from planner.checking.compare import Comparison
from planner.checking.conditions import Conditions, conditions
from planner.checking.figures import BEYOND, BEYOND_ASSUMED, Figure, said
from planner.measurements import BenchRow, Measured
from planner.plan import Plan

Rows = list[dict[str, Any]]


def chart_rows(figures: Sequence[Figure]) -> Rows:
    """Speed as a share of what the hardware can do, in %: the band, the middle and the measured mark of each figure."""
    out: Rows = []
    for f in figures:
        if f.key not in ("decode", "prefill"):
            continue
        slow, fast = sorted((100 * f.share_of(f.expected.low), 100 * f.share_of(f.expected.high)))
        limit = "at most" if f.faster_is_larger else "at least"
        out.append({
            "figure": f"{f.name}", "low": slow, "mid": 100 * f.share_of(f.expected.mid), "high": fast,
            "limit": 100.0, "bound": f"{limit} {said(f, f.limit)}",
            "share": None if f.share is None else 100 * f.share,
            "shown": "" if not f.measured else f"measured: {said(f, f.measured)}",
            "state": "measured, impossible" if f.place == BEYOND else "measured",
        })  # fmt: skip
    return out


def chart_words(figures: Sequence[Figure]) -> str:
    """The chart in words, for those who cannot see it."""
    return " ".join(
        f"{f.name}: {'measured ' + said(f, f.measured) + ', ' if f.measured else ''}"
        f"expected {said(f, f.expected.low)} to {said(f, f.expected.high)}, "
        f"{'at most' if f.faster_is_larger else 'at least'} {said(f, f.limit)}."
        for f in figures
        if f.key in ("decode", "prefill")
    )


def headlines(figures: Sequence[Figure]) -> list[tuple[str, str, str, str | None]]:
    """Label, value, help and the line below of the figures shown first: the share reached, or what is expected."""
    out: list[tuple[str, str, str, str | None]] = []
    for f in figures:
        low = said(f, f.expected.low).removesuffix(" tokens/s")  # once is enough
        others = f"expected: {low} to {said(f, f.expected.high)}"
        mine = f"calibrated: {said(f, f.planned)}" if f.planned else others
        limit = "at most" if f.faster_is_larger else "at least"
        bound = f"{limit} {said(f, f.limit)}"
        if f.measured and f.share:
            share = _reached(f, f.share) if f.key in ("decode", "prefill") else None
            calibrated = f"; {mine}" if f.planned else ""
            out.append((f.name, said(f, f.measured), f"{bound}; {others}; {f.place}{calibrated}", share))
        else:
            out.append((f"{f.name}, {limit}", said(f, f.limit), "Below: what is expected of such servers", mine))
    return out


def _reached(f: Figure, share: float) -> str:
    """The share of the limit in words; past it no share is said."""
    if share > 1 and f.place in (BEYOND, BEYOND_ASSUMED):
        return "above the ceiling" if f.faster_is_larger else "faster than possible"
    return f"{share:.0%} of the {'ceiling' if f.faster_is_larger else 'fastest possible'}"


def chart_legend(figures: Sequence[Figure]) -> str:
    """What the marks of the chart mean, those that are drawn."""
    drawn = [f for f in figures if f.key in ("decode", "prefill")]
    marks = ["Pale bar: what is expected of such servers, from published measurements.",
             "Black line: what no software beats."]  # fmt: skip
    if any(f.measured and f.place != BEYOND for f in drawn):
        marks.append("Diamond: yours.")
    if any(f.measured and f.place == BEYOND for f in drawn):
        marks.append("Red cross: yours, faster than possible.")
    if not any(f.measured for f in drawn):
        marks.append("Your own mark appears when you paste an output.")
    return " ".join(marks)


def figure_table(found: Comparison) -> Rows:
    """Every figure with its limit and band; times in milliseconds."""
    return [_figure_row(f) for f in found.figures]


def _figure_row(f: Figure) -> dict[str, Any]:
    scale = 1.0 if f.faster_is_larger else 1e3
    measured = f.measured * scale if f.measured else None
    band = f.expected
    return {
        "Figure": f.name,
        "Unit": "tokens/s" if f.faster_is_larger else "ms",
        "Measured": measured,
        "It is": f.place,
        "Share of the limit, %": None if f.share is None else 100 * f.share,
        "Expected, from": band.low * scale,
        "Expected, middle": band.mid * scale,
        "Expected, to": band.high * scale,
        "At most": f.limit if f.faster_is_larger else None,
        "At least": None if f.faster_is_larger else f.limit * scale,
        **({"Calibrated, middle": f.planned * scale} if f.planned else {}),
    }


def run_rows(measured: Measured, p: Plan) -> Rows:
    """The rows of llama-bench or the runs of a report, each beside its limit; empty where there is one only."""
    if len(measured.rows) > 1:
        return [_bench_row(row, measured, p) for row in measured.rows if row.model == measured.model]
    return [_run_row(run, p) for run in measured.runs]


def _bench_row(row: BenchRow, measured: Measured, p: Plan) -> dict[str, Any]:
    out: dict[str, Any] = {
        "Test": f"{row.test}{row.prompt_tokens or row.output_tokens}", "Tokens before it": row.depth,
        "Measured, tokens/s": row.tok_per_s, "Spread, tokens/s": row.stddev_tok_per_s,
    }  # fmt: skip
    if row.test == "pg":
        return out | dict.fromkeys(("At most, tokens/s", "Expected, middle, tokens/s", "Share of the limit, %"))
    c = conditions(replace(measured, rows=(row,)), p)
    base = efficiency.expectation(p.device, p.engine, p.work)
    if row.test == "pp":
        floor, band = limits.prefill_band(p, c, base)
        most, mid = row.prompt_tokens / floor, row.prompt_tokens / band.mid
    else:
        most, steps = limits.decode_band(p, c, base)
        mid = steps.mid
    return out | {
        "At most, tokens/s": most,
        "Expected, middle, tokens/s": mid,
        "Share of the limit, %": 100 * row.tok_per_s / most,
    }


def _run_row(run: Measured, p: Plan) -> dict[str, Any]:
    c: Conditions = conditions(run, p)
    base = efficiency.expectation(p.device, p.engine, p.work)
    most, steps = limits.decode_band(p, c, base)
    rate = run.decode_tok_per_s
    return {
        "At once": c.together, "Prompt tokens": c.prompt, "Answer tokens": c.output, "TTFT, s": run.ttft_s.typical,
        "Each conversation, tokens/s": rate, "At most, tokens/s": c.accepted * most,
        "Expected, middle, tokens/s": c.accepted * steps.mid, "All together, tokens/s": run.output_tok_per_s,
        "Share of the limit, %": 100 * rate / (c.accepted * most) if rate else None,
    }  # fmt: skip
