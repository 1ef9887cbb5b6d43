"""The memory budget: parts that sum, verdicts, and laws of more and less."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from planner import memory
from planner.devices import find_device, load_devices
from planner.engines import ENGINES
from planner.errors import PlannerError
from planner.memory import Budget, verdict
from planner.resolve import budget_of
from planner.scenario import Scenario
from tests.making import job, model, planned
from tests.test_work import KINDS

GIB = 2**30
DEVICES = ("RTX 4090", "L40S", "A100 80GB SXM", "H100 80GB SXM", "MI300X", "T4")


def room(**choices: Any) -> Budget:
    return budget_of(Scenario.of(**({"model": "Llama 3.1 8B", "weights": "bf16"} | choices)))


SCENARIOS = st.fixed_dictionaries({
    "model": st.sampled_from(KINDS), "device": st.sampled_from(DEVICES), "engine": st.sampled_from(list(ENGINES)),
    "devices": st.sampled_from([1, 2, 4, 8]), "pipeline": st.sampled_from([1, 1, 2, 3]),
    "utilization": st.floats(0.3, 1), "prompt": st.integers(1, 60_000), "output": st.integers(1, 8000),
    "kv": st.sampled_from(["bf16", "fp8"]), "weights": st.sampled_from(["checkpoint", "bf16", "fp8", "int4"]),
})  # fmt: skip


@given(SCENARIOS)
def test_parts_sum_to_the_usable_memory(choices: dict[str, Any]) -> None:
    """Weights, tables, activations, runtime, graphs, conversations and what is left alone are the whole of a device."""
    b = room(**choices)
    assert all(part >= 0 for part in b.parts.values())
    if b.short == 0:
        assert sum(b.parts.values()) == pytest.approx(b.usable)
        share = choices["utilization"]
        assert b.taken + b.pool <= b.usable * share * (1 + 1e-12)
    else:
        assert b.pool == 0 and b.concurrent == 0 and b.pool_tokens == 0
        assert sum(b.parts.values()) >= b.usable * (1 - 1e-12)


@given(SCENARIOS)
def test_what_is_held_fits_and_one_more_does_not(choices: dict[str, Any]) -> None:
    """The requests held take no more than the room, and one more would."""
    b = room(**choices)
    assume(b.short == 0)
    assert b.concurrent * b.request <= b.pool * (1 + 1e-9)
    assert (b.concurrent + 1) * b.request > b.pool * (1 - 1e-9)


@given(SCENARIOS, st.sampled_from(["prompt", "output", "kv", "weights", "utilization"]), st.data())
def test_more_never_holds_more(choices: dict[str, Any], what: str, data: st.DataObject) -> None:
    """Longer requests, wider weights or cache and a smaller share of memory never hold more requests."""
    more = {
        "prompt": choices["prompt"] + data.draw(st.integers(1, 9999)),
        "output": choices["output"] + data.draw(st.integers(1, 999)),
        "kv": "bf16", "weights": "bf16", "utilization": choices["utilization"] * 0.9,
    }[what]  # fmt: skip
    if what == "weights" and choices["weights"] == "checkpoint":
        choices = choices | {"weights": "fp8"}
    before, after = room(**choices), room(**(choices | {what: more}))
    assert after.concurrent <= before.concurrent
    assert after.short >= before.short * (1 - 1e-12)


@given(SCENARIOS)
def test_more_memory_never_holds_less(choices: dict[str, Any]) -> None:
    """The same scenario on a typed-in device with more memory holds at least as many requests."""
    custom = {"device": "custom", "device_bandwidth_gb_s": 1000.0, "device_tflops": 100.0,
              "max_num_seqs": 64, "max_num_batched_tokens": 2048}  # fmt: skip
    held = [room(**(choices | custom | {"device_memory_gib": g})).concurrent for g in (8.0, 24.0, 80.0, 192.0)]
    assert held == sorted(held)


def test_the_budget_of_a_plain_case() -> None:
    """A typed-in device of 100 GiB, all taken: room is what weights, tables, activations, runtime, graphs leave."""
    b = room(device="custom", device_memory_gib=100.0, device_bandwidth_gb_s=1000.0, device_tflops=100.0,
             utilization=1.0, prompt=4096, output=4096)  # fmt: skip
    assert b.usable == 100 * GIB
    assert b.weights == 16_060_522_496
    assert b.pool == pytest.approx(b.usable - b.weights - b.tables - b.activations - b.runtime - b.graphs)
    assert b.request == GIB
    assert b.concurrent == b.pool // GIB
    assert b.slope == 131_072 and b.fixed == 0


def test_pool_tokens_are_whole_blocks() -> None:
    """The pool holds whole blocks of 16 tokens, and not a block more."""
    for tokens in (100, 1000, 10_000):
        b = room(prompt=tokens, output=7)
        assert b.pool_tokens % 16 == 0
        assert 0 <= b.pool - b.pool_tokens * b.slope < 16 * b.slope


def test_a_pool_of_known_size_holds_its_tokens_on_every_device() -> None:
    """Two devices with 3.92 GiB of room each hold 64,224 tokens of 131,072 B, not twice as many: 7.84 GiB in all."""
    w = job("Llama 3.1 8B", tensor=2)
    device, engine = find_device("T4"), ENGINES["vLLM"]
    known = {"usable": 100 * GIB, "weights": 90 * GIB, "activations": 0.0, "runtime": 0.0}
    known["graphs"] = 10 * GIB - 3.92 * GIB
    b = memory.budget(w, device, engine, utilization=1, seqs=8, step_tokens=2048, request_tokens=4096, known=known)
    assert b.pool == pytest.approx(3.92 * GIB)
    assert b.slope == 65_536
    assert b.pool_tokens == 64_224
    assert 0 <= 7.84 * GIB - b.pool_tokens * 131_072 < 16 * 131_072


def test_replicated_heads_hold_half_of_what_more_devices_promise() -> None:
    """8 KV heads on 16 devices: as many conversations per device as on 8, give or take what weights leave free."""
    eight, sixteen = (room(model="Llama 3.1 70B", devices=n, prompt=8000, output=192) for n in (8, 16))
    assert sixteen.request == eight.request
    assert sixteen.slope == eight.slope


def test_attention_groups_each_hold_their_own_requests() -> None:
    """Eight groups on eight devices: each device holds whole conversations, the copy eight times as many."""
    groups = room(model="DeepSeek-R1 671B", weights="checkpoint", device="H200 141GB SXM", devices=8,
                  attention_data_parallel=8, prompt=8000, output=192)  # fmt: skip
    plain = room(model="DeepSeek-R1 671B", weights="checkpoint", device="H200 141GB SXM", devices=8,
                 prompt=8000, output=192)  # fmt: skip
    assert groups.request == plain.request
    assert groups.concurrent == int(groups.pool // groups.request) * 8 > plain.concurrent


def test_the_fullest_stage_decides() -> None:
    """With pipeline stages the budget is that of the stage that holds fewest, its figures that stage's alone."""
    whole, cut = room(model="Llama 3.1 70B", device="H200 141GB SXM"), room(model="Llama 3.1 70B", pipeline=4)
    assert cut.slope * 4 == whole.slope
    assert cut.request * 4 == whole.request
    assert whole.weights / 4 < cut.weights < whole.weights / 3


