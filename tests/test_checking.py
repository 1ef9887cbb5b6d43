"""A measurement beside its plan, and calibration."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import efficiency
from planner.__main__ import main
from planner.checking import (
    CLEARED,
    adopted,
    chart_legend,
    chart_rows,
    compare,
    conditions,
    figure_table,
    headlines,
    limits,
    outlook,
    planned,
    run_rows,
    verdict,
)
from planner.load.closed import closed_loop
from planner.measurements import Measured, Stat, read
from planner.plan import plan
from planner.scenario import Scenario
from planner.share import link, read_link
from tests.measurements.samples import FOLDER, NAMES, sample, text

EIGHT = Scenario.of(model="Qwen3 8B", device="L40S", prompt=1024, output=256, users=1)
MIXTURE = Scenario.of(model="Qwen3 30B A3B", device="H100 80GB SXM", prompt=1024, output=256, users=16)
SCENARIOS = {
    "dense": EIGHT,
    "mixture": MIXTURE,
    "does not fit": Scenario.of(model="Llama 3.1 70B", device="L40S"),
    "several": Scenario.of(model="Llama 3.1 70B", devices=4, pipeline=2, copies=2, users=64),
    "open loop": EIGHT.change(load="open", rate=2.0),
    "typed in": Scenario.of(
        model="Qwen3 0.6B", device="custom", device_memory_gib=16, device_bandwidth_gb_s=40, device_tflops=0.5,
        engine="llama.cpp", weights="Q4_K_M",
    ),
}  # fmt: skip


def ollama(prefill_s: float, tpot_s: float, prompt: int = 1024, output: int = 257, model: str = "qwen3:8b") -> Measured:
    """What Ollama would print for such times."""
    decode = tpot_s * (output - 1)
    answer = {
        "model": model, "total_duration": round((prefill_s + decode) * 1e9), "load_duration": 0,
        "prompt_eval_count": prompt, "prompt_eval_duration": round(prefill_s * 1e9),
        "eval_count": output, "eval_duration": round(decode * 1e9),
    }  # fmt: skip
    return read(json.dumps(answer))


def served(tpot_s: float, together: float, prompt: float = 1024, output: float = 256, ttft_s: float = 0.3) -> Measured:
    """A closed loop with so many requests in flight."""
    return Measured(
        tool="vllm-bench-serve", label="vllm bench serve", kind="serving", prompt_tokens=prompt, output_tokens=output,
        in_flight=together, max_concurrency=together, loop="closed", ttft_s=Stat(mean=ttft_s, median=ttft_s),
        tpot_s=Stat(mean=tpot_s), decode_tok_per_s=1 / tpot_s, output_tok_per_s=0.95 * together / tpot_s,
    )  # fmt: skip


def usual(scenario: Scenario, measured: Measured) -> tuple[float, float]:
    """Expected seconds a token and seconds of prefill at the measured load."""
    p = plan(scenario)
    c = conditions(measured, p)
    base = efficiency.expectation(p.device, p.engine, p.work)
    return sum(limits.parts(p, c, base)), limits.prefill_band(p, c, base)[1].mid


def codes(measured: Measured, scenario: Scenario) -> list[str]:
    return [item.code for item in compare(measured, plan(scenario)).advice]


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=list(SCENARIOS))
def test_every_sample_can_be_held_against_every_scenario(scenario: Scenario) -> None:
    """Whatever tool's output meets whatever scenario, there is a sentence, a table and figures that JSON can carry."""
    p = plan(scenario)
    assert outlook(p)[1]
    assert chart_rows(planned(p)) and headlines(planned(p))
    for name in NAMES:
        measured = sample(name)
        found = compare(measured, p)
        assert verdict(found)[0] in ("good", "warn", "bad") and verdict(found)[1].endswith(".")
        assert len(figure_table(found)) == len(found.figures)
        json.dumps(found.as_dict(), allow_nan=False)
        run_rows(measured, p)
        adopted(measured, p)


def test_comparison_is_at_the_measured_load() -> None:
    """Prompt, answer and concurrency come from the output, not from the scenario."""
    far = EIGHT.change(prompt=100_000, output=5_000, users=64)
    measured = served(0.03, 8)
    near = compare(measured, plan(EIGHT))
    assert compare(measured, plan(far)).figure("decode") == near.figure("decode")
    assert (near.conditions.prompt, near.conditions.output, near.conditions.together) == (1024, 256, 8)
    assert near.conditions.assumed == ()


