"""Load generators: vLLM, SGLang, GuideLLM, AIPerf and genai-perf."""

import json

import pytest

from planner.measurements import read
from tests.measurements.samples import sample, text


def test_vllm_json_result():
    """The saved result gives seconds, tokens per request and requests in flight by Little's law."""
    measured = sample("vllm_bench_save_result_l40s_10qps.json")
    assert (measured.tool, measured.kind, measured.loop) == ("vllm-bench-serve", "serving", "open")
    assert measured.ttft_s.median == pytest.approx(0.052999333499883505)
    assert measured.tpot_s.mean == pytest.approx(0.013577995860227945)
    assert (measured.prompt_tokens, measured.request_rate) == (999, 10)
    assert measured.in_flight == pytest.approx(8.325406649602808 * measured.e2e_s.mean)
    assert measured.request_per_s == pytest.approx(measured.completed / measured.duration_s)
    assert measured.goodput_per_s is None


def test_vllm_console_is_its_json_rounded():
    """The old console (capital Token) and the JSON of the same run agree to the printed digits."""
    console, saved = (
        sample(f"vllm_bench_s{end}") for end in ("erve_console_old_l40s_10qps.txt", "ave_result_l40s_10qps.json")
    )
    for name in ("ttft_s", "tpot_s", "itl_s"):
        for part in ("mean", "median", "p99"):
            assert getattr(getattr(console, name), part) == pytest.approx(
                getattr(getattr(saved, name), part), abs=5.1e-6
            )
    assert console.total_tok_per_s == 10566.33
    assert (console.loop, console.request_rate) == ("open", 10)


def test_vllm_burst_implies_its_prefill_rate():
    """Everything sent at once: by the median TTFT half of all prompts were computed, here 658k tokens/s at p99."""
    burst = sample("vllm_bench_save_result_l40s_inf.json")
    assert burst.loop == "burst" and burst.request_rate is None
    assert burst.implied_prefill_tok_per_s == pytest.approx(0.99 * 900 * 999 / 1.3531694669699936)


def test_vllm_goodput_key_with_a_colon():
    """The key `request_goodput:` of older versions is the goodput."""
    result = json.loads(text("vllm_bench_save_result_l40s_10qps.json"))
    result["request_goodput:"] = 6.5
    assert read(json.dumps(result)).goodput_per_s == 6.5


def test_vllm_new_console_counts_failures():
    """Failed requests are in the number sent, and attainment is over all that were sent."""
    measured = sample("vllm_bench_serve_console_new.txt")
    assert (measured.completed, measured.failed, measured.sent) == (990, 10, 1000)
    assert measured.attainment == pytest.approx(4.0 * 220 / 1000)
    assert any("10 of 1,000 requests failed" in warning for warning in measured.warnings)
    assert measured.e2e_s.p90 == pytest.approx(4.6)


def test_vllm_failures_follow_from_the_number_of_prompts():
    """Where failures are not printed they are the prompts less the completed."""
    result = json.loads(text("vllm_bench_save_result_l40s_10qps.json")) | {"num_prompts": 320}
    assert read(json.dumps(result)).failed == 20


def test_vllm_speculative_decoding_is_noted():
    """The accepted length is kept, since a rate above one token a step is then no error."""
    measured = sample("vllm_bench_result_new.json")
    assert measured.accept_length == 2.2 and measured.loop == "closed"
    assert any("2.2 tokens a step" in note for note in measured.notes)


def test_sglang_console():
    """SGLang's console: closed loop of 100, 97.41 in flight as printed, X x mean end-to-end time agrees."""
    measured = sample("sglang_bench_serving_console_h20.txt")
    assert (measured.tool, measured.loop, measured.max_concurrency) == ("sglang-bench-serving", "closed", 100)
    assert measured.in_flight == measured.concurrency == 97.41
    assert measured.request_per_s * measured.e2e_s.mean == pytest.approx(97.41, rel=0.001)
    assert measured.tpot_s.mean == pytest.approx(0.07929)
    assert measured.itl_s.p95 == pytest.approx(0.11528)
    assert measured.accept_length == 2.86
    assert measured.warnings == ()


def test_sglang_jsonl_shows_the_latest_run():
    """A result file that was appended to gives its last line and keeps all as runs."""
    measured = sample("sglang_bench_serving.jsonl")
    assert measured.tool == "sglang-bench-serving"
    assert [run.max_concurrency for run in measured.runs] == [1, 16]
    assert measured.decode_tok_per_s == pytest.approx(50)
    assert measured.runs[0].prefill_tok_per_s == pytest.approx(1024 / 0.09)