def test_window_pages_freed_hold_more() -> None:
    """An engine that frees pages of window layers holds more requests than one that keeps them."""
    freed, kept = (room(model="Gemma 3 4B", window_pages=w, prompt=30_000) for w in ("freed", "kept"))
    assert freed.concurrent > 3 * kept.concurrent
    assert freed.slope < kept.slope


def test_graphs_outside_the_share_come_on_top() -> None:
    """Where an engine takes graphs outside its share, the whole device cannot be promised to conversations."""
    old = room(engine="vLLM 0.20", utilization=1.0)
    seen = old.usable - memory.unseen_bytes(find_device("H100 80GB SXM"))
    assert old.pool + old.taken + old.graphs == pytest.approx(seen)


@pytest.mark.parametrize(
    ("short", "concurrent", "asked", "said"),
    [
        (1.0, 0, 1, "cannot load"), (0.0, 0, 1, "cannot hold one request"), (0.0, 4, 5, "holds fewer than asked"),
        (0.0, 5, 5, "fits"), (0.0, 6, 5, "fits"),
    ],
)  # fmt: skip
def test_the_four_verdicts(short: float, concurrent: int, asked: int, said: str) -> None:
    """Cannot load, cannot hold one, holds fewer, fits: each at its edge."""
    b = Budget(100, 0, 50, 1, 1, 1, 1, 10, short, 2, concurrent, 5, 1, 0, True, 0, 0, 2)
    assert verdict(b, asked) == said