def test_figures_of_one_conversation_are_those_of_the_plan() -> None:
    """Ceiling, floor and bands of the measured load are what the other pages show for that scenario."""
    p = plan(EIGHT.change(output=257))
    found = compare(ollama(0.2, 0.02), p)
    decode, prefill = found.figure("decode"), found.figure("prefill")
    assert decode is not None and prefill is not None
    assert decode.limit == pytest.approx(p.decode.ceiling, rel=1e-12)
    assert decode.expected.mid == pytest.approx(p.decode.expected.mid, rel=1e-12)
    assert (prefill.limit, prefill.expected.high) == (p.prefill.floor, p.prefill.expected.high)


def test_load_that_is_not_stated_is_the_scenarios_and_said() -> None:
    """An output without lengths is compared at the scenario's, with a sentence for each."""
    measured = replace(served(0.03, 8), prompt_tokens=None, output_tokens=None, in_flight=None, max_concurrency=None)
    found = compare(measured, plan(EIGHT.change(users=4)))
    assert (found.conditions.prompt, found.conditions.output, found.conditions.together) == (1024, 256, 4)
    assert len(found.conditions.assumed) == 3


def test_bench_answers_start_at_their_own_depth() -> None:
    """llama-bench writes its answer behind the tokens of its row, not behind the prompt of another test."""
    c = conditions(sample("llama_bench_new.md.txt"), plan(EIGHT))
    assert (c.prompt, c.cached, c.context, c.together) == (512, 0, 64, 1)
    rows = run_rows(sample("llama_bench_new.md.txt"), plan(EIGHT))
    deeper = [row["At most, tokens/s"] for row in rows if "tg" in row["Test"]]
    assert deeper == sorted(deeper, reverse=True)


def test_queue_is_not_in_the_batch() -> None:
    """In a burst most requests wait: the batch is tokens per second x seconds a token, by Little's law."""
    p = plan(SCENARIOS["several"].change(copies=1))
    measured = replace(served(0.05, 200), loop="burst", max_concurrency=None, output_tok_per_s=400.0)
    assert conditions(measured, p).flight == pytest.approx(20)


def test_copies_share_what_is_in_flight() -> None:
    """Two copies hold half of the requests each."""
    p = plan(EIGHT.change(copies=2))
    assert conditions(served(0.03, 16), p).together == 8


def test_step_and_prefill_of_others_make_the_closed_loops_tpot() -> None:
    """The expected time per token is that of the closed loop, split in two."""
    p = plan(EIGHT)
    c = conditions(served(0.03, 8), p)
    base = efficiency.expectation(p.device, p.engine, p.work)
    loop = closed_loop(p.work, p.machine, base.decode, base.prefill, 8, 1024, 256)
    assert sum(limits.parts(p, c, base)) == pytest.approx(float(loop.tpot_s), rel=1e-12)


@settings(max_examples=25, deadline=None)
@given(slower=st.floats(0.8, 30), later=st.floats(0.8, 30))
def test_calibration_makes_the_measured_figure_the_middle(slower: float, later: float) -> None:
    """The scenario that was measured, calibrated, expects the measured decode rate and prefill time, to four digits."""
    tpot, prefill = usual(EIGHT, ollama(0.2, 0.02))
    measured = ollama(prefill * later, tpot * slower)
    found = compare(measured, plan(EIGHT))
    if found.calibration.refused:
        assert verdict(found)[0] == "bad"
        return
    p = plan(EIGHT.change(output=257, **found.calibration.choices))
    assert p.expectation.calibrated
    assert p.decode.expected.mid == pytest.approx(min(measured.decode_tok_per_s or 0, p.decode.ceiling), rel=1e-3)
    assert p.prefill.expected.mid == pytest.approx(max(measured.prefill_s or 0, p.prefill.floor), rel=1e-3)


@settings(max_examples=20, deadline=None)
@given(slower=st.floats(0.5, 30), together=st.floats(2, 64), name=st.sampled_from(["dense", "mixture"]))
def test_calibration_on_a_batch_makes_its_rate_the_middle(slower: float, together: float, name: str) -> None:
    """With others in flight too, what the calibrated scenario expects at the measured load is what was measured."""
    scenario = SCENARIOS[name]
    tpot, _ = usual(scenario, served(0.03, together))
    measured = served(tpot * slower, together)
    calibration = compare(measured, plan(scenario)).calibration
    if calibration.decode is None:
        assert calibration.refused or calibration.reasons
        return
    figure = compare(measured, plan(scenario.change(**calibration.choices))).figure("decode")
    assert figure is not None and figure.planned is not None and figure.measured is not None
    assert figure.planned == pytest.approx(min(figure.measured, figure.limit), rel=1e-3)


