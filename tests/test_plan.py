"""plan(): the answer to one scenario, its laws and its charts."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import curves
from planner.band import Band
from planner.errors import PlannerError
from planner.findings import findings
from planner.fleet import fleet
from planner.fleet_rows import device_rows
from planner.method import steps
from planner.plan import Plan, plan
from planner.plan_json import as_dict
from planner.rows import budget_rows
from planner.scenario import Scenario, example
from planner.share import link
from planner.work import total
from tests.making import job, planned
from tests.test_work import KINDS

CHOICES = st.fixed_dictionaries({
    "model": st.sampled_from(KINDS), "device": st.sampled_from(["H100 80GB SXM", "L40S", "MI300X", "RTX 4090"]),
    "engine": st.sampled_from(["vLLM", "vLLM 0.20", "SGLang", "llama.cpp"]), "devices": st.sampled_from([1, 2, 8]),
    "pipeline": st.sampled_from([1, 1, 3]), "copies": st.integers(1, 3), "expert_parallel": st.booleans(),
    "attention_data_parallel": st.sampled_from([1, 1, 2]), "weights": st.sampled_from(["checkpoint", "fp8", "int4"]),
    "prompt": st.integers(1, 30_000), "output": st.integers(1, 4000), "shared_prefix": st.integers(0, 9000),
    "users": st.integers(1, 600), "rate": st.floats(0.01, 50), "load": st.sampled_from(["open", "closed"]),
    "accepted": st.sampled_from([1.0, 2.0]),
}).map(lambda c: c if c["devices"] > 1 else c | {"attention_data_parallel": 1})  # fmt: skip


def ordered(band: Band) -> bool:
    return 0 < band.low <= band.mid <= band.high


@settings(max_examples=150)
@given(CHOICES)
def test_no_plan_breaks_the_laws(choices: dict[str, Any]) -> None:
    """Bands are ordered and below the ceiling, batches fit, Little's law holds, and all of it can be printed."""
    p = planned(**choices)
    d, f, flow = p.decode, p.prefill, p.load
    assert ordered(d.expected) and d.expected.high <= d.ceiling * (1 + 1e-12)
    assert ordered(f.expected) and f.expected.low >= f.floor * (1 - 1e-12)
    assert d.bytes_per_step == d.weight_bytes + d.cache_bytes
    held = p.memory.concurrent
    if d.batch:
        b = d.batch
        assert p.loads and ordered(b.expected) and b.expected.high <= b.ceiling * (1 + 1e-12)
        assert 1 <= b.size <= b.memory_full_at <= held
        assert b.size == min(p.asked, b.memory_full_at)
        assert b.ceiling * (1 + 1e-9) >= d.ceiling
        assert b.ceiling_per_user * b.size == pytest.approx(b.ceiling)
    else:
        assert held < 1 and not p.loads
    assert (p.fits == "fits") == (held >= p.asked)
    if flow.steady_state:
        assert flow.in_flight == pytest.approx(flow.arrivals_per_s * flow.time_in_system_s)  # type: ignore[operator]
    else:
        assert flow.in_flight is None and flow.time_in_system_s is None
    printed = as_dict(p, link(p.scenario), [])
    assert json.loads(json.dumps(printed, allow_nan=False)) == printed


@given(CHOICES)
def test_what_cannot_be_held_has_no_speed(choices: dict[str, Any]) -> None:
    """Where not one request fits, nothing that looks like a speed is printed."""
    p = planned(**(choices | {"device": "T4", "prompt": 300_000}))
    printed = as_dict(p, "", [])
    if p.memory.concurrent < 1:
        for part, names in {
            "decode": ("ceiling_tok_per_s", "expected_tok_per_s", "batch"), "prefill": ("floor_s", "expected_s"),
            "load": ("in_flight", "time_in_system_s", "utilization"),
        }.items():  # fmt: skip
            assert [printed[part][name] for name in names] == [None] * len(names)
        assert printed["load"]["capacity_per_s"] == 0
        assert printed["memory"]["max_concurrent_requests"] == 0


def test_the_ceiling_of_one_is_bandwidth_over_bytes_per_step() -> None:
    """The printed bytes and the printed rate belong together, with groups and stages too."""
    for layout in ({}, {"devices": 8}, {"pipeline": 4}, {"devices": 8, "attention_data_parallel": 8}):
        p = planned(model="Llama 3.1 8B", **layout)
        assert p.decode.ceiling == pytest.approx(3.35e12 / p.decode.bytes_per_step)


def test_flops_are_the_model_s_own() -> None:
    """FLOPs of a prompt do not depend on how many devices repeat some of them."""
    one = planned().prefill.flops
    assert one == float(total(job("Llama 3.1 8B").prefill_flops(1024)))
    for layout in ({"devices": 16}, {"pipeline": 2}, {"devices": 8, "attention_data_parallel": 4}):
        assert planned(**layout).prefill.flops == one


