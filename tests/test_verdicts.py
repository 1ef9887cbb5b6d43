"""The sentences and bars that answer: what they say follows from the plan."""

from __future__ import annotations

import pytest

from planner import bits, cards, compared, headline, service, verdicts
from planner.findings import findings
from planner.fleet import fleet
from planner.plan import plan
from planner.rows import budget_rows
from planner.scenario import Scenario
from planner.units import digits, gib, rate, span
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
def test_fewer_bits_say_what_is_held_then_the_gain_alone(model: str) -> None:
    """The sentence on fewer bits has what each format holds, then how many times as fast one conversation is."""
    p = plan(Scenario.of(model=model, device="H200 141GB SXM", devices=8))
    table = bits.weights_table(p)
    now, then = table["format"].index("checkpoint"), table["format"].index("int4")
    tone, sentence = bits.verdict(p, table)
    gain, held = digits(table["mid"][then] / table["mid"][now], 2), min(table["conversations"][then], p.seqs)
    first, last = sentence.split(" Alone, ")
    assert tone == "good" and f"INT4 holds {held:,}" in first and f"{gain} times as fast with INT4" in last


@pytest.mark.parametrize(("users", "tone"), [(5, "good"), (40, "warn")])
def test_bits_lead_with_how_many_of_the_asked_are_held(users: int, tone: str) -> None:
    """Where the scenario's own format holds fewer than asked that is said first, as a warning."""
    p = plan(Scenario.of(model="Llama 3.1 70B FP8", device="A100 80GB SXM", users=users))
    answer = bits.verdict(p, bits.weights_table(p))
    said = {5: "As published holds all 5 conversations asked for", 40: f"As published holds {p.load.holds} of 40 con"}
    assert answer[0] == tone and answer[1].startswith(said[users])


def test_bits_past_capacity_are_bad_news() -> None:
    """Where the arrivals outrun the scenario's own format the sentence begins with that."""
    p = planned(rate=1000.0)
    tone, sentence = bits.verdict(p, bits.weights_table(p))
    assert tone == "bad" and sentence.startswith("BF16 cannot keep up with the arrivals")


def test_a_narrow_format_is_held_against_sixteen_bit() -> None:
    """Where nothing narrower is usual, the sentence says what the format saved and won."""
    p = planned(model="Qwen3 8B", device="RTX 4090", engine="llama.cpp", weights="Q4_K_M", users=1)
    sentence = bits.verdict(p, bits.weights_table(p))[1]
    assert "BF16 holds" in sentence and "times as fast as with BF16" in sentence


def test_speed_names_the_conversations_of_all_copies() -> None:
    """With several copies the conversations at once are those of all, with how they are dealt; cards sum over all."""
    p = planned(users=400, copies=4)
    assert "With 400 conversations at once (100 in each of 4 copies) each gets" in verdicts.each(p)
    assert p.decode.batch is not None
    card = next(c for c in cards.speed(p) if "together" in c[0])
    assert card[:2] == ("400 together, at most", f"{rate(4 * p.decode.batch.ceiling)} tokens/s")
    assert "(100 or 101 in each of 4 copies)" in verdicts.each(planned(users=402, copies=4))


@pytest.mark.parametrize(("choices", "slower"), [({"users": 60, "prompt": 4000}, True), ({"users": 2}, False)])
def test_speed_over_the_whole_answer_is_said_where_it_is_clearly_less(choices: dict[str, int], slower: bool) -> None:
    """Others' prompts in between are said exactly where they make a token clearly later, as 1 / TPOT."""
    p = planned(**choices)
    time = service.token_time(p)
    assert time is not None
    whole = f"and {rate(1 / time.high)} to {rate(1 / time.low)} over the whole answer, with others' prompts in between"
    assert (whole in verdicts.each(p)) == slower == any(c[0] == "Each, whole answer" for c in cards.speed(p))