@settings(max_examples=25, deadline=None)
@given(decode=st.floats(0.01, 100), prefill=st.floats(0.01, 100), users=st.integers(1, 64))
def test_no_calibration_lifts_an_expectation_above_the_ceiling(decode: float, prefill: float, users: int) -> None:
    """Whatever factors a link carries, no expected speed passes ceiling or floor."""
    p = plan(MIXTURE.change(calibrated_decode=decode, calibrated_prefill=prefill, users=users))
    assert p.decode.expected.high <= p.decode.ceiling and p.prefill.expected.low >= p.prefill.floor
    assert p.decode.batch is not None and p.decode.batch.expected.high <= p.decode.batch.ceiling


def test_impossible_figures_are_called_out_and_refused() -> None:
    """A rate above the ceiling, a prompt read faster than its floor: said first, and no calibration."""
    for measured, code in (
        (ollama(0.2, 0.001), "decode above ceiling"),
        (ollama(0.001, 0.05), "prefill above peak"),
        (replace(served(0.02, 1, prompt=20, ttft_s=0.001)), "prefill below floor"),
        (replace(served(0.05, 8), output_tok_per_s=50_000), "together above ceiling"),
    ):
        found = compare(measured, plan(EIGHT))
        assert found.advice[0].code == code and verdict(found)[0] == "bad"
        assert "impossible" in found.calibration.refused and found.calibration.choices == {}


def test_a_first_token_too_early_for_an_assumed_prompt_is_no_praise() -> None:
    """The verdict says that the prompt's length is the scenario's, and neither praises nor condemns what follows."""
    quick = replace(served(0.03, 1, ttft_s=0.001), prompt_tokens=None)
    level, sentence = verdict(compare(quick, plan(EIGHT)))
    assert level == "warn"
    assert "the scenario's 1,024 prompt tokens" in sentence and "does not state how long its prompt was" in sentence
    # Behind 30,000 assumed tokens a step would take longer; behind none it would not.
    far = EIGHT.change(prompt=30_000)
    fast = replace(served(0.022, 1), prompt_tokens=None)
    found = compare(fast, plan(far))
    level, sentence = verdict(found)
    assert level == "warn" and "Decode reaches 45.5 tokens/s, more than the" in sentence
    assert not any(item.severity == "error" for item in found.advice) and found.calibration.decode is None
    assert verdict(compare(replace(fast, prompt_tokens=30_000.0), plan(far)))[0] == "bad"
    possible = replace(quick, ttft_s=Stat(mean=0.15, median=0.15))
    level, sentence = verdict(compare(possible, plan(EIGHT)))
    assert level == "good" and "the scenario's 1,024 prompt tokens: the output states none" in sentence
    stated = verdict(compare(replace(possible, prompt_tokens=1024.0), plan(EIGHT)))
    assert stated[0] == "good" and "scenario" not in stated[1]


def test_a_calibration_is_stored_with_the_digits_it_deserves() -> None:
    """Four significant digits of each factor go into the link."""
    found = compare(ollama(0.2123456789, 0.0312345678), plan(EIGHT)).calibration
    for factor in (found.decode, found.prefill):
        assert factor is not None and factor == float(f"{factor:.4g}")


def test_unstated_prompt_is_no_proof() -> None:
    """A TTFT that only the scenario's own prompt length makes impossible is not called so, nor taken as prefill."""
    quick = replace(served(0.05, 1, ttft_s=0.001), prompt_tokens=None)
    found = compare(quick, plan(EIGHT))
    assert not any(item.severity == "error" for item in found.advice)
    assert found.calibration.prefill is None


def test_experts_that_tokens_share_do_not_make_a_rate_impossible() -> None:
    """The ceiling of a batch counts the experts of one token: all tokens may ask for the same ones."""
    p = plan(MIXTURE)
    c = conditions(served(0.03, 16), p)
    assert p.decode.batch is not None
    assert 1 / limits.step_floor(p, c) > p.decode.batch.ceiling_per_user


def test_prefill_with_others_in_flight_is_not_calibrated() -> None:
    """TTFT that holds waiting leaves prefill alone, and the reason says how to measure it."""
    found = compare(served(0.05, 8), plan(EIGHT))
    assert found.calibration.prefill is None and "calibrated_prefill" not in found.calibration.choices
    assert any("one request at a time" in reason for reason in found.calibration.reasons)


def test_far_too_slow_is_not_an_efficiency() -> None:
    """A factor beyond the scenario's range is refused in words."""
    found = compare(ollama(0.3, 60.0), plan(EIGHT))
    assert found.calibration.decode is None
    assert any("times slower than expected" in reason for reason in found.calibration.reasons)


