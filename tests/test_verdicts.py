"""The sentences and bars that answer: what they say follows from the plan."""

from __future__ import annotations

import pytest

from planner import bits, compared, verdicts
from planner.findings import findings
from planner.fleet import fleet
from planner.plan import plan
from planner.rows import budget_rows
from planner.scenario import Scenario
from planner.units import digits, gib
from tests.making import planned


def test_what_is_asked_for_ends_past_the_mark_where_it_does_not_fit() -> None:
    """A bar ends past the memory exactly where fewer conversations fit than are asked for, and says how many."""
    for row in fleet(Scenario.of(model="Qwen3 32B", users=8, prompt=4096, output=512)):
        bars = budget_rows([row])
        past = sum(r["gib"] for r in bars) > bars[0]["usable"] * (1 + 1e-9)
        assert past == (row.fits != "fits"), row.device.label
        if row.fits == "holds fewer than asked":
            assert bars[0]["flag"] == f"! {row.budget.concurrent} of 8"


def test_a_bar_of_many_conversations_is_cut() -> None:
    """However many are asked for, a bar leaves room for the others, and says that it is cut."""
    rows = fleet(Scenario.of(model="Qwen3 32B", users=100_000, device="H100 80GB SXM"))
    own = next(r for r in rows if r.mine)
    bars = budget_rows([own])
    assert sum(r["gib"] for r in bars) < 1.5 * bars[0]["usable"] and "of 100,000 →" in bars[0]["flag"]


def test_a_smaller_reserve_is_explained_with_what_it_sets_aside() -> None:
    """Where the smallest change is to admit fewer, the verdict says what is set aside and what then fits."""
    p = plan(Scenario())
    found = findings(p)
    change = next(f.change for f in found if f.code == "holds-fewer")
    assert change is not None and set(change.choices) == {"max_num_seqs"}
    after = plan(p.scenario.change(**change.choices))
    sentence = verdicts.fit(p, found)[1]
    assert f"sets {gib(p.memory.activations)} aside" in sentence and f"holds {after.memory.concurrent}." in sentence


def test_past_capacity_every_page_says_so_alike() -> None:
    """Past capacity fit, speed and people answer alike, and nobody is said to have asked for a number."""
    p = planned(rate=1000.0)
    said = (verdicts.fit(p, findings(p)), verdicts.speed(p), verdicts.people(p))
    assert {tone for tone, _ in said} == {"bad"} and not any("asked for" in sentence for _, sentence in said)


def test_the_memory_said_to_be_the_engines_is_what_is_not_left_alone() -> None:
    """The verdict's share for the engine and what the budget leaves alone sum to the device."""
    p = planned(engine="llama.cpp", device="RTX 4090", users=1, weights="Q4_K_M", model="Qwen3 8B")
    sentence = verdicts.fit(p, findings(p))[1]
    assert p.memory.outside > 0 and f"the {gib(p.memory.usable - p.memory.outside)} that llama.cpp may take" in sentence


@pytest.mark.parametrize("model", ["Qwen3 8B", "DeepSeek-R1 671B"])
def test_fewer_bits_name_the_expected_gain_first(model: str) -> None:
    """The sentence on fewer bits has the ratio of expected speeds before that of ceilings."""
    p = plan(Scenario.of(model=model, device="H200 141GB SXM", devices=8))
    table = bits.weights_table(p)
    now, then = table["format"].index("checkpoint"), table["format"].index("int4")
    tone, sentence = bits.verdict(p, table)
    expected, ceiling = (digits(table[k][then] / table[k][now], 2) for k in ("mid", "ceiling"))
    last = sentence.split("As INT4")[1]
    assert tone == "good" and last.index(f"expect {expected} times as fast") < last.index(f"is {ceiling} times as high")


def test_a_narrow_format_is_held_against_sixteen_bit() -> None:
    """Where nothing narrower is usual, the sentence says what the format saved and won."""
    p = planned(model="Qwen3 8B", device="RTX 4090", engine="llama.cpp", weights="Q4_K_M", users=1)
    sentence = bits.verdict(p, bits.weights_table(p))[1]
    assert "against 16 bit" in sentence and "times as fast" in sentence


@pytest.mark.parametrize(
    "choices",
    [
        {"model": "Kimi K2 1T", "device": "RTX 4090"},
        {"model": "Kimi K2 1T", "device": "H200 141GB SXM", "devices": 8, "rate": 3.0, "load": "open"},
        {"model": "Llama 3.1 70B", "device": "L40S", "engine": "llama.cpp", "weights": "Q2_K", "devices": 2},
        {"model": "Qwen3 0.6B", "device": "EPYC 9654", "engine": "llama.cpp", "copies": 3, "users": 9},
        {"model": "Llama 3.1 8B", "device": "MI300X", "engine": "TensorRT-LLM"},
        {"model": "Llama 3.1 8B", "device": "L40S", "pipeline": 2, "rate": 0.01, "load": "open"},
    ],
    ids=lambda choices: " ".join(map(str, choices.values())),
)
def test_devices_and_bits_answer_in_whole_sentences(choices: dict[str, object]) -> None:
    """Whatever fits, runs or keeps up, the two pages answer in sentences without a figure that is none."""
    p = plan(Scenario.of(**choices))
    rows = fleet(p.scenario)
    said = [compared.devices(p, rows), bits.verdict(p, bits.weights_table(p)), ("good", bits.reading(p))]
    own = next(r for r in rows if r.mine)
    said += [("good", compared.compare(p.scenario, own, other)) for other in rows]
    for tone, sentence in said:
        assert tone in ("good", "warn", "bad") and sentence.endswith(".") and ".." not in sentence
        assert not any(word in sentence for word in (" nan", "None", "unlimited"))
    assert sum(compared.census(rows).values()) == len(rows)