def test_each_verdict_comes_up() -> None:
    """Real scenarios reach all four verdicts."""
    assert planned(model="Llama 3.1 70B").fits == "cannot load"
    assert planned(device="RTX 4090", prompt=100_000).fits == "cannot hold one request"
    assert planned(device="RTX 4090", users=500).fits == "holds fewer than asked"
    assert planned(users=8).fits == "fits"


def test_the_verdict_is_per_copy() -> None:
    """Users are dealt to the copies: what one cannot hold, several may."""
    held = room(device="RTX 4090", prompt=1024, output=256).concurrent
    assert planned(device="RTX 4090", users=held).fits == "fits"
    assert planned(device="RTX 4090", users=held + 1).fits == "holds fewer than asked"
    assert planned(device="RTX 4090", users=held + 1, copies=2).fits == "fits"


@pytest.mark.parametrize("engine", ENGINES)
def test_every_device_has_a_budget(engine: str) -> None:
    """Each device of the table gets a budget with each engine, without a negative part."""
    s = Scenario.of(model="Qwen3 8B", engine=engine)
    for device in load_devices():
        try:
            b = budget_of(s, device)
        except PlannerError as error:  # pragma: no cover
            pytest.fail(f"{device.label}: {error}")
        assert b.usable > 0 and all(part >= 0 for part in b.parts.values())


def budget(**choices: Any) -> Budget:
    return planned(**choices).memory


def test_a_shared_prefix_is_kept_once() -> None:
    """Twenty conversations over one cached document of 95,000 tokens take it once and what each adds twenty times."""
    long = {"prompt": 100_000, "output": 1_000, "users": 20}
    apart, shared = budget(**long), budget(**long, shared_prefix=95_000)
    per_token = 131_072
    blocks = 95_000 // 16 * 16
    assert shared.request == apart.request == -(-101_000 // 16) * 16 * per_token
    assert (shared.once, shared.own) == (blocks * per_token, shared.request - blocks * per_token)
    assert apart.concurrent == apart.pool // apart.request == 4
    assert shared.concurrent == (shared.pool - shared.once) // shared.own > 50
    assert shared.held(20) == shared.once + 20 * shared.own
    assert verdict(shared, 20) == "fits" and verdict(apart, 20) == "holds fewer than asked"


def test_an_engine_with_a_cache_for_each_slot_keeps_the_prefix_every_time() -> None:
    """llama.cpp holds as many conversations whether their beginning is the same or not."""
    choices = {"engine": "llama.cpp", "weights": "Q8_0", "prompt": 20_000}
    assert budget(**choices, shared_prefix=19_000).concurrent == budget(**choices).concurrent


@pytest.mark.parametrize("name", KINDS)
def test_sharing_never_takes_more_and_a_longer_prefix_never_holds_fewer(name: str) -> None:
    """For every kind of cache: requests apart are the most that is taken, and the prefix only helps, n = 1 included."""
    plain = budget(model=name, device="B300 288GB SXM", devices=8, prompt=20_000, users=500)
    before = plain.concurrent
    for prefix in (1, 100, 5_000, 19_999):
        m = budget(model=name, device="B300 288GB SXM", devices=8, prompt=20_000, users=500, shared_prefix=prefix)
        assert m.held(1) <= m.request == plain.request
        assert all(m.held(n) <= n * m.request for n in (1, 2, 10, 1000))
        assert m.concurrent >= before
        assert m.held(m.concurrent) <= m.pool < m.held(m.concurrent + 1)
        before = m.concurrent


def test_window_layers_share_what_their_window_still_sees() -> None:
    """A layer whose window is filled by each request's own tokens shares nothing of it; one that sees back does."""
    arch = model(layers=1)
    config = dict(arch.config) | {"model_type": "mistral", "sliding_window": 4096}
    near = budget(config=config, prompt=8_000, output=96, shared_prefix=7_984)
    assert near.once == 4096 * 4096 and near.own == (8_096 - 7_984) * 4096
    far = budget(config=config, prompt=8_000, output=4_096, shared_prefix=1_600)
    assert far.once == 1_600 * 4096 and far.own == far.request