def test_calibration_travels_and_can_be_undone() -> None:
    """The link restores the factors exactly, and clearing them gives the scenario as it was."""
    choices = compare(ollama(0.2, 0.03), plan(EIGHT)).calibration.choices
    calibrated = EIGHT.change(**choices)
    back, notes = read_link(link(calibrated))
    assert back == calibrated and notes == []
    assert calibrated.change(**CLEARED) == EIGHT
    assert "Qwen3 8B on L40S" in choices["calibrated_on"] and "Ollama" in choices["calibrated_on"]


def test_advice_stays_with_published_figures_after_calibration() -> None:
    """A slow server stays slow: its own calibration does not make it usual."""
    tpot, prefill = usual(EIGHT, ollama(0.2, 0.02))
    measured = ollama(prefill, 4 * tpot)
    before = compare(measured, plan(EIGHT))
    after = compare(measured, plan(EIGHT.change(**before.calibration.choices)))
    assert before.advice == after.advice and after.calibration == replace(before.calibration, taken=True)
    assert "tune the stack" in [item.code for item in after.advice]


def test_tune_or_buy() -> None:
    """Slower than such servers: tune the stack; faster than their middle: only hardware or fewer bytes."""
    tpot, prefill = usual(EIGHT, ollama(0.2, 0.02))
    assert "tune the stack" in codes(ollama(prefill, 4 * tpot), EIGHT)
    assert "buy hardware" in codes(ollama(prefill, 0.98 * tpot), EIGHT)


def test_slow_prefill_alone_is_no_queue() -> None:
    """One request has nothing to wait for: a late first token is slow prefill."""
    _, prefill = usual(EIGHT, ollama(0.2, 0.02))
    found = codes(ollama(40 * prefill, 0.03), EIGHT)
    assert "slow prefill" in found and "high TTFT: queue" not in found


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("vllm_bench_result_new.json", []),
        ("aiperf_export.json", ["other model"]),
        ("vllm_bench_save_result_l40s_10qps.json", ["other model"]),
        ("llama_bench_new.md.txt", ["other device", "other engine", "other model", "other weights"]),
        ("ollama_chat_qwen32b.json", ["other engine", "other model"]),
    ],
)
def test_another_system_is_noticed(name: str, expected: list[str]) -> None:
    """Model, size, file, engine and device of the output are held against the scenario's; Qwen3 8B on an L40S."""
    assert sorted(code for code in codes(sample(name), EIGHT) if code.startswith("other")) == expected


def test_output_can_set_the_scenario() -> None:
    """What the output states becomes the scenario's, so that the comparison is of the same system."""
    p = plan(Scenario())
    choices = adopted(sample("llama_bench_new.md.txt"), p)
    assert choices == {
        "prompt": 512, "output": 128, "users": 1, "engine": "llama.cpp", "device": "RTX 4090", "weights": "Q4_K_M"
    }  # fmt: skip
    assert adopted(sample("vllm_bench_save_result_l40s_10qps.json"), p) == {
        "prompt": 999, "output": 270, "load": "open", "rate": 10.0, "device": "L40S", "devices": 4
    }  # fmt: skip
    assert adopted(sample("vllm_bench_result_new.json"), plan(EIGHT.change(users=8))) == {}


def test_speculative_decoding_is_compared_in_tokens() -> None:
    """With 2.2 tokens a step, ceiling and band are 2.2 times those of a step, and the calibration is of the step."""
    plain, several = served(0.05, 1), replace(served(0.05, 1), accept_length=2.2)
    one, more = (compare(m, plan(EIGHT)) for m in (plain, several))
    assert more.figures[0].limit == pytest.approx(2.2 * one.figures[0].limit)
    assert more.calibration.decode == pytest.approx(2.2 * (one.calibration.decode or 0), rel=1e-3)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["measure", *arguments])
    shown = capsys.readouterr()
    return status, shown.out, shown.err


