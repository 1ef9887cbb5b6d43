"""Commands to copy for measuring a server with each tool, filled in with the figures of the scenario."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from typing import NamedTuple

WARM_UP = (
    "Throw the first call away: it loads the weights, compiles kernels and captures graphs, which no later call pays."
)
FRESH_PROMPT = (
    "Never send the same prompt twice: the prefix cache would answer it, and prefill would look faster than it can be."
)
# Requests per user, so that the start, when all prompts come at once, is a tenth of the run.
_REQUESTS_PER_USER = 10
_MIN_REQUESTS = 100
_MAX_REQUESTS = 5_000
_OPEN_LOOP_SECONDS = 120
# One after the other, so that nothing waits: ten show how much they scatter.
_ONE_BY_ONE = 10


class Command(NamedTuple):
    """A title, the shell command, and one sentence on what it shows."""

    title: str
    command: str
    sentence: str


class Load(NamedTuple):
    """What to measure: tokens per request, `users` at once or `rate` in requests/s, and where the server is.

    sample  requests to send (None: enough for users or rate)
    """

    model: str = "MODEL"
    prompt: int = 1024
    output: int = 256
    users: int = 8
    rate: float | None = None
    url: str | None = None
    sample: int | None = None

    @property
    def requests(self) -> int:
        """Requests to send: ten a user, or two minutes of arrivals."""
        if self.sample is not None:
            return self.sample
        wanted = _REQUESTS_PER_USER * self.users if self.rate is None else round(self.rate * _OPEN_LOOP_SECONDS)
        return max(_MIN_REQUESTS, min(_MAX_REQUESTS, wanted))


_EXAMPLE = Load()


def commands(tool: str, load: Load = _EXAMPLE) -> list[Command]:
    """The commands for one tool of `TOOLS`.

    Raises KeyError for a tool that is not in the list.
    """
    return TOOLS[tool](load)


def experiment(tool: str, load: Load = _EXAMPLE) -> list[Command]:
    """The 200-against-2,000-token experiment: the same call with a short and a ten times longer prompt, one at a time.

    TTFT follows the prompt, TPOT hardly does: prefill reads all of it at once, decode one token after the other.
    Below some hundred tokens TTFT stays flat, since prefill then takes the time to read the weights.
    """
    return [
        commands(tool, load._replace(prompt=tokens, users=1, rate=None, sample=_ONE_BY_ONE))[0]._replace(
            title=f"Prompt of {tokens:,} tokens",
            sentence=f"Note TTFT (or the prefill time) and TPOT with {tokens:,} prompt tokens.",
        )
        for tokens in (200, 2_000)
    ]


EXPERIMENT = (
    "One request at a time. Ten times the prompt should cost several times the TTFT and leave TPOT almost as it was. "
    "If TTFT hardly grows, the prompt came from the cache; if TPOT grows as well, look at the KV cache and its memory."
)


def _body(load: Load, **options: object) -> str:
    """A JSON body for curl whose prompt is made by the shell: a fresh time, then numbers, about two tokens each."""
    marker = "@PROMPT@"
    whole = json.dumps({"model": load.model, "prompt": marker, **options})
    before, _, after = whole.partition(marker)
    prompt = f"\"$(date +%s%N) $(seq -s ' ' 1 {max(1, load.prompt // 2)})\""
    return f"{shlex.quote(before)}{prompt}{shlex.quote(after)}"


def _ollama(load: Load) -> list[Command]:
    url = load.url or "http://localhost:11434"
    body = _body(load, stream=False, options={"num_predict": load.output, "num_ctx": load.prompt + load.output + 64})
    return [
        Command(
            "One request, times in the answer",
            f"curl -s {shlex.quote(url)}/api/generate -d {body}",
            "Paste the JSON: it holds the prompt and answer tokens with the nanoseconds of each part.",
        ),
        Command(
            "The same at the console",
            f"ollama run {shlex.quote(load.model)} --verbose "
            f"\"$(seq -s ' ' 1 {max(1, load.prompt // 2)}) Tell a story.\"",
            "Paste the last eight lines.",
        ),
        Command("What sits on the GPU", "ollama ps", "Below 100% GPU a part is computed by the CPU and sets the pace."),
    ]


def _curl(load: Load) -> list[Command]:
    url = load.url or "http://localhost:8000"
    body = _body(load, max_tokens=load.output, ignore_eos=True, stream=True, stream_options={"include_usage": True})
    times = "".join(f"{name}: %{{{name}}}\\n" for name in ("time_pretransfer", "time_starttransfer", "time_total"))
    return [
        Command(
            "One streamed request, timed by curl",
            f"curl -sN -o stream.txt -w '{times}' {shlex.quote(url)}/v1/completions "
            f"-H 'Content-Type: application/json' -d {body}; tail -n 4 stream.txt",
            "starttransfer - pretransfer is TTFT; paste all lines, the last ones count the tokens.",
        )
    ]


def _load_test(command: str, sentence: str) -> list[Command]:
    return [Command("Load test", command, sentence)]


def _arrivals(load: Load, at_once: str = "--max-concurrency", per_second: str = "--request-rate") -> str:
    """The flag that says how requests come: so many users at once, or so many requests per second."""
    return f"{at_once} {load.users}" if load.rate is None else f"{per_second} {load.rate:g}"


def _vllm(load: Load) -> list[Command]:
    return _load_test(
        f"vllm bench serve --model {shlex.quote(load.model)} --base-url {_url(load)} --dataset-name random "
        f"--random-input-len {load.prompt} --random-output-len {load.output} --ignore-eos "
        f"--num-prompts {load.requests} {_arrivals(load)} --seed $RANDOM "
        "--percentile-metrics ttft,tpot,itl,e2el --metric-percentiles 50,90,95,99 --save-result",
        "Paste the console block or the saved JSON. A new seed each run keeps the prefix cache out of it.",
    )


def _llama_bench(load: Load) -> list[Command]:
    return [
        Command(
            "Prefill and decode of one sequence",
            f"llama-bench -m {shlex.quote(load.model)} -p {load.prompt} -n {load.output} -d 0,{load.prompt} -r 5 -o md",
            "-d repeats each test with a filled cache; it warms up by itself.",
        )
    ]


def _sglang(load: Load) -> list[Command]:
    return _load_test(
        f"python3 -m sglang.bench_serving --backend sglang --base-url {_url(load, 30000)} "
        f"--model {shlex.quote(load.model)} --dataset-name random --random-input-len {load.prompt} "
        f"--random-output-len {load.output} --random-range-ratio 1 --num-prompts {load.requests} {_arrivals(load)} "
        "--flush-cache --seed $RANDOM --output-file result.jsonl",
        "Paste the console block or result.jsonl.",
    )


def _guidellm(load: Load) -> list[Command]:
    profile = _arrivals(load, "--rate-type concurrent --rate", "--rate-type poisson --rate")
    return _load_test(
        f"guidellm benchmark --target {_url(load)} {profile} --max-seconds {_OPEN_LOOP_SECONDS} "
        f"--data prompt_tokens={load.prompt},output_tokens={load.output} --output-path result.json",
        "Paste result.json or the tables; its own TPOT has TTFT in it and is converted.",
    )


def _aiperf(load: Load) -> list[Command]:
    return _load_test(
        f"aiperf profile --model {shlex.quote(load.model)} --url {_url(load)} --endpoint-type chat --streaming "
        f"--synthetic-input-tokens-mean {load.prompt} --synthetic-input-tokens-stddev 0 "
        f"--output-tokens-mean {load.output} --extra-inputs ignore_eos:true "
        f"{_arrivals(load, '--concurrency')} --request-count {load.requests} --warmup-request-count 10",
        "Paste profile_export_aiperf.json or the table.",
    )


def _metrics(load: Load) -> list[Command]:
    scrape = f"(date '+# scraped_at %s'; curl -s {_url(load)}/metrics)"
    pair = Command(
        "Two scrapes, a minute apart",
        f"{scrape} > first.prom; sleep 60; {scrape} > second.prom",
        "Counters run since the start: the difference of two scrapes is what happened between them.",
    )
    return [pair, *DASHBOARD]


def _url(load: Load, port: int = 8000) -> str:
    return shlex.quote(load.url or f"http://localhost:{port}")


DASHBOARD = (
    Command(
        "TTFT, 95th percentile",
        "histogram_quantile(0.95, sum by (le) (rate(vllm:time_to_first_token_seconds_bucket[5m])))",
        "How long people wait before the first word; the queue is in it.",
    ),
    Command(
        "Gap between tokens, 95th percentile",
        "histogram_quantile(0.95, sum by (le) (rate(vllm:inter_token_latency_seconds_bucket[5m])))",
        "How smoothly the answer flows (vllm:time_per_output_token_seconds in older versions).",
    ),
    Command(
        "Requests that wait",
        "sum(vllm:num_requests_waiting)",
        "Above zero for long: arrivals are past capacity, and TTFT only grows.",
    ),
    Command(
        "KV cache in use",
        "max(vllm:kv_cache_usage_perc)",
        "A fraction from 0 to 1 (vllm:gpu_cache_usage_perc in older versions); near 1, requests wait or are preempted.",
    ),
    Command(
        "Tokens written per second",
        "sum(rate(vllm:generation_tokens_total[1m]))",
        "What the hardware delivers to all users together.",
    ),
)
"""The five figures of vLLM that make a dashboard, as PromQL."""

TOOLS: dict[str, Callable[[Load], list[Command]]] = {
    "Ollama": _ollama,
    "curl": _curl,
    "vllm bench serve": _vllm,
    "llama-bench": _llama_bench,
    "SGLang": _sglang,
    "GuideLLM": _guidellm,
    "AIPerf": _aiperf,
    "vLLM /metrics": _metrics,
}
"""Tool name -> its commands, in the order in which a page lists them."""
