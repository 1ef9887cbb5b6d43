"""vLLM's /metrics: one scrape (totals since the start) or two (what happened between them), old and new names.

Names: https://docs.vllm.ai/en/latest/usage/metrics/. The cache usage is a fraction of one despite its name `_perc`.
"""

from __future__ import annotations

from planner.errors import MeasurementError
from planner.measurements.documents import Pasted
from planner.measurements.measured import Measured
from planner.measurements.numbers import ratio
from planner.measurements.prometheus import Scrape, difference, histogram, parse

_TTFT = ("vllm:time_to_first_token_seconds",)
# The pooled gaps between tokens; up to 2025 under a name that reads like a mean per request.
_ITL = ("vllm:inter_token_latency_seconds", "vllm:time_per_output_token_seconds")
_TPOT = ("vllm:request_time_per_output_token_seconds",)
_E2E = ("vllm:e2e_request_latency_seconds",)
_QUEUE = ("vllm:request_queue_time_seconds", "vllm:time_in_queue_requests")
_HITS = ("vllm:prefix_cache_hits_total", "vllm:prefix_cache_hits", "vllm:gpu_prefix_cache_hits_total")
_QUERIES = ("vllm:prefix_cache_queries_total", "vllm:prefix_cache_queries", "vllm:gpu_prefix_cache_queries_total")
_USAGE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
_FAILED_REASONS = ("abort", "error")


def read(pasted: Pasted, second: Pasted | None = None, seconds: float | None = None) -> Measured | None:
    """The state and the totals, or with a second scrape what happened between; None where it is not vLLM's /metrics.

    Arguments: `seconds` between the scrapes, where they carry no `# scraped_at` line.
    """
    if not any(line.startswith("vllm:") for line in pasted.lines):
        return None
    first = parse(pasted.lines)
    if second is None:
        return _measured(first, first, None, ["Totals since the server started: paste a second scrape for rates."])
    later = parse(second.lines)
    if not any(name.startswith("vllm:") for name in later.values):
        raise MeasurementError(
            "The second scrape holds no vllm: samples. Paste /metrics of the same server, read later."
        )
    if first.at_s is not None and later.at_s is not None:
        seconds = later.at_s - first.at_s
        if seconds < 0:
            raise MeasurementError("The second scrape is older than the first (# scraped_at). Paste them in order.")
    change = difference(later, first)
    if change is None:
        raise MeasurementError(
            "A counter is smaller in the second scrape: the scrapes are swapped or the server was restarted between "
            "them. Paste the earlier scrape first, or only the later one."
        )
    notes = [f"Counted between two scrapes{f', {seconds:g} s apart' if seconds else ''}."]
    if not seconds:
        notes.append("The time between the scrapes is not known, so means are shown and rates are not.")
    return _measured(later, change, seconds or None, notes)


def _measured(state: Scrape, counted: Scrape, seconds: float | None, notes: list[str]) -> Measured:
    reasons = counted.by_label("vllm:request_success_total", "finished_reason")
    failed = sum(value for reason, value in reasons.items() if reason in _FAILED_REASONS)
    completed = sum(reasons.values()) - failed if reasons else None
    prompts, generated = counted.total("vllm:prompt_tokens_total"), counted.total("vllm:generation_tokens_total")
    output = _per_request(counted, "vllm:request_generation_tokens", generated, completed)
    hits, queries = counted.total(*_HITS), counted.total(*_QUERIES)
    ttft, itl, tpot, e2e = (histogram(counted, *names) for names in (_TTFT, _ITL, _TPOT, _E2E))
    one = ratio(1.0, tpot.mean or itl.mean)
    usage = state.mean(*_USAGE)
    return Measured(
        tool="vllm-metrics",
        label="vLLM /metrics",
        kind="metrics",
        model=", ".join(state.labels("model_name")) or None,
        prompt_tokens=_per_request(counted, "vllm:request_prompt_tokens", prompts, completed),
        output_tokens=output,
        concurrency=None,
        sent=round(completed + failed) if completed is not None else None,
        completed=round(completed) if completed is not None else None,
        failed=round(failed) if reasons else None,
        duration_s=seconds,
        prefill_s=histogram(counted, "vllm:request_prefill_time_seconds").mean,
        ttft_s=ttft,
        tpot_s=tpot,
        itl_s=itl,
        e2e_s=e2e,
        queue_s=histogram(counted, *_QUEUE),
        decode_tok_per_s=one,
        output_tok_per_s=ratio(generated, seconds),
        total_tok_per_s=ratio(_sum(prompts, generated), seconds),
        request_per_s=ratio(completed, seconds),
        kv_usage=usage if usage is not None and usage <= 1.0 else None,
        running=state.total("vllm:num_requests_running"),
        waiting=state.total("vllm:num_requests_waiting"),
        prefix_hit_rate=ratio(hits, queries) if queries is not None else state.mean("vllm:gpu_prefix_cache_hit_rate"),
        preemptions=counted.total("vllm:num_preemptions_total", "vllm:num_preemptions"),
        notes=tuple(notes + _notes(state, counted, usage)),
    )


def _per_request(scrape: Scrape, name: str, tokens: float | None, completed: float | None) -> float | None:
    """Mean tokens a request: of the histogram of finished requests, else total tokens over finished requests."""
    exact = ratio(scrape.total(f"{name}_sum"), scrape.total(f"{name}_count"))
    return exact if exact is not None else ratio(tokens, completed)


def _sum(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first + second


def _notes(state: Scrape, counted: Scrape, usage: float | None) -> list[str]:
    notes = ["TTFT counts from the arrival at the API server: the queue is in it, the network is not."]
    if any(name in counted.buckets for name in (*_TTFT, *_ITL)):
        notes.append("Percentiles are interpolated within a histogram bucket: the bracket is what is certain.")
    engines, models = state.labels("engine"), state.labels("model_name")
    if len(engines) > 1:
        notes.append(f"{len(engines)} engines: counts are summed, the cache usage is their mean.")
    if len(models) > 1:
        notes.append(f"{len(models)} models in one scrape ({', '.join(models)}): the figures mix them.")
    if not counted.total("vllm:generation_tokens_total"):
        notes.append("No token was generated in this time: there is no speed to read, only the state.")
    if usage is not None and usage > 1.0:
        notes.append(f"The cache usage reads {usage:g}; it must be between 0 and 1 and is left out.")
    return notes