def test_a_cached_prefix_saves_time_to_first_token_and_not_the_stream() -> None:
    """A system prompt of 8,000 tokens costs each first token; cached, it costs little, and decode stays as it was."""
    cold, warm = (planned(prompt=8500, shared_prefix=n) for n in (0, 8000))
    assert warm.prefill.floor < 0.15 * cold.prefill.floor
    assert warm.prefill.expected.mid < 0.5 * cold.prefill.expected.mid
    assert warm.decode.ceiling == cold.decode.ceiling
    short = planned(prompt=500)
    assert cold.decode.ceiling > 0.9 * short.decode.ceiling
    assert cold.prefill.floor > 15 * short.prefill.floor


def test_the_engine_s_limits_bound_the_batch() -> None:
    """The batch in flight is what is asked, held and admitted; attention groups admit each for itself."""
    assert planned(users=64, max_num_seqs=16).decode.batch.size == 16  # type: ignore[union-attr]
    groups = planned(users=64, max_num_seqs=4, devices=8, attention_data_parallel=8)
    assert groups.decode.batch.size == 32  # type: ignore[union-attr]
    assert planned(users=7, copies=2).decode.batch.size == 4  # type: ignore[union-attr]


def test_engines_that_deal_layers_do_not_cut_them() -> None:
    """Devices of llama.cpp are stages: memory adds up, one conversation is no faster."""
    one, four = (planned(engine="llama.cpp", weights="Q8_0", devices=n) for n in (1, 4))
    assert four.layout.pipeline == 4 and four.layout.tensor == 1
    assert four.memory.weights < 0.35 * one.memory.weights
    assert four.decode.ceiling == one.decode.ceiling


def test_a_calibration_moves_the_middle() -> None:
    """A measured time over the expected one scales the expectation and narrows its band, never past the ceiling."""
    plain = planned()
    slow = planned(calibrated_decode=1.5, calibrated_prefill=2.0, calibrated_on="my box")
    assert slow.decode.expected.mid == pytest.approx(plain.decode.expected.mid / 1.5, rel=1e-6)
    assert slow.prefill.expected.mid == pytest.approx(plain.prefill.expected.mid * 2, rel=1e-6)
    assert slow.expectation.calibrated and "my box" in slow.expectation.basis
    assert planned(calibrated_decode=0.01).decode.expected.high == planned().decode.ceiling


def test_arrivals_ask_for_what_they_keep_in_flight() -> None:
    """In open loop a copy is asked for the requests that are in it; past capacity for more than it holds."""
    quiet = planned(rate=0.01)
    assert (quiet.asked, quiet.fits) == (1, "fits")
    busy = planned(rate=quiet.load.capacity_per_s * 0.9, copies=1)
    assert busy.load.in_flight is not None
    assert busy.asked == pytest.approx(busy.load.in_flight, abs=1)
    past = planned(rate=quiet.load.capacity_per_s * 2)
    assert not past.load.steady_state
    assert past.asked == past.load.holds + 1


@pytest.mark.parametrize("mode", [{"users": 40}, {"rate": 3.0}])
def test_the_fleet_agrees_with_the_plan(mode: dict[str, Any]) -> None:
    """The row of a device among all says what its own plan says."""
    choices = {"model": "Qwen3 32B", "weights": "bf16", "prompt": 2000, "output": 200, **mode}
    rows = {r.device.label: r for r in fleet(Scenario.of(**choices))}
    for label in ("H100 80GB SXM", "RTX 4090", "MI300X", "H200 141GB SXM", "A100 80GB SXM"):
        row, p = rows[label], planned(**choices, device=label)
        assert (row.fits, row.budget) == (p.fits, p.memory), label
        if not p.loads:
            assert (row.ceiling, row.low, row.mid, row.high, row.floor, row.ttft, row.cost) == (None,) * 7
            continue
        assert p.decode.batch is not None
        found = (row.ceiling, row.low, row.mid, row.high, row.floor, row.ttft, row.batch, row.total_ceiling)
        e = p.decode.expected
        assert found == pytest.approx(
            (p.decode.ceiling, e.low, e.mid, e.high, p.prefill.floor, p.prefill.expected.mid, p.decode.batch.size,
             p.decode.batch.ceiling)
        )  # fmt: skip


def test_cost_counts_every_device_of_every_copy() -> None:
    """USD per million tokens: the price of all devices for an hour over the tokens of all copies in it."""
    s = Scenario.of(model="Llama 3.1 8B", devices=2, copies=3, price=2.0)
    row = next(r for r in fleet(s) if r.mine)
    assert row.price == 12.0
    assert row.cost == pytest.approx(12.0 / 3600 / (row.total_mid or 0) * 1e6)


# Curves ------------------------------------------------------------------------------------------------------------


def columns_are_equal_in_length(columns: curves.Columns) -> bool:
    return len({len(values) for values in columns.values()}) == 1


