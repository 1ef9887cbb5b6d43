"""Times of a pass: the textbook table, hand arithmetic, and that nothing beats the ceiling."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.devices import find_device, load_devices
from planner.engines import ENGINES
from planner.method import textbook
from planner.roofline import (
    CEILING,
    Machine,
    Overheads,
    compute_bound_from,
    decode_parts,
    decode_rate,
    decode_step,
    pipeline_part,
    prefill_parts,
    prefill_time,
    textbook_ceiling,
)
from planner.work import Work, total
from tests.making import job, model
from tests.test_work import KINDS

H100 = Machine(3.35e12, dict.fromkeys(("fp16", "fp8", "fp4", "int8"), 989.4e12))
LAYOUTS = st.sampled_from([
    {}, {"tensor": 4}, {"pipeline": 4}, {"tensor": 2, "pipeline": 3}, {"tensor": 8, "attention_data": 4},
    {"tensor": 8, "expert_parallel": True, "attention_data": 8},
])  # fmt: skip
WORKS = st.tuples(st.sampled_from(KINDS), LAYOUTS)


def of(choice: tuple[str, dict[str, Any]]) -> Work:
    return job(choice[0], "checkpoint", **choice[1])


def test_the_textbook_table() -> None:
    """16 GB of weights on 90, 600, 864, 1008, 2039 and 3350 GB/s give 6, 38, 54, 63, 127 and 209 tokens/s."""
    bandwidths = np.array([90, 600, 864, 1008, 2039, 3350]) * 1e9
    assert np.round(textbook_ceiling(bandwidths, 8e9 * 2)).tolist() == [6, 38, 54, 63, 127, 209]
    assert [row["Tokens/s"] for row in textbook()] == [6, 38, 54, 63, 127, 209]


def test_the_ceiling_of_one_conversation_is_bandwidth_over_bytes() -> None:
    """Llama 3.1 8B at 1,152 tokens reads 1.516e10 bytes a step: 221.0 tokens/s on an H100."""
    w = job("Llama 3.1 8B")
    read = (8_030_261_248 - 128_256 * 4096) * 2 + 1152 * 131_072
    assert read == pytest.approx(1.516e10, rel=1e-4)
    assert float(decode_rate(w, H100, 1, 1152)) == 3.35e12 / read
    assert round(3.35e12 / read, 1) == 221.0


def test_a_batch_reads_the_weights_once() -> None:
    """Eight conversations read the weights once and eight caches."""
    w = job("Llama 3.1 8B")
    weights, cache = float(w.weight_read(8)), float(w.caches.step_read(1152))
    assert float(decode_step(w, H100, 8, 1152)) == pytest.approx((weights + 8 * cache) / 3.35e12)


def test_prefill_is_flops_over_the_peak_or_the_weights_over_bandwidth() -> None:
    """A long prompt is bound by compute, a prompt of one token by reading the weights."""
    w = job("Llama 3.1 8B")
    long = float(total(w.prefill_flops(4096)))
    assert float(prefill_time(w, H100, 4096)) == pytest.approx(long / 989.4e12)
    assert float(prefill_time(w, H100, 1)) == pytest.approx(float(w.weight_read(1)) / 3.35e12, rel=1e-4)


def test_step_overheads_are_added_where_they_belong() -> None:
    """Per step and stage, per layer, per layer when tensor parallel, per sequence."""
    over = Overheads(step_s=1.0, layer_s=0.1, reduce_s=0.01, sequence_s=0.001)
    arch = model(layers=10)

    def added(batch: float, **layout: Any) -> float:
        w = job(arch, **layout)
        return float(decode_step(w, H100, batch, 100, over) - decode_step(w, H100, batch, 100))

    assert added(1) == pytest.approx(1.0 + 10 * 0.1 + 0.001)
    assert added(1, tensor=2) == pytest.approx(1.0 + 10 * 0.11 + 0.001)
    assert added(6, pipeline=2) == pytest.approx(2.0 + 10 * 0.1 + 0.003)


def test_pipeline_stages_do_not_speed_up_one_conversation() -> None:
    """One sequence passes all stages in turn; a large batch fills them all."""
    one, four = job("Llama 3.1 8B"), job("Llama 3.1 8B", pipeline=4)
    assert float(decode_step(four, H100, 1, 1000)) == float(decode_step(one, H100, 1, 1000))
    assert float(decode_rate(four, H100, 64, 1000)) == pytest.approx(4 * float(decode_rate(one, H100, 16, 1000)))


def test_attention_groups_share_the_batch() -> None:
    """With groups, a device attends for its own sequences only: one conversation costs what its own device does."""
    groups = job("DeepSeek-R1 671B", "checkpoint", tensor=8, attention_data=8)
    cache = float(groups.caches.step_read(100_000))
    for batch, own in ((1, 1), (8, 1), (64, 8)):
        _, seconds = decode_parts(groups, H100, batch, 100_000)
        assert float(seconds) * 3.35e12 == pytest.approx(float(groups.weight_read(batch)) + own * cache)
    # Products other than attention's are done for all sequences, wherever they live.
    alone, together = groups.step_flops(1, 1, 1), groups.step_flops(8, 1, 1)
    assert float(total(together)) > 2 * float(total(alone))


def test_accepted_tokens_multiply_the_rate() -> None:
    """Speculative decoding with 2.5 tokens per step gives 2.5 times the tokens."""
    w = job("Llama 3.1 8B")
    assert float(decode_rate(w, H100, 4, 1000, accepted=2.5)) == 2.5 * float(decode_rate(w, H100, 4, 1000))


@given(WORKS, st.integers(1, 2000), st.integers(1, 2000), st.integers(1, 100_000))
def test_a_larger_batch_gives_no_fewer_tokens_in_all_and_no_more_each(
    choice: tuple[str, dict[str, Any]], a: int, b: int, context: int
) -> None:
    """Tokens/s of all together do not fall with the batch, those of each do not rise."""
    w, (few, many) = of(choice), sorted((a, b))
    low, high = (float(decode_rate(w, H100, n, context)) for n in (few, many))
    assert low <= high * (1 + 1e-9)
    if few >= w.layout.pipeline:
        assert low / few >= high / many * (1 - 1e-9)


@given(
    WORKS, st.integers(1, 500), st.integers(1, 50_000), st.floats(0.05, 1), st.floats(0.05, 1), st.floats(0, 1e-3),
    st.floats(0, 1e-4),
)  # fmt: skip
def test_nothing_beats_the_ceiling(
    choice: tuple[str, dict[str, Any]], batch: int, tokens: int, memory: float, compute: float, step: float,
    layer: float,
) -> None:
    """With any shares below 1 and any overheads, steps and prompts take at least as long as at the ceiling."""
    w = of(choice)
    over = Overheads(memory, compute, step, layer, layer, layer)
    assert float(decode_step(w, H100, batch, tokens, over)) >= float(decode_step(w, H100, batch, tokens, CEILING))
    assert float(prefill_time(w, H100, tokens, 0, over)) >= float(prefill_time(w, H100, tokens))


@given(WORKS, st.integers(2, 50_000), st.data())
def test_a_cached_prefix_shortens_the_first_token_and_hardly_the_stream(
    choice: tuple[str, dict[str, Any]], tokens: int, data: st.DataObject
) -> None:
    """The more of the prompt is cached, the sooner the first token; never sooner than the weights are read."""
    w = of(choice)
    cached = sorted(data.draw(st.lists(st.integers(0, tokens - 1), min_size=2, max_size=4)))
    times = [float(prefill_time(w, H100, tokens, c)) for c in cached]
    assert all(later <= sooner * (1 + 1e-9) for sooner, later in pairwise(times))
    assert times[-1] >= float(w.weight_read(1)) / 3.35e12 * (1 - 1e-9)


@given(WORKS, st.integers(1, 20_000), st.integers(1, 20_000))
def test_longer_prompts_and_contexts_take_no_less(choice: tuple[str, dict[str, Any]], a: int, b: int) -> None:
    """Time of prefill and of a step does not fall with tokens."""
    w, (few, many) = of(choice), sorted((a, b))
    assert float(prefill_time(w, H100, few)) <= float(prefill_time(w, H100, many))
    assert float(decode_step(w, H100, 4, few)) <= float(decode_step(w, H100, 4, many))


@given(WORKS, st.integers(1, 4000))
def test_more_devices_are_no_slower(choice: tuple[str, dict[str, Any]], context: int) -> None:
    """At the ceiling, tensor parallelism does not slow a step."""
    w = of(choice)
    wider = job(choice[0], "checkpoint", **(choice[1] | {"tensor": 2 * w.layout.tensor}))
    for batch in (1, 50):
        before, after = (float(decode_step(each, H100, batch, context)) for each in (w, wider))
        assert after <= before * (1 + 1e-9)


@given(
    st.lists(st.integers(1, 300), min_size=1, max_size=4), st.lists(st.integers(1, 9000), min_size=1, max_size=4), WORKS
)  # fmt: skip
def test_arrays_are_scalars_in_a_loop(batch: list[int], tokens: list[int], choice: tuple[str, dict[str, Any]]) -> None:
    """A grid of batches and contexts gives what each pair gives."""
    w, over = of(choice), Overheads(0.8, 0.5, 1e-4, 1e-5, 1e-5, 1e-6)
    n, t = np.array(batch, float)[:, None], np.array(tokens, float)[None, :]
    steps, prompts = decode_step(w, H100, n, t, over), prefill_time(w, H100, t, np.floor(t / 2), over)
    for i, b in enumerate(batch):
        for j, c in enumerate(tokens):
            assert steps[i, j] == pytest.approx(float(decode_step(w, H100, b, c, over)), rel=1e-12)
            assert prompts[0, j] == pytest.approx(float(prefill_time(w, H100, c, c // 2, over)), rel=1e-12)


def test_machines_stack_into_arrays() -> None:
    """All devices at once give the times of each alone."""
    w, engine = job("Llama 3.1 8B", "fp8"), ENGINES["vLLM"]
    machines = [Machine.of(d, w, engine) for d in load_devices()]
    together = Machine.stack(machines)
    for n, m in enumerate(machines):
        assert decode_step(w, together, 8, 1000)[n] == float(decode_step(w, m, 8, 1000))
        assert prefill_time(w, together.bound, 1000)[n] == float(prefill_time(w, m.bound, 1000))


@pytest.mark.parametrize("device", ["h100-sxm", "rtx-4090", "l40s", "a100-sxm-80gb", "apple-m1-ultra"])
@pytest.mark.parametrize("name", ["Llama 3.1 8B", "Qwen3 30B A3B"])
@pytest.mark.parametrize("stages", [1, 3])
def test_the_crossover_is_the_first_batch_bound_by_compute(device: str, name: str, stages: int) -> None:
    """`compute_bound_from` finds what trying every batch finds."""
    w = job(name, pipeline=stages)
    machine = Machine.of(find_device(device), w, ENGINES["vLLM"])
    grid = np.arange(1, 20_001, dtype=float)
    for context in (16.0, 600.0):
        compute, memory = decode_parts(w, machine, pipeline_part(w, grid), context)
        over = np.flatnonzero(compute >= memory)
        assert compute_bound_from(w, machine, context, 20_000) == (int(grid[over[0]]) if len(over) else None)


def test_fp8_computes_at_16_bit_where_there_is_no_fp8() -> None:
    """On an A100, FP8 weights halve the bytes but not the time of a long prompt."""
    a100 = find_device("A100 80GB SXM")
    wide, narrow = job("Llama 3.1 8B"), job("Llama 3.1 8B", "fp8")
    at = {w: Machine.of(a100, w, ENGINES["vLLM"]) for w in (wide, narrow)}
    assert at[narrow].peaks["fp8"] == at[wide].peaks["fp16"]
    assert prefill_parts(narrow, at[narrow], 4096)[0] == pytest.approx(float(prefill_parts(wide, at[wide], 4096)[0]))
    assert float(decode_rate(narrow, at[narrow], 1, 0)) > 1.7 * float(decode_rate(wide, at[wide], 1, 0))


@pytest.mark.parametrize("weights", ["fp8", "int8", "int4", "nvfp4", "mxfp4"])
def test_narrow_weights_never_raise_the_floor_of_a_prompt(weights: str) -> None:
    """On no device is the floor of a prompt higher with fewer bits: narrow numbers can be widened to 16 bit."""
    wide, narrow = job("Llama 3.1 8B"), job("Llama 3.1 8B", weights)
    for device in load_devices():
        floor = {w: float(prefill_time(w, Machine.of(device, w, ENGINES["vLLM"]).bound, 4096)) for w in (wide, narrow)}
        assert floor[narrow] <= floor[wide] * (1 + 1e-9), device.id


def test_geforce_runs_fp8_at_twice_its_printed_rate() -> None:
    """An RTX 4090 multiplies FP8 with FP16 accumulation at 660.6 TFLOP/s (NVIDIA, Ada GPU architecture)."""
    bound = Machine.of(find_device("rtx-4090"), job("Llama 3.1 8B", "fp8"), ENGINES["vLLM"]).bound
    assert bound.peaks["fp8"] == pytest.approx(660.6e12, rel=1e-3)


def test_scaling_every_rate_scales_every_time() -> None:
    """A machine twice as fast in both takes half the time."""
    w = job("Llama 3.1 8B")
    twice = replace(H100, bandwidth=2 * 3.35e12, peaks={c: 2 * float(f) for c, f in H100.peaks.items()})
    assert float(decode_step(w, twice, 8, 1000)) == float(decode_step(w, H100, 8, 1000)) / 2
    assert float(prefill_time(w, twice, 1000)) == float(prefill_time(w, H100, 1000)) / 2
