"""GuideLLM: its report in JSON and its console tables, of 0.2 to today.

Its `time_per_output_token` is the whole request latency over all output tokens, so TTFT is in it; its
`inter_token_latency` is (last token - first token) / (tokens - 1), which is TPOT as every other tool defines it and is
what is taken here. Request latency is in seconds also where an old header says ms.
Source: https://github.com/vllm-project/guidellm, src/guidellm/schemas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from planner.measurements.documents import Pasted
from planner.measurements.measured import Loop, Measured, Stat
from planner.measurements.numbers import at, count, number, positive, ratio, scaled, text
from planner.measurements.tables import Table, tables
from planner.units import duration

_MOST_RUNS = 200
# Versions up to 0.3 leave TTFT out of their TPOT, up to rounding; later ones include it.
_TPOT_WITH_TTFT = 1.01
_LOOPS: Mapping[str, Loop] = {
    "synchronous": "closed",
    "concurrent": "closed",
    "throughput": "burst",
    "constant": "open",
    "poisson": "open",
    "async": "open",
}


def read(pasted: Pasted) -> Measured | None:
    """The first benchmark of the report, all of them in `runs`; None where the text is not from GuideLLM."""
    runs = [run for item in pasted.objects for run in _report(item)] or _console(pasted)
    if not runs:
        return None
    if len(runs) == 1:
        return runs[0]
    note = f"The report holds {len(runs)} benchmarks; the first one is shown."
    return replace(runs[0], notes=(note, *runs[0].notes), runs=tuple(runs))


def _report(item: Mapping[str, Any]) -> list[Measured]:
    benchmarks = item.get("benchmarks")
    if not isinstance(benchmarks, list):
        return []
    benchmarks = benchmarks[:_MOST_RUNS]
    arguments = at(item, "args")
    return [
        _from_json(benchmark, arguments)
        for benchmark in benchmarks
        if isinstance(at(benchmark, "metrics"), Mapping) and at(benchmark, "metrics", "time_to_first_token_ms")
    ]


def _from_json(benchmark: Mapping[str, Any], arguments: object) -> Measured:
    metrics = benchmark["metrics"]
    strategy = at(benchmark, "config", "strategy") or at(benchmark, "args", "strategy") or {}
    totals = at(metrics, "request_totals") or at(benchmark, "run_stats", "requests_made")
    completed, errored = count(at(totals, "successful")), count(at(totals, "errored"))
    unfinished = count(at(totals, "incomplete")) or 0
    failed = None if errored is None else errored + unfinished
    concurrency = _distribution(metrics, "request_concurrency", 1.0)
    latency = _distribution(metrics, "request_latency", 1.0)
    own_tpot = _distribution(metrics, "time_per_output_token_ms", 1e-3)
    return _measured(
        model=text(at(arguments, "model")) or text(at(benchmark, "config", "backend", "model")),
        strategy=text(at(strategy, "type_")) or "",
        rate=positive(at(strategy, "rate")),
        cap=positive(at(strategy, "streams")) or positive(at(strategy, "max_concurrency")),
        prompt=_distribution(metrics, "prompt_token_count", 1.0).centre,
        output=_distribution(metrics, "output_token_count", 1.0).centre,
        concurrency=concurrency.centre,
        latency=latency,
        ttft=_distribution(metrics, "time_to_first_token_ms", 1e-3),
        itl=_distribution(metrics, "inter_token_latency_ms", 1e-3),
        own_tpot=own_tpot,
        request_per_s=_distribution(metrics, "requests_per_second", 1.0).centre,
        output_per_s=_distribution(metrics, "output_tokens_per_second", 1.0).centre,
        total_per_s=_distribution(metrics, "tokens_per_second", 1.0).centre,
        completed=completed,
        failed=failed,
        duration_s=positive(benchmark.get("duration")),
    )


def _distribution(metrics: object, name: str, factor: float) -> Stat:
    """The figures of the successful requests; the level `successful` is absent in the oldest reports."""
    entry = at(metrics, name, "successful") or at(metrics, name, "total") or at(metrics, name)
    parts = at(entry, "percentiles") or entry
    mean, median = scaled(at(entry, "mean"), factor), scaled(at(entry, "median"), factor)
    p50, p90, p95, p99 = (scaled(at(parts, key), factor) for key in ("p50", "p90", "p95", "p99"))
    return Stat(mean=mean, median=median if median is not None else p50, p90=p90, p95=p95, p99=p99)


def _console(pasted: Pasted) -> list[Measured]:
    """One run a row of the latency table, joined by place with the tables of throughput and of tokens."""
    found = tables(pasted.lines)
    latency = next((table for table in found if table.header("TTFT") and table.header("ITL")), None)
    if latency is None:
        return []
    throughput = next((table for table in found if table.header("Concurrency")), None)
    tokens = next(
        (table for table in found if table.header("Output Tok", "Per Req") or table.header("Output Tok/Req")), None
    )
    return [_from_rows(latency, throughput, tokens, place) for place in range(len(latency.rows))]


def _from_rows(latency: Table, throughput: Table | None, tokens: Table | None, place: int) -> Measured:
    row = latency.rows[place]
    strategy, _, rate = row[0].partition("@")
    ttft = _stat(latency, row, "TTFT", 1e-3)
    request = "Request Latency" if latency.header("Request Latency") else "Req Latency"
    seconds = _stat(latency, row, request, 1.0)
    if seconds.typical is not None and ttft.typical is not None and seconds.typical < ttft.typical:
        # Shorter than its own first token: the unit is milliseconds after all.
        seconds = _stat(latency, row, request, 1e-3)
    beside = (throughput, throughput.rows[place]) if throughput and place < len(throughput.rows) else None
    counted = (tokens, tokens.rows[place]) if tokens and place < len(tokens.rows) else None
    return _measured(
        model=None,
        strategy=strategy,
        rate=positive(rate),
        cap=None,
        prompt=_beside(counted, "Input Tok", "Per Req") or _beside(counted, "Prompt Tok/Req", "Comp"),
        output=_beside(counted, "Output Tok", "Per Req") or _beside(counted, "Output Tok/Req", "Comp"),
        concurrency=_beside(beside, "Concurrency", "Mean") or _beside(beside, "Concurrency"),
        latency=seconds,
        ttft=ttft,
        itl=_stat(latency, row, "ITL", 1e-3),
        own_tpot=_stat(latency, row, "TPOT", 1e-3),
        request_per_s=_beside(beside, "Requests", "Per Sec", "Mean") or _beside(beside, "Request Stats", "Per Second"),
        output_per_s=_beside(beside, "Output Tok", "Mean") or _beside(beside, "Out Tok/sec"),
        total_per_s=_beside(beside, "Total Tok", "Mean") or _beside(beside, "Tot Tok/sec"),
        completed=count(_beside(counted, "Requests Made", "Comp")),
        failed=count(_beside(counted, "Requests Made", "Err")),
        duration_s=_beside(counted, "Duration") or None,
    )


def _stat(table: Table, row: Sequence[str], name: str, factor: float) -> Stat:
    mean, median, long_median, p95, p99 = (
        scaled(table.cell(row, name, word), factor) for word in ("mean", "mdn", "median", "p95", "p99")
    )
    return Stat(mean=mean, median=median if median is not None else long_median, p95=p95, p99=p99)


def _beside(entry: tuple[Table, tuple[str, ...]] | None, *words: str) -> float | None:
    return None if entry is None else number(entry[0].cell(entry[1], *words))


def _measured(
    *,
    model: str | None,
    strategy: str,
    rate: float | None,
    cap: float | None,
    prompt: float | None,
    output: float | None,
    concurrency: float | None,
    latency: Stat,
    ttft: Stat,
    itl: Stat,
    own_tpot: Stat,
    request_per_s: float | None,
    output_per_s: float | None,
    total_per_s: float | None,
    completed: int | None,
    failed: int | None,
    duration_s: float | None,
) -> Measured:
    notes = ["TTFT was taken by the client: network, tokenising and the queue are in it."]
    if output is None and (derived := _derived_tokens(latency, ttft, itl)):
        output = derived
        notes.append(f"Output tokens are not printed; (latency - TTFT) / ITL + 1 gives about {derived:.0f}.")
    tpot = itl if not itl.empty else _converted(latency, ttft, output)
    if own_tpot.typical and tpot.typical and own_tpot.typical > tpot.typical * _TPOT_WITH_TTFT:
        notes.append(
            f"GuideLLM's TPOT ({duration(own_tpot.typical)}) divides the whole latency, TTFT included, by all "
            f"tokens; by (latency - TTFT) / (tokens - 1) it is {duration(tpot.typical)}."
        )
    return Measured(
        tool="guidellm",
        label="GuideLLM",
        kind="serving",
        model=model,
        prompt_tokens=prompt,
        output_tokens=output,
        concurrency=concurrency,
        max_concurrency=cap,
        request_rate=rate if _LOOPS.get(strategy) == "open" else None,
        loop=_LOOPS.get(strategy),
        sent=None if completed is None or failed is None else completed + failed,
        completed=completed,
        failed=failed,
        duration_s=duration_s,
        ttft_s=ttft,
        tpot_s=tpot,
        itl_s=itl,
        e2e_s=latency,
        decode_tok_per_s=ratio(1.0, tpot.centre),
        output_tok_per_s=output_per_s,
        total_tok_per_s=total_per_s,
        request_per_s=request_per_s,
        notes=tuple(notes),
    )


def _derived_tokens(latency: Stat, ttft: Stat, itl: Stat) -> float | None:
    """Output tokens from the means, or the medians where no mean is printed; the same for every version."""
    for whole, first, gap in ((latency.mean, ttft.mean, itl.mean), (latency.median, ttft.median, itl.median)):
        if whole is not None and first is not None and gap and whole >= first:
            return 1.0 + (whole - first) / gap
    return None


def _converted(latency: Stat, ttft: Stat, output: float | None) -> Stat:
    """TPOT of the means, or of the medians where no mean is printed."""
    if output is None or output <= 1:
        return Stat()
    if latency.mean is not None and ttft.mean is not None:
        return Stat(mean=max(latency.mean - ttft.mean, 0.0) / (output - 1) or None)
    if latency.median is not None and ttft.median is not None:
        return Stat(median=max(latency.median - ttft.median, 0.0) / (output - 1) or None)
    return Stat()