@pytest.mark.parametrize(
    "choices",
    [{}, {"pipeline": 3}, {"devices": 8, "attention_data_parallel": 4}, {"rate": 2.0}, {"device": "RTX 4090"},
     {"model": "Mamba 2.8B"}, {"model": "Gemma 3 4B"}, {"model": "Kimi K2 1T"}, {"prompt": 1, "output": 1}],
)  # fmt: skip
def test_charts_have_rows_for_every_scenario(choices: dict[str, Any]) -> None:
    """Each chart's columns are of one length and finite, whatever the scenario; formulas can be filled in."""
    p = planned(**choices)
    for curve in (curves.memory_growth, curves.context_curve, curves.prompt_curve, curves.batch_curve,
                  curves.arrivals_curve):  # fmt: skip
        columns = curve(p)
        assert columns_are_equal_in_length(columns)
        for values in columns.values():
            assert all(np.isfinite(v) for v in values if not isinstance(v, str))
    assert all(step.filled and "nan" not in step.filled and "inf" not in step.filled for step in steps(p))


def on_curve(p: Plan, n: int) -> dict[str, Any]:
    c = curves.batch_curve(p)
    at = c["batch"].index(n)
    return {name: values[at] for name, values in c.items()}


def test_the_batch_curve_passes_through_the_plan() -> None:
    """At the plan's own batch the curve shows the plan's figures; and in all it never falls."""
    for choices in ({"users": 37}, {"users": 37, "pipeline": 4}):
        p = planned(**choices)
        b = p.decode.batch
        assert b is not None
        here = on_curve(p, b.size)
        assert (here["total_ceiling"], here["total_mid"], here["bound"]) == (b.ceiling, b.expected.mid, b.bound)
        c = curves.batch_curve(p)
        assert all(low <= high * (1 + 1e-9) for low, high in pairwise(c["total_ceiling"]))


def test_memory_ends_where_the_growth_line_meets_the_limit() -> None:
    """At the tokens where memory ends the asked conversations still fit, one token later they do not."""
    for layout in ({}, {"pipeline": 2}, {"devices": 2, "attention_data_parallel": 2}, {"shared_prefix": 512}):
        choices = {"users": 20, **layout}
        p = planned(**choices)
        end = curves.ends_at(p, p.asked)
        assert end is not None
        assert planned(**choices, prompt=end - 1, output=1).memory.concurrent >= 20
        assert planned(**choices, prompt=end, output=1).memory.concurrent < 20


def test_growth_is_what_the_budget_says() -> None:
    """At the request's own length, one conversation adds what the budget calls a request, on the fullest device."""
    p = planned(prompt=2047, output=1, pipeline=2)
    c = curves.memory_growth(p)
    at = next(i for i, (t, n) in enumerate(zip(c["tokens"], c["conversations"], strict=True)) if (t, n) == (2048, 1))
    assert c["bytes"][at] - p.memory.taken == pytest.approx(p.memory.request)


def test_budget_bars_sum_to_the_device() -> None:
    """The parts drawn for a device that loads are its usable memory."""
    p = planned()
    bars = [r for r in budget_rows(fleet(p.scenario)) if r["label"] == p.device.label]
    assert sum(r["gib"] for r in bars) == pytest.approx(p.memory.usable / 2**30)


def test_the_device_table_has_no_zero_for_unknown() -> None:
    """Blank where nothing is known or held, never 0."""
    for row in device_rows(fleet(Scenario.of(model="Llama 3.1 70B"))):
        for column in ("USD per hour", "At most, tokens/s", "Conversations held", "FP8 TFLOP/s"):
            assert row[column] != 0


@pytest.mark.parametrize("quantization", [{"quant_method": "foo"}, {"quant_method": "gptq", "bits": "x"}])
def test_unreadable_quantization_leaves_the_choice(quantization: dict[str, object]) -> None:
    """A checkpoint whose quantization cannot be read is refused as published, and planned in a format one chooses."""
    config = example("Llama 3.1 8B").config | {"quantization_config": quantization}
    with pytest.raises(PlannerError):
        plan(Scenario.of(config=config, model="odd"))
    chosen = plan(Scenario.of(config=config, model="odd", weights="fp8"))
    assert chosen.fits == "fits" and findings(chosen)


@pytest.mark.parametrize("output", [1, 2, 64])
def test_capacity_never_beats_the_prompts_arithmetic(output: int) -> None:
    """Each request needs its prompt read, so capacity times the floor of one prompt is at most 1."""
    p = plan(Scenario.of(model="Llama 3.1 8B", prompt=1024, output=output, rate=500.0))
    assert p.load.capacity_per_s * p.prefill.floor <= 1 + 1e-9 and not p.load.steady_state


def test_a_stage_without_caches_limits_nothing() -> None:
    """A pipeline stage whose layers share other layers' caches is not the fullest device."""
    one, two = (plan(Scenario.of(model="Gemma 4 E2B", device="RTX 4090", pipeline=n)) for n in (1, 2))
    assert two.memory.request > 0 and two.memory.concurrent >= one.memory.concurrent


def test_gguf_engines_ignore_a_checkpoints_cache_format() -> None:
    """The cache format that a Hugging Face checkpoint asks for is not llama.cpp's."""
    assert plan(Scenario.of(model="Llama 3.1 70B FP8", engine="llama.cpp", device="MI300X")).kv == "bf16"
