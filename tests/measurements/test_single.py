"""One request at a time: Ollama, llama-bench, llama.cpp, curl."""

import json

import pytest

from planner.measurements import read
from tests.measurements.samples import sample, text


def test_ollama_json_is_in_nanoseconds():
    """Ollama's durations become seconds, and its prefill rate is tokens over prompt_eval_duration."""
    chat = sample("ollama_chat_qwen32b.json")
    assert (chat.tool, chat.kind, chat.model) == ("ollama", "single", "qwen2.5:32b")
    assert chat.prefill_s == pytest.approx(6.606)
    assert chat.prefill_tok_per_s == pytest.approx(1144 / 6.606)
    assert chat.reported_decode_tok_per_s == pytest.approx(769 / 44.428)


def test_ollama_tpot_counts_one_step_less_than_tokens():
    """The generation clock starts at the first token, so TPOT divides by eval_count - 1."""
    generate = sample("ollama_generate.json")
    assert generate.tpot_s.mean == pytest.approx(4.289432 / 236)
    assert generate.tpot_s.mean == pytest.approx((generate.e2e_s.mean - generate.ttft_s.mean) / 236)
    assert generate.reported_decode_tok_per_s == pytest.approx(237 / 4.289432)


def test_ollama_load_is_no_part_of_ttft():
    """Loading the weights is kept apart and named when it was a large part of the first call."""
    generate = sample("ollama_generate.json")
    assert generate.load_s == pytest.approx(0.534986918)
    assert generate.ttft_s.mean == pytest.approx(4.935648287 - 0.534986918 - 4.289432)
    assert any("Loading the weights took 535 ms" in note for note in generate.notes)


def test_ollama_console_reads_go_durations():
    """`1m12.5s` and `97.885315ms` are read, and the rates follow from counts and times."""
    console = sample("ollama_verbose.txt")
    assert (console.prompt_tokens, console.output_tokens) == (1500, 701)
    assert (console.prefill_tok_per_s, console.decode_tok_per_s) == (600, pytest.approx(10))
    assert console.load_s == pytest.approx(0.097885315)


def test_ollama_stream_is_read_from_its_last_line():
    """Of a stream of JSON lines only the last one holds the figures."""
    stream = sample("ollama_stream.ndjson")
    assert stream.decode_tok_per_s == pytest.approx(50)
    assert stream.ttft_s.mean == pytest.approx(0.55)


def test_ollama_cached_prompt_has_no_prefill():
    """Without prompt_eval_count the prompt was cached: prefill is unknown, and a note says so."""
    answer = json.loads(text("ollama_chat_qwen32b.json"))
    del answer["prompt_eval_count"]
    measured = read(json.dumps(answer))
    assert measured.prompt_tokens is None and measured.prefill_tok_per_s is None
    assert any("came whole from the cache" in note for note in measured.notes)


@pytest.mark.parametrize(
    ("name", "prefill", "decode"),
    [
        ("llama_bench.md.txt", 2368.80, 131.42),
        ("llama_bench.csv", 2413.341687, 132.052051),
        ("llama_bench.json", 2410.974041, 130.965708),
        ("llama_bench_new.md.txt", 7340.20, 120.60),
        ("llama_bench_new.csv", 125.5, 12.25),
        ("llama_bench_new.jsonl", 125.5, 12.25),
        ("llama_bench_new.sql", 125.5, 12.25),
    ],
)
def test_llama_bench_headline(name, prefill, decode):
    """Each format, old and new, gives the pp and tg rates at depth 0 exactly as printed."""
    measured = sample(name)
    assert measured.tool == "llama-bench"
    assert (measured.prefill_tok_per_s, measured.decode_tok_per_s) == (prefill, decode)
    assert measured.tpot_s.mean == pytest.approx(1 / decode)
    assert measured.ttft_s.empty


def test_llama_bench_table_columns():
    """Depth, spread, model, device, size and build of a new table are read; a pp+tg row is neither."""
    measured = sample("llama_bench_new.md.txt")
    assert measured.version == "4dca015b (5572)"
    assert measured.device == "NVIDIA GeForce RTX 4090"
    assert [(row.test, row.prompt_tokens, row.output_tokens, row.depth) for row in measured.rows] == [
        ("pp", 512, 0, 0),
        ("tg", 0, 128, 0),
        ("pp", 512, 0, 4096),
        ("tg", 0, 128, 4096),
        ("pg", 512, 128, 0),
    ]
    assert measured.rows[2].stddev_tok_per_s == 18.88
    assert measured.rows[0].weight_bytes == pytest.approx(4.36 * 2**30)
    assert measured.rows[0].params == pytest.approx(7.62e9)


def test_llama_bench_csv_machine():
    """The CSV of 2023 names the GPU, the exact bytes and parameters, and the build."""
    row = sample("llama_bench.csv").rows[0]
    assert (row.device, row.weight_bytes, row.params) == ("NVIDIA GeForce RTX 3090 Ti", 3825065984, 6738415616)
    assert sample("llama_bench.csv").version == "3469684 (1275)"


def test_llama_server_timings_leave_the_first_token_out():
    """predicted_ms spans predicted_n - 1 steps; cached prompt tokens are no prefill."""
    measured = sample("llama_server_timings.json")
    assert measured.tpot_s.mean == pytest.approx(0.661064 / 34)
    assert measured.reported_decode_tok_per_s == pytest.approx(52.94494935437416)
    assert measured.prompt_tokens == 237
    assert measured.prefix_hit_rate == pytest.approx(236 / 237)
    assert measured.prefill_tok_per_s == pytest.approx(32.301828283480845)


def test_llama_cpp_log_lines():
    """`tokens` of the server count the first token, `runs` of the command line do not."""
    server, command, old = (
        sample(name) for name in ("llama_server_log.txt", "llama_cli_perf.txt", "llama_print_timings_old.txt")
    )
    assert server.tpot_s.mean == pytest.approx(9.1246 / 70)
    assert command.tpot_s.mean == pytest.approx(23.58266 / 602)
    assert command.reported_decode_tok_per_s == pytest.approx(25.53, abs=0.005)
    assert command.peak_memory_bytes == pytest.approx((6334.71 + 512) * 2**20)
    assert (old.prefill_tok_per_s, old.decode_tok_per_s) == (pytest.approx(500), pytest.approx(50))


def test_curl_times_start_at_pretransfer():
    """TTFT is starttransfer - pretransfer, and usage in the stream gives TPOT over tokens - 1."""
    measured = sample("curl_stream.txt")
    assert measured.ttft_s.mean == pytest.approx(0.25)
    assert measured.e2e_s.mean == pytest.approx(2.8)
    assert measured.tpot_s.mean == pytest.approx(2.55 / 255)
    assert measured.prompt_tokens == 1031


def test_curl_without_usage_has_no_tpot():
    """Without a token count there is no TPOT, and the note says how to get it."""
    measured = read("time_pretransfer: 0.010\ntime_starttransfer: 0.110\ntime_total: 1.110\n")
    assert measured.ttft_s.mean == pytest.approx(0.1) and measured.tpot_s.empty
    assert any("include_usage" in note for note in measured.notes)


def test_ollama_times_that_cannot_be_are_left_out():
    """A total shorter than loading and answering gives no time to the last token, and says why."""
    found = read(
        "total duration:       1.5s\nload duration:        90s\nprompt eval count:    10 token(s)\n"
        "prompt eval duration: 0.5s\neval count:           11 token(s)\neval duration:        1s\n"
    )
    assert found.e2e_s.mean is None and found.ttft_s.mean == 0.5
    assert any("is wrong" in note for note in found.notes)
