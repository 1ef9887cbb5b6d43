"""The load generators of vLLM and SGLang: `vllm bench serve` and `sglang.bench_serving`, console and JSON.

Both descend from one script and share its keys. TTFT is counted by the client from sending to the first chunk;
TPOT is one mean a request, (latency - TTFT) / (output tokens - 1); ITL pools the gaps between chunks; every latency is
over the requests that succeeded. Source: vllm/benchmarks/serve.py and python/sglang/bench_serving.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.measurements.documents import Pasted
from planner.measurements.measured import Loop, Measured, Stat
from planner.measurements.numbers import count, number, positive, ratio, scaled, text
from planner.units import duration

_LINE = re.compile(r"^\s*([A-Za-z0-9][^:|]{2,60}):[ \t](.+)$")
_STATISTIC = re.compile(r"^(mean|median|p\d{1,2}(?:\.\d)?) (.+) \(ms\)$")
_QUANTITIES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2el", "e2e latency": "e2el"}
# Console label, lower case and without unit -> key of the JSON result.
_LABELS = {
    "backend": "backend",
    "successful requests": "completed",
    "failed requests": "failed",
    "traffic request rate": "request_rate",
    "request rate configured": "request_rate",
    "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency",
    "benchmark duration": "duration",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "total generated tokens (retokenized)": "total_output_tokens_retokenized",
    "request throughput": "request_throughput",
    "request goodput": "request_goodput",
    "output token throughput": "output_throughput",
    "total token throughput": "total_token_throughput",
    "concurrency": "concurrency",
    "accept length": "accept_length",
    "acceptance length": "accept_length",
}
_UNIT = re.compile(r" \((?:s|req/s|tok/s|rps|%)\)$")
# Of a result file that was appended to, the latest runs.
_MOST_RUNS = 200
_RESULT_KEYS = {"completed", "duration", "request_throughput"}


def read(pasted: Pasted) -> Measured | None:
    """The last result in the text, all of them in `runs`; None where it is from neither tool."""
    results = [_plain(item) for item in pasted.objects if item.keys() >= _RESULT_KEYS]
    if not results and any("Serving Benchmark Result" in line for line in pasted.lines):
        results = _console(pasted.lines)
    if not results:
        return None
    runs = tuple(_measured(result) for result in results[-_MOST_RUNS:])
    if len(runs) == 1:
        return runs[0]
    note = f"The file holds {len(runs)} results; the last one is shown."
    return replace(runs[-1], notes=(note, *runs[-1].notes), runs=runs)


def _plain(item: Mapping[str, Any]) -> dict[str, Any]:
    """JSON keys made equal: some versions end a key in a colon, the two tools name some figures differently."""
    plain = {str(key).rstrip(":"): value for key, value in item.items()}
    renamed = {key.replace("_e2e_latency_ms", "_e2el_ms"): value for key, value in plain.items()}
    if "total_token_throughput" not in renamed and "total_throughput" in renamed:
        renamed["total_token_throughput"] = renamed["total_throughput"]
    if "spec_decode_acceptance_length" in renamed:
        renamed["accept_length"] = renamed["spec_decode_acceptance_length"]
    renamed["_sglang"] = "total_output_tokens_retokenized" in plain or "mean_e2e_latency_ms" in plain
    return renamed


def _console(lines: list[str]) -> list[dict[str, Any]]:
    """One mapping a result block, with the keys of the JSON result; what is printed above a block belongs to it."""
    results: list[dict[str, Any]] = []
    current: dict[str, Any] = {}
    for line in lines:
        if "Serving Benchmark Result" in line and "completed" in current:
            results.append(current)
            current = {}
        if (match := _LINE.match(line)) is None:
            continue
        label, value = match.group(1).strip().lower(), match.group(2).strip()
        statistic = _STATISTIC.match(label)
        if statistic and statistic.group(2) in _QUANTITIES:
            current[f"{statistic.group(1)}_{_QUANTITIES[statistic.group(2)]}_ms"] = value
            current["_sglang"] = current.get("_sglang") or statistic.group(2) == "e2e latency"
        elif key := _LABELS.get(_UNIT.sub("", label)):
            current[key] = value
            current["_sglang"] = current.get("_sglang") or key == "total_output_tokens_retokenized"
    return [*results, current] if "completed" in current else results


def _measured(result: Mapping[str, Any]) -> Measured:
    completed, total_output = count(result.get("completed")), number(result.get("total_output_tokens"))
    prompt = ratio(number(result.get("total_input_tokens")), completed)
    output = ratio(total_output, completed)
    rate, cap = _rate(result.get("request_rate")), positive(result.get("max_concurrency"))
    failed = _failed(result, completed)
    ttft, tpot, itl = (_stat(result, name) for name in ("ttft", "tpot", "itl"))
    e2e, derived = _end_to_end(_stat(result, "e2el"), ttft, itl, output)
    sglang = bool(result.get("_sglang"))
    notes = ["TTFT was taken by the client: network, tokenising and the queue are in it.", *derived]
    if sglang and (backend := text(result.get("backend"))):
        notes.append(f"The load generator is SGLang's, the server is {backend}.")
    return Measured(
        tool="sglang-bench-serving" if sglang else "vllm-bench-serve",
        label="SGLang bench_serving" if sglang else "vllm bench serve",
        kind="serving",
        version=text(result.get("version")),
        model=text(result.get("model_id")) or text(result.get("model")),
        device=text(result.get("gpu")),
        prompt_tokens=prompt,
        output_tokens=output,
        concurrency=number(result.get("concurrency")),
        max_concurrency=cap,
        request_rate=rate,
        loop=_loop(result, rate, cap),
        sent=None if completed is None or failed is None else completed + failed,
        completed=completed,
        failed=failed,
        duration_s=positive(result.get("duration")),
        ttft_s=ttft,
        tpot_s=tpot,
        itl_s=itl,
        e2e_s=e2e,
        decode_tok_per_s=ratio(1.0, tpot.centre),
        output_tok_per_s=positive(result.get("output_throughput")),
        total_tok_per_s=positive(result.get("total_token_throughput")),
        request_per_s=positive(result.get("request_throughput")),
        goodput_per_s=number(result.get("request_goodput")),
        accept_length=positive(result.get("accept_length")),
        notes=tuple(notes),
    )


def _rate(value: object) -> float | None:
    return None if value in ("inf", float("inf")) else positive(value)


def _loop(result: Mapping[str, Any], rate: float | None, cap: float | None) -> Loop | None:
    """Open: arrivals at a rate; closed: a cap and no rate; burst: everything sent at once; None: not said."""
    if rate is not None:
        return "open"
    if cap is not None:
        return "closed"
    return "burst" if str(result.get("request_rate")).lower() in ("inf", "infinity") else None


def _failed(result: Mapping[str, Any], completed: int | None) -> int | None:
    """Requests that failed: printed, or sent less completed."""
    printed, sent = count(result.get("failed")), count(result.get("num_prompts"))
    if printed is not None or sent is None or completed is None:
        return printed
    return max(sent - completed, 0)


def _stat(result: Mapping[str, Any], name: str) -> Stat:
    mean, median, p50, p90, p95, p99 = (
        scaled(result.get(f"{part}_{name}_ms"), 1e-3) for part in ("mean", "median", "p50", "p90", "p95", "p99")
    )
    return Stat(mean=mean, median=median if median is not None else p50, p90=p90, p95=p95, p99=p99)


def _end_to_end(e2e: Stat, ttft: Stat, itl: Stat, output: float | None) -> tuple[Stat, list[str]]:
    """The printed end-to-end time, else its mean: TTFT + (output tokens - 1) x mean ITL, exact for pooled gaps."""
    if not e2e.empty or ttft.mean is None or itl.mean is None or output is None or output < 1:
        return e2e, []
    mean = ttft.mean + (output - 1) * itl.mean
    return Stat(mean=mean), [
        f"End-to-end time was not printed; its mean is TTFT + (tokens - 1) x mean ITL = {duration(mean)}."
    ]
