"""What figures mean beside the limits."""

from dataclasses import replace

import pytest

from planner.band import Band
from planner.measurements import Expected, Measured, Stat, advice, read, share_of_ceiling
from tests.measurements.samples import sample, text

# Four L40S: 181 TFLOP/s dense bf16 and 864 GB/s each; Llama 3.2 3B has 3.2e9 parameters.
L40S = Expected(flops_per_prompt_token=6.4e9, peak_flops=4 * 181e12)
ALONE = Measured(
    tool="x",
    label="x",
    kind="serving",
    prompt_tokens=1000,
    output_tokens=200,
    in_flight=8,
    ttft_s=Stat(mean=2.0, median=1.5, p99=9.0),
    tpot_s=Stat(mean=0.05),
    itl_s=Stat(median=0.04, p99=0.2),
    decode_tok_per_s=20,
)
LIMITS = Expected(
    prefill_floor_s=0.05,
    prefill_s=Band(0.08, 0.1, 0.15),
    decode_ceiling_tok_per_s=60,
    decode_tok_per_s=Band(30, 40, 50),
    weight_bytes_per_step=16e9,
    kv_bytes_per_step=4e9,
    bandwidth=1.2e12,
    weight_bits=16,
    token_budget=2048,
)


def _codes(measured, expected):
    return [item.code for item in advice(measured, expected)]


def test_prefix_cache_run_is_called_impossible():
    """The L40S burst would need 4.2 PFLOP/s of 0.72: it is said, with the prefix cache as the first cause."""
    found = advice(sample("vllm_bench_save_result_l40s_inf.json"), L40S)
    assert found[0].code == "prefill above peak" and found[0].severity == "error"
    assert "4,210 TFLOP/s" in found[0].sentence and "prefix cache" in found[0].sentence


def test_possible_run_is_not_called_impossible():
    """The run at 10 requests/s on the same machines is possible."""
    assert "prefill above peak" not in _codes(sample("vllm_bench_save_result_l40s_10qps.json"), L40S)


def test_decode_above_ceiling():
    """A rate above the ceiling names its causes; up to 2.4 % above is rounding of the vendor's bandwidth."""
    assert "decode above ceiling" in _codes(replace(ALONE, decode_tok_per_s=62), LIMITS)
    assert "decode above ceiling" not in _codes(replace(ALONE, decode_tok_per_s=61), LIMITS)


def test_speculative_decoding_is_divided_out():
    """With 2.5 tokens a step, 100 tokens/s are 40 steps/s: below a ceiling of 60."""
    fast = replace(ALONE, decode_tok_per_s=100, accept_length=2.5)
    assert share_of_ceiling(fast, LIMITS) == pytest.approx(40 / 60)
    assert "decode above ceiling" not in _codes(fast, LIMITS)


@pytest.mark.parametrize(
    ("rate", "code"), [(20, "tune the stack"), (35, "within band"), (45, "buy hardware"), (55, "buy hardware")]
)
def test_tune_or_buy(rate, code):
    """Below the band: tune; within it: some tuning; at its middle or near the ceiling: only hardware or fewer bytes."""
    assert code in _codes(replace(ALONE, decode_tok_per_s=rate), LIMITS)


def test_high_ttft_looks_at_the_queue_first():
    """Queue, prefix cache, token budget, in this order, each with the server's own figures."""
    usual = replace(LIMITS, token_budget=512, prefill_s=Band(0.3, 0.4, 0.5))
    found = [item for item in advice(ALONE, usual) if item.code.startswith("high TTFT")]
    assert [item.code for item in found] == ["high TTFT: queue", "high TTFT: prefix cache", "high TTFT: token budget"]
    assert "9.00 s, the median 1.50 s" in found[0].sentence
    assert "1,000 prompt tokens" in found[1].sentence
    assert "2 steps of 512" in found[2].sentence and "200 ms" in found[2].sentence


def test_a_prefix_cache_that_would_save_next_to_nothing_is_not_advised():
    """Half of 0.1 s of prefill is 2.5 % of a TTFT of 2 s, and 5 % of one of 1 s."""
    assert "high TTFT: prefix cache" not in _codes(ALONE, LIMITS)
    assert "high TTFT: prefix cache" in _codes(replace(ALONE, ttft_s=Stat(mean=1.0)), LIMITS)


def test_steps_against_one_symptom_stay_together():
    """Nothing stands between the steps against a high TTFT, although they weigh less than other advice."""
    worse = replace(ALONE, ttft_s=Stat(mean=1.0), preemptions=3.0)
    symptoms = [code.partition(":")[0] for code in _codes(worse, replace(LIMITS, token_budget=512))]
    once = list(dict.fromkeys(symptoms))
    assert symptoms == [symptom for symptom in once for _ in range(symptoms.count(symptom))]
    assert symptoms.count("high TTFT") == 3 and symptoms.count("low rate") == 3
    assert "preemptions" in symptoms


def test_a_prompt_that_fits_in_a_step_needs_no_larger_budget():
    """Where one step takes the whole prompt, a larger token budget is not advised."""
    assert "high TTFT: token budget" not in _codes(ALONE, LIMITS)


def test_short_ttft_needs_no_remedy():
    """TTFT near the expected prefill draws no advice; a limit below it does."""
    quick = replace(ALONE, ttft_s=Stat(mean=0.12, median=0.12))
    assert not any(code.startswith("high TTFT") for code in _codes(quick, LIMITS))
    assert any(code.startswith("high TTFT") for code in _codes(quick, replace(LIMITS, ttft_limit_s=0.1)))


def test_low_rate_remedies_carry_figures():
    """Quantize, context, batch: 16 GB at 16 bits to 8 lifts 20 GB to 12 GB, that is 1.7 times."""
    found = {item.code: item.sentence for item in advice(ALONE, LIMITS)}
    assert "16.0 GB of weights at 16 bits" in found["low rate: quantize"] and "1.7 times" in found["low rate: quantize"]
    assert "20%" in found["low rate: context"] and "1,100 tokens" in found["low rate: context"]
    assert "8 conversations" in found["low rate: batch"]


def test_fast_server_gets_no_low_rate_advice():
    """A rate within the band draws no remedy for low rates."""
    assert not any(code.startswith("low rate") for code in _codes(replace(ALONE, decode_tok_per_s=35), LIMITS))


def test_full_cache_and_preemptions():
    """A KV cache above 90 % and preempted requests are warnings."""
    codes = _codes(sample("vllm_metrics_old.prom"), Expected())
    assert "kv cache full" in codes
    assert "preemptions" in _codes(read(text("vllm_metrics_first.prom"), text("vllm_metrics_second.prom")), Expected())


def test_nothing_known_nothing_said():
    """Without limits there is no verdict on speed."""
    assert advice(sample("ollama_generate.json"), Expected()) == []
