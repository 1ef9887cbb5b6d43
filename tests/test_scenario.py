"""The scenario: strict about types, clear about ranges, the same under every name."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.devices import load_devices
from planner.errors import PlannerError
from planner.scenario import (
    DEFAULTS,
    MODELS,
    Scenario,
    bounds,
    example,
    expected,
    figure,
    find_model,
    kind,
    model_names,
    plain,
    short,
)  # fmt: skip
from planner.units import GIB

LLAMA = json.loads((MODELS / "llama-3.1-8b.json").read_text())
NUMBERS = [name for name in DEFAULTS if kind(name) in (int, float)]


def refused(**choices: Any) -> str:
    with pytest.raises(PlannerError) as caught:
        _ = Scenario.of(**choices).architecture
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


def test_every_number_has_a_range() -> None:
    """Each numeric field has a least and a most value, and a default inside."""
    for name in NUMBERS:
        low, high = bounds(name)
        assert low is not None and high is not None and low < high
        assert DEFAULTS[name] is None or low <= DEFAULTS[name] <= high


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_out_of_range_are_refused_by_name(name: str) -> None:
    """Below, above, not a number, infinite: the field, the value and the range are in the sentence."""
    low, high = bounds(name)
    assert low is not None and high is not None
    below = low - 1 if kind(name) is int else low - 0.001
    for value in (below, high * 2, float("nan"), float("inf"), float("-inf")):
        text = refused(**{name: value})
        assert text.startswith(f"{name} = ") and expected(name) in text
    assert getattr(Scenario.of(**{name: kind(name)(low)}), name) == low


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("value", ["8", True, [8], {"a": 1}, "many"])
def test_other_types_are_not_taken_for_numbers(name: str, value: Any) -> None:
    """Texts, truth values and lists are refused, not converted."""
    assert name in refused(**{name: value})


def test_whole_numbers_written_with_a_point_are_whole() -> None:
    """JSON does not tell 8.0 from 8, so it is taken; 2.5 users are not."""
    assert Scenario.of(users=8.0).users == 8 and isinstance(Scenario.of(users=8.0).users, int)
    assert "whole number" in refused(users=2.5)
    assert Scenario.of(rate=3).rate == 3.0


@pytest.mark.parametrize("value", ["yes", 1, 0, "true", []])
def test_only_truth_values_are_truth_values(value: Any) -> None:
    """True and false, nothing that might mean them."""
    assert "true or false" in refused(expert_parallel=value)


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"model": "GPT-9"}, ("GPT-9", "config.json")), ({"model": "llama 3.1"}, ("nearest", "Llama 3.1 8B")),
        ({"model": 7}, ("model = 7", "a text")), ({"device": "Cray-1"}, ("Cray-1", "typed in")),
        ({"engine": "steam"}, ("steam", "vLLM")), ({"weights": "int3"}, ("int3", "int4")),
        ({"kv": "int3"}, ("int3", "fp8")), ({"load": "sideways"}, ("sideways", "closed, open")),
        ({"window_pages": "torn"}, ("torn", "freed")), ({"colour": "red"}, ("colour", "not a setting")),
        ({"config": [1]}, ("config", "config.json")), ({"config": {"a": 1}}, ("hidden_size",)),
        ({"device": "custom"}, ("device_memory_gib", "device_bandwidth_gb_s", "device_tflops")),
        ({"device": "custom", "device_memory_gib": 8.0}, ("device_bandwidth_gb_s, device_tflops",)),
        ({"devices": 4, "attention_data_parallel": 3}, ("attention_data_parallel = 3", "devices = 4")),
        ({"device_name": "x" * 61}, ("60 characters",)),
    ],
)  # fmt: skip
def test_bad_choices_get_one_sentence(choices: dict[str, Any], words: tuple[str, ...]) -> None:
    """Each names what is wrong and what there is to choose from."""
    text = refused(**choices)
    assert all(word in text for word in words), text


@given(st.dictionaries(
    st.one_of(st.sampled_from(list(DEFAULTS)), st.text(max_size=8)),
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=10), st.lists(st.integers())),
    max_size=5,
))  # fmt: skip
def test_any_choices_give_a_scenario_or_one_sentence(choices: dict[str, Any]) -> None:
    """Whatever is passed, the answer is a valid scenario or a PlannerError."""
    try:
        s = Scenario.of(**choices)
        assert s.architecture.total_params > 0
        assert s.device_row.bandwidth > 0
    except PlannerError as error:
        assert str(error).strip()


def test_a_pasted_config_keeps_its_name_through_changes() -> None:
    """Changing a choice keeps the config and its name; without a name the config's own is used."""
    s = Scenario.of(config=LLAMA, model="Mine")
    assert s.change(users=9).architecture.name == "Mine"
    assert s.change(users=9).config == LLAMA
    assert Scenario.of(config=LLAMA).model == "llama"
    assert Scenario.of(config=LLAMA | {"_name_or_path": "org/thing"}).model == "org/thing"
    assert Scenario.of(config=LLAMA, model=" a\n b" + "x" * 200).model == "a b" + "x" * 77