def test_guidellm_tpot_is_converted():
    """Its TPOT of 79.6 ms has TTFT in it; over tokens - 1 and without TTFT it is 74.3 ms."""
    measured = sample("guidellm_console.txt")
    assert measured.tpot_s.median == pytest.approx(0.0743)
    assert measured.output_tokens == pytest.approx(256, abs=0.5)
    assert measured.tpot_s.median == pytest.approx((20.4 - 1.4659) / (measured.output_tokens - 1))
    assert any("79.6 ms" in note and "74.3 ms" in note for note in measured.notes)


def test_guidellm_tables_with_spanning_headers():
    """The latency and throughput tables are joined by row; all strategies are kept."""
    measured = sample("guidellm_console.txt")
    assert [run.concurrency for run in measured.runs] == [32, 64]
    assert [run.output_tok_per_s for run in measured.runs] == [414.5, 545.7]
    assert measured.e2e_s.p95 == 21.8


def test_guidellm_contradiction_is_said():
    """1.1 requests/s x 20.4 s is 22, not the printed 32 in flight: a warning says so."""
    assert any("22.4 requests in flight, but 32.0" in warning for warning in sample("guidellm_console.txt").warnings)


def test_guidellm_old_latency_is_in_seconds():
    """Old tables head the latency with ms and print seconds: shorter than TTFT can only be seconds."""
    measured = sample("guidellm_console_old.txt")
    assert measured.e2e_s.mean == 4.36
    assert measured.ttft_s.mean == pytest.approx(0.0598)
    assert (measured.prompt_tokens, measured.output_tokens, measured.completed) == (512.1, 256, 13)
    assert [run.loop for run in measured.runs] == ["closed", "burst", "open"]
    assert measured.runs[2].request_rate == 0.69
    assert measured.runs[1].failed == 1


def test_guidellm_json_report():
    """The report gives successful requests' figures, and unfinished ones count as failed."""
    measured = sample("guidellm_report.json")
    assert (measured.completed, measured.failed, measured.loop) == (100, 6, "closed")
    assert measured.tpot_s.mean == pytest.approx(0.01)
    assert measured.ttft_s.p99 == pytest.approx(0.375)
    assert (measured.prompt_tokens, measured.output_tokens) == (512, 201)


def test_guidellm_without_itl_converts_the_latency():
    """Where no ITL is given, TPOT is (latency - TTFT) / (tokens - 1)."""
    report = json.loads(text("guidellm_report.json"))
    del report["benchmarks"][0]["metrics"]["inter_token_latency_ms"]
    assert read(json.dumps(report)).tpot_s.mean == pytest.approx((2.25 - 0.25) / 200)


def test_aiperf_console():
    """The boxed console table is read, and the output length follows from the three means."""
    measured = sample("aiperf_console.txt")
    assert measured.ttft_s.mean == pytest.approx(0.01826)
    assert measured.tpot_s.p90 == pytest.approx(0.01173)
    assert measured.output_tokens == pytest.approx(1 + (487.30 - 18.26) / 11.23)


def test_aiperf_wrapped_names():
    """A name that wraps over lines is one name: throughput per user and in total stay apart."""
    measured = sample("aiperf_console_wrapped.txt")
    assert (measured.reported_decode_tok_per_s, measured.output_tok_per_s) == (100, 320)


def test_aiperf_csv():
    """Both sections of the CSV are read, quoted thousands included."""
    measured = sample("aiperf_export.csv")
    assert measured.e2e_s.mean == pytest.approx(3.29566)
    assert (measured.prompt_tokens, measured.completed, measured.request_per_s) == (2000, 70, 0.30)
    assert measured.duration_s == pytest.approx(230.70)


def test_genai_perf_csv():
    """The predecessor's CSV (`Time To`, `per sec`) gives the same fields."""
    measured = sample("genai_perf_export.csv")
    assert measured.ttft_s.median == pytest.approx(0.64007)
    assert (measured.output_tok_per_s, measured.completed) == (261.25, 40)


def test_aiperf_json():
    """The JSON export names model, concurrency, failures and goodput."""
    measured = sample("aiperf_export.json")
    assert (measured.model, measured.max_concurrency, measured.failed) == ("Qwen/Qwen3-0.6B", 4, 5)
    assert measured.attainment == pytest.approx(2.0 * 200 / 505)


def test_wrong_rate_is_said():
    """A printed throughput that is not completed / duration draws a warning."""
    result = json.loads(text("vllm_bench_save_result_l40s_10qps.json")) | {"request_throughput": 12.0}
    assert any("are 8.33 requests/s, but 12.0 is printed" in warning for warning in read(json.dumps(result)).warnings)


def test_goodput_above_throughput_is_said():
    """Goodput can't be more than throughput."""
    result = json.loads(text("vllm_bench_save_result_l40s_10qps.json")) | {"request_goodput": 9.9}
    assert any("Goodput 9.90" in warning for warning in read(json.dumps(result)).warnings)
