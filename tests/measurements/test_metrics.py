"""vLLM's /metrics."""

import pytest

from planner.errors import MeasurementError
from planner.measurements import read
from tests.measurements.samples import sample, text

FIRST, SECOND = text("vllm_metrics_first.prom"), text("vllm_metrics_second.prom")


def test_idle_server_has_state_and_no_speed():
    """The idle scrape gives zeros where zero was printed and nothing where nothing was; `_created` is ignored."""
    idle = sample("vllm_metrics_idle.prom")
    assert (idle.kind, idle.running, idle.waiting, idle.kv_usage) == ("metrics", 0, 0, 0)
    assert idle.prefix_hit_rate is None and idle.decode_tok_per_s is None and idle.preemptions == 0
    assert any("No token was generated" in note for note in idle.notes)


def test_engines_are_summed():
    """Counts are summed over engines, labels in any order; the cache usage is a mean and stays within 0 to 1."""
    measured = read(FIRST)
    assert (measured.running, measured.completed, measured.failed) == (2, 20, 2)
    assert measured.kv_usage == pytest.approx(0.075)
    assert measured.prefix_hit_rate == pytest.approx(0.25)
    assert (measured.prompt_tokens, measured.output_tokens) == (1000, 202)


def test_histogram_mean_is_exact_and_quantiles_are_bracketed():
    """The mean is sum / count; a percentile shows the bucket that holds it."""
    itl, ttft = read(FIRST).itl_s, read(FIRST).ttft_s
    assert ttft.mean == pytest.approx(0.2)
    assert (itl.median_bracket, itl.p99_bracket) == ((0.01, 0.025), (0.025, 0.05))
    assert itl.median == pytest.approx(0.01 + 0.015 * 2010 / 3200)
    assert ttft.median_bracket == (0.1, 0.25)


def test_open_bucket_has_no_upper_bound():
    """A percentile in the last, open bucket is not invented: only its lower bound is given."""
    lines = (
        'vllm:time_to_first_token_seconds_bucket{le="0.1"} 1\nvllm:time_to_first_token_seconds_bucket{le="+Inf"} 9\n'
    )
    lines += "vllm:time_to_first_token_seconds_count 9\nvllm:time_to_first_token_seconds_sum 90\n"
    ttft = read(lines).ttft_s
    assert (ttft.mean, ttft.median, ttft.median_bracket) == (10, None, (0.1, None))


def test_two_scrapes_give_rates():
    """Between two scrapes 60 s apart: differences of the counters over the time, gauges of the later one."""
    measured = read(FIRST, SECOND)
    assert measured.duration_s == 60
    assert measured.output_tok_per_s == pytest.approx(2 * 2 * 2020 / 60)
    assert measured.request_per_s == pytest.approx(40 / 60)
    assert (measured.running, measured.waiting, measured.completed) == (6, 2, 40)
    assert measured.in_flight == pytest.approx(40 / 60 * 2.2)
    assert measured.queue_s.mean == pytest.approx(0.08)


def test_time_between_scrapes_may_be_given_or_missing():
    """Without a stamp the seconds are an argument; without both there are means and no rates."""
    first, second = (scrape.partition("\n")[2] for scrape in (FIRST, SECOND))
    assert read(first, second, seconds=30).request_per_s == pytest.approx(40 / 30)
    assert read(first, second).request_per_s is None
    assert read(first, second).ttft_s.mean == pytest.approx(0.2)


def test_swapped_scrapes_are_refused():
    """A counter that falls means swapped scrapes or a restart."""
    first, second = (scrape.partition("\n")[2] for scrape in (FIRST, SECOND))
    with pytest.raises(MeasurementError, match="smaller in the second scrape"):
        read(second, first)
    with pytest.raises(MeasurementError, match="older than the first"):
        read(SECOND, FIRST)


def test_old_names():
    """gpu_cache_usage_perc, time_per_output_token_seconds and the hit-rate gauge of older versions are read."""
    old = sample("vllm_metrics_old.prom")
    assert (old.kv_usage, old.waiting, old.prefix_hit_rate) == (0.97, 4, 0.3)
    assert old.itl_s.mean == pytest.approx(0.04)
    assert old.decode_tok_per_s == pytest.approx(25)