@pytest.mark.parametrize("name", ["👨‍👩‍👧 box", "🏳️‍🌈", "ශ්‍රී", "می‌خواهم"])
def test_joiners_between_characters_stay(name: str) -> None:
    """An emoji of several stays one, and words that are spelled with joiners stay as they are."""
    assert plain(name) == name
    assert Scenario.of(config=LLAMA, model=name).model == name


@given(st.text(st.sampled_from("a \u200d\u200c👩\u0300\ud800\n\u202e"), max_size=12), st.integers(0, 12))
def test_a_plain_text_stays_as_it_is(text: str, most: int) -> None:
    """What is on one line, printable and short passes again unchanged, joiners at its ends and beside blanks gone."""
    once = short(text, most)
    assert short(once, most) == plain(once) == once and len(once) <= most
    assert once.encode() is not None and not once.startswith("\u200d") and "\u200d " not in once


def test_a_change_back_is_the_same_scenario() -> None:
    """Scenarios are values: equal choices are equal scenarios, and changes leave the first alone."""
    s = Scenario.of(users=5)
    assert s.change(users=6).change(users=5) == s
    assert s.users == 5
    with pytest.raises(Exception, match="frozen"):
        s.users = 7  # type: ignore[misc]


def test_choices_make_the_scenario_again() -> None:
    """What is printed as the scenario gives the same scenario, through JSON."""
    for s in (Scenario.of(), Scenario.of(config=LLAMA, model="Mine", rate=0.1, max_ttft=0.2)):
        assert Scenario.of(**json.loads(json.dumps(s.choices()))) == s


def test_arrivals_are_open_loop() -> None:
    """A rate alone means arrivals; users alone, or both with the loop named, mean what they say."""
    assert Scenario.of(rate=2.0).load == "open"
    assert Scenario.of(users=2).load == "closed"
    assert Scenario.of(users=2, rate=2.0).load == "closed"
    assert Scenario.of(users=2, rate=2.0, load="open").load == "open"


def test_a_prefix_leaves_the_last_token_of_the_prompt() -> None:
    """A prompt cannot be cached whole: its last token is computed."""
    assert Scenario.of(prompt=100, shared_prefix=100).shared_prefix == 99
    assert Scenario.of(prompt=1, shared_prefix=5).shared_prefix == 0


def test_models_are_found_by_name_and_file() -> None:
    """An example model answers to its name and its file's, in any case."""
    for name, path in model_names().items():
        assert find_model(name.upper()) == name
        assert find_model(path.stem) == name
        assert example(name).name == name
        assert example(name).recognised == "exact"


def test_devices_are_one_device_under_each_name() -> None:
    """A device by id, name or label is the same scenario."""
    for device in load_devices():
        assert Scenario.of(device=device.id) == Scenario.of(device=device.label) == Scenario.of(device=device.name)


def test_a_typed_in_device_has_the_figures_typed() -> None:
    """GiB, GB/s and TFLOP/s become bytes, bytes/s and FLOP/s."""
    s = Scenario.of(device="custom", device_memory_gib=24, device_bandwidth_gb_s=1008, device_tflops=165.2)
    row = s.device_row
    assert (row.memory_bytes_usable, row.bandwidth, row.peak("fp16")[0]) == (24 * GIB, 1008e9, 165.2e12)
    assert row.custom and row.label == "My device"
    for field in ("device_memory_gib", "device_bandwidth_gb_s", "device_tflops"):
        for edge in bounds(field):
            assert s.change(**{field: edge}).device_row.custom  # the scenario's range is the device's


@pytest.mark.parametrize(("value", "text"), [
    (1e-6, "0.000001"), (0.05, "0.05"), (0.0, "0"), (1_000_000, "1,000,000"), (100.0, "100"), (0.001, "0.001"),
])  # fmt: skip
def test_bounds_read_as_people_write_them(value: float, text: str) -> None:
    """A range is written without powers of ten."""
    assert figure(value) == text


def test_every_field_explains_itself() -> None:
    """Each choice has a sentence for the form and the command line's help, on one line and without a percent sign."""
    for name, field in Scenario.model_fields.items():
        assert field.description and len(field.description) < 100, name
        assert "%" not in field.description