def test_command_prints_what_was_measured(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a scenario the command prints the figures alone."""
    status, out, _ = run(capsys, str(FOLDER / "vllm_bench_result_new.json"))
    answer = json.loads(out)
    assert status == 0 and "comparison" not in answer and answer["tool"] == "vllm-bench-serve"


def test_command_compares_as_the_page_does(capsys: pytest.CaptureFixture[str]) -> None:
    """With a link, flags or both, it adds the comparison that the page shows."""
    status, out, _ = run(capsys, str(FOLDER / "vllm_bench_result_new.json"), "--link", link(EIGHT), "--device", "L4")
    expected = compare(sample("vllm_bench_result_new.json"), plan(EIGHT.change(device="L4"))).as_dict()
    assert status == 0 and json.loads(out)["comparison"] == expected


def test_command_takes_the_time_between_scrapes(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Scrapes without a time of their own give rates with --seconds; a time that cannot be is refused."""
    files = []
    for name in ("first", "second"):
        lines = [line for line in text(f"vllm_metrics_{name}.prom").splitlines() if "scraped_at" not in line]
        (tmp_path / name).write_text("\n".join(lines))
        files.append(str(tmp_path / name))
    _, out, _ = run(capsys, *files)
    assert json.loads(out)["output_tok_per_s"] is None
    _, out, _ = run(capsys, *files, "--seconds", "60")
    assert json.loads(out)["output_tok_per_s"] > 0
    for wrong in ("-3", "nan", "inf"):
        status, _, err = run(capsys, *files, "--seconds", wrong)
        assert status == 2 and err.startswith(f"--seconds {wrong}")


def test_command_refuses_junk_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """An output that nobody wrote: one line that names what was looked for, and status 2."""
    status, out, err = run(capsys, str(FOLDER / "README.md"))
    assert status == 2 and out == "" and err.count("\n") == 1 and "llama-bench" in err


@pytest.mark.parametrize(("gpu", "rate"), [("2xNVIDIA_L40S", 10), ("512xNVIDIA_L40S", 10), ("0xNVIDIA_L40S", 10),
                                           ("NVIDIA_L40S", 2_000_000)])  # fmt: skip
def test_what_is_adopted_is_a_scenario(gpu: str, rate: float) -> None:
    """Whatever an output states, the choices offered make a scenario that can be planned."""
    p = plan(Scenario.of(model="Llama 3.1 8B", device="L40S", devices=4, attention_data_parallel=4))
    saved = json.loads(text("vllm_bench_save_result_l40s_10qps.json")) | {"gpu": gpu, "request_rate": rate}
    plan(p.scenario.change(**adopted(read(json.dumps(saved)), p)))


def test_a_calibration_serves_no_more_than_arithmetic_allows() -> None:
    """Calibrated to half the expected times and less, the load still stays below the ceiling of what can be served."""
    s = Scenario.of(model="Llama 3.1 8B", prompt=1024, output=256, load="open", rate=60.0)
    free = plan(s.change(calibrated_decode=0.3, calibrated_prefill=0.1))
    assert not free.load.steady_state
    freest = plan(s.change(calibrated_decode=0.01, calibrated_prefill=0.01))
    assert free.load.capacity_per_s <= freest.load.capacity_per_s <= 33.71


def test_a_calibration_that_is_taken_is_known() -> None:
    """Once the scenario holds a paste's calibration, it is said to be taken, beside the published measurements."""
    tpot, prefill = usual(EIGHT, ollama(0.2, 0.02))
    measured = ollama(prefill, 4 * tpot)
    before = compare(measured, plan(EIGHT))
    after = compare(measured, plan(EIGHT.change(**before.calibration.choices)))
    assert not before.calibration.taken and after.calibration.taken
    assert "calibrated" not in verdict(before)[1]
    assert "calibrated on this measurement" in verdict(after)[1] and "published measurements" in verdict(after)[1]


def test_figures_are_of_one_copy() -> None:
    """With copies, bytes of a step and requests at once are those of one copy, whatever their number."""
    many = EIGHT.change(copies=4, users=32)
    one, four = compare(served(0.5, 8), plan(EIGHT)), compare(served(0.5, 32), plan(many))
    assert four.expected.weight_bytes_per_step == one.expected.weight_bytes_per_step
    assert four.conditions.together == one.conditions.together
    said = " ".join(a.sentence for a in four.advice)
    assert "8 conversations share each step of the 4 copies" in said and "32 conversations" not in said


def test_tuning_comes_first_where_the_verdict_says_so() -> None:
    """A server below what such servers reach is told to close that gap before it is told to change the load."""
    found = compare(served(0.5, 8), plan(EIGHT))
    assert "tune the stack" in verdict(found)[1]
    listed = [a.code for a in found.advice if a.sentence not in verdict(found)[1]]
    assert listed[0] == "tune the stack: gap" and "low rate: quantize" in listed


def test_what_is_impossible_has_no_share() -> None:
    """A figure past its limit is called faster than possible, and the legend names the mark that is drawn."""
    found = compare(ollama(1e-4, 0.02), plan(EIGHT))
    assert any("faster than possible" in (below or "") for *_, below in headlines(found.figures))
    assert "Red cross" in chart_legend(found.figures)