def test_users_who_wait_are_no_good_news_for_speed() -> None:
    """With more users than are held the speed page warns, and the first token has the wait in it."""
    p = planned(users=5000)
    first = service.first_token(p)
    assert first is not None
    tone, sentence = verdicts.speed(p)
    assert tone == "warn" and sentence.startswith(f"Not everyone at once: {p.load.holds} of 5,000 users fit")
    assert f"the first token is expected after {span(first.low, first.high)}, that wait included" in sentence


@pytest.mark.parametrize(("choices", "said"), [
    ({"devices": 16}, "16 x H100 80GB SXM"), ({"devices": 8, "pipeline": 2}, "2 stages of 8 x H100 80GB SXM"),
    ({"pipeline": 2, "copies": 3}, "2 stages of 1 x H100 80GB SXM, 3 copies"),
    ({"devices": 4, "engine": "llama.cpp"}, "4 x H100 80GB SXM"),
])  # fmt: skip
def test_layouts_of_as_many_devices_read_differently(choices: dict[str, object], said: str) -> None:
    """Stages are told apart from devices that share each layer; engines that deal layers have one kind of layout."""
    assert verdicts.where(planned(**choices)) == said


def test_a_device_sold_in_sizes_is_named_with_the_one_counted() -> None:
    """The verdict names the size that is counted where there are several, whatever it answers, else it does not."""
    for users in (1, 5000):
        p = planned(model="Qwen3 8B", engine="llama.cpp", weights="Q4_K_M", device="Apple M4 Pro", users=users)
        assert "(64 GiB version)" in verdicts.fit(p, findings(p))[1]
    p = planned()
    assert "version" not in verdicts.fit(p, findings(p))[1] + verdicts.scenario(p)


def test_the_lines_end_where_memory_or_the_engine_does() -> None:
    """Where the engine admits fewer than memory holds, it is the engine that ends the lines."""
    p = planned(model="Qwen3 0.6B", max_num_seqs=64)
    assert p.memory.concurrent > 64 and verdicts.ends(p).startswith("The engine admits 64")
    full = planned(model="Llama 3.1 70B", devices=2)
    assert verdicts.ends(full) == f"Memory is full at {full.memory.concurrent}"


@pytest.mark.parametrize(("page", "choices", "code"), [
    ("speed", {"devices": 16}, "beyond-node"), ("speed", {"device": "A100 80GB SXM", "weights": "fp8"}, "no-fast-path"),
    ("speed", {"device": "L40S", "devices": 2}, "slow-link"), ("bits", {"device": "A100 80GB SXM", "weights": "fp8"},
     "no-fast-path"), ("people", {"users": 5000}, "holds-fewer"),
])  # fmt: skip
def test_findings_stand_on_the_pages_they_concern(page: str, choices: dict[str, object], code: str) -> None:
    """What concerns a page is shown on it."""
    shown, _ = headline.concerning(page, findings(planned(**choices)))
    assert code in {f.code for f in shown}


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


@pytest.mark.parametrize(("page", "choices", "tone"), [
    ("speed", {"devices": 16}, "warn"), ("fit", {"engine": "TensorRT-LLM", "device": "MI300X"}, "bad"),
    ("people", {"engine": "TensorRT-LLM", "device": "MI300X"}, "bad"), ("speed", {"devices": 4}, "good"),
    ("fit", {"devices": 16}, "good"),
])  # fmt: skip
def test_a_page_is_no_better_news_than_what_concerns_it(page: str, choices: dict[str, object], tone: str) -> None:
    """A warning or an error that concerns a page takes the tick from its verdict, and the verdict points at it."""
    p = planned(model="Llama 3.1 70B", users=2, **({"devices": 2} | choices))
    found = findings(p)
    plain = {"fit": verdicts.fit(p, found), "speed": verdicts.speed(p), "people": verdicts.people(p)}[page]
    answer = headline.minding(page, plain, found)
    assert plain[0] == "good" and answer[0] == tone
    assert answer[1] == plain[1] if tone == "good" else answer[1].startswith(plain[1]) and "stands below" in answer[1]
