"""Links: every choice there and back, and the gate that takes whatever comes in."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import Any
from urllib.parse import parse_qs, urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.architecture import read_config
from planner.devices import load_devices
from planner.engines import ENGINES
from planner.errors import LinkError, PlannerError
from planner.plan import plan
from planner.precision import FORMATS, KV_FORMATS
from planner.scenario import DEFAULTS, Scenario, bounds, kind, model_names
from planner.share import (
    decode_config,
    encode_config,
    labels,
    link,
    parameters,
    read_link,
    read_number,
    read_scenario_file,
    scenario_file,
    scenario_from,
    vet,
)  # fmt: skip
from tests import corpus

LLAMA = json.loads((corpus.FOLDER.parents[2] / "data" / "models" / "llama-3.1-8b.json").read_text())

# One value other than the default for every field.
OTHER: dict[str, Any] = {
    "model": "Llama 3.1 8B", "device": "MI300X", "device_name": "Lab box", "device_memory_gib": 47.5,
    "device_bandwidth_gb_s": 1234.5, "device_tflops": 0.125, "device_tflops_8bit": 123.5, "device_kind": "cpu",
    "devices": 4, "pipeline": 2, "copies": 3,
    "expert_parallel": True, "attention_data_parallel": 2, "engine": "SGLang", "weights": "int4", "kv": "fp8",
    "utilization": 0.123456789, "prompt": 7777, "output": 99, "shared_prefix": 512, "load": "open", "users": 21,
    "rate": 1 / 3, "max_num_seqs": 17, "max_num_batched_tokens": 4096, "accepted": 2.5, "window_pages": "kept",
    "state": "bf16", "max_ttft": 0.25, "max_tpot": 0.02, "calibrated_decode": 1.1, "calibrated_prefill": 0.9,
    "calibrated_on": "vllm bench, 3 May & more", "price": 1.99,
}  # fmt: skip


def back(s: Scenario) -> Scenario:
    found, notes = read_link(link(s, "https://example.org/Fit"))
    assert notes == []
    return found


def test_every_field_has_a_value_to_try() -> None:
    """A field that is added to the scenario is added to these tests."""
    assert set(OTHER) | {"config"} == set(DEFAULTS)


@pytest.mark.parametrize("field", OTHER)
def test_a_link_restores_each_choice(field: str) -> None:
    """A scenario that differs from the default in one choice comes back equal."""
    needed = {"attention_data_parallel": {"devices": 4}}.get(field, {})
    s = Scenario.of(**{field: OTHER[field]}, **needed)
    assert getattr(s, field) == OTHER[field]
    assert back(s) == s


def test_a_link_restores_all_choices_at_once() -> None:
    """A scenario that differs in every choice comes back equal."""
    assert back(Scenario.of(**OTHER)) == Scenario.of(**OTHER)


def test_a_link_restores_a_typed_in_device_and_a_pasted_config() -> None:
    """A custom device and a config travel whole, also in its name's odd characters."""
    s = Scenario.of(**(OTHER | {"device": "custom", "config": LLAMA, "model": "Łlama & co 🦙 + 100 %?#"}))
    assert back(s) == s
    assert back(s).config == LLAMA


@pytest.mark.parametrize("device", [d.label for d in load_devices()])
def test_every_device_label_travels(device: str) -> None:
    """Each device of the table is found again by the text that links carry."""
    assert vet({"device": [device]}) == ({"device": device}, [])


@pytest.mark.parametrize(
    ("field", "value"),
    [*(("weights", f) for f in FORMATS), *(("kv", f) for f in KV_FORMATS), *(("engine", e) for e in ENGINES)],
)
def test_every_option_travels(field: str, value: str) -> None:
    """Each format and engine is found again by the text that links carry."""
    s = Scenario.of(**{field: value})
    assert back(s) == s


def test_option_texts_are_unambiguous() -> None:
    """No two values of a field share an option text, whatever the case."""
    for field in DEFAULTS:
        texts = [text.lower() for text in labels(field).values()]
        assert len(set(texts)) == len(texts), field


def _same_plan(s: Scenario, t: Scenario) -> bool:
    a, b = plan(s), plan(t)
    return (a.memory, a.decode, a.prefill, a.load, a.fits) == (b.memory, b.decode, b.prefill, b.load, b.fits)


@pytest.mark.parametrize("name", model_names())
def test_the_link_of_an_example_model_restores_its_plan(name: str) -> None:
    """An example model in a link gives the same figures, named and as a pasted config."""
    s = Scenario.of(model=name)
    assert _same_plan(s, back(s))
    pasted = Scenario.of(config=dict(s.architecture.config), model=name)
    assert back(pasted) == pasted
    assert _same_plan(pasted, back(pasted))


def test_every_real_config_survives_its_link() -> None:
    """The config that a link carries reads as the same model with the same plan, for each config of the corpus."""
    differ, long = [], []
    for row in corpus.rows():
        try:
            s = Scenario.of(config=corpus.read(row).config, model=row["id"])
            p = plan(s)
        except PlannerError:
            continue  # refused with a sentence; such a config never gets into a link
        found = back(s)
        if found != s or plan(found).memory != p.memory or plan(found).decode != p.decode:
            differ.append(row["file"])
        long.append(len(link(s)))
    assert differ == []
    assert len(long) > 300
    typical = sorted(long)[len(long) // 2]
    assert typical < 1_000, typical


def test_links_of_plain_configs_stay_under_a_thousand_characters() -> None:
    """The link of a usual pasted config, with every setting spelled out and an address before it, is short."""
    for file in ("llama-3.1-8b", "qwen3-30b-a3b", "gemma-3-4b", "mixtral-8x7b"):
        text = (corpus.FOLDER.parents[2] / "data" / "models" / f"{file}.json").read_text()
        arch = read_config(text, name=file)
        s = Scenario.of(config=arch.config, model=file)
        assert len(link(s, "https://planner.example.org/How_fast")) < 1_000, file


def test_reading_a_link_in_full_config_or_used_keys_is_the_same_code() -> None:
    """The same content gives the same code, so links can be compared."""
    assert encode_config("x", LLAMA) == encode_config("x", dict(LLAMA))
    assert decode_config(encode_config("x", LLAMA)) == ("x", LLAMA)


# The gate ----------------------------------------------------------------------------------------------------------

TEXTS = st.one_of(
    st.text(max_size=30),
    st.sampled_from(["", " ", "0", "-1", "1e309", "nan", "inf", "1,024", "2.5", "true", "maybe", "custom", "9" * 400]),
    st.sampled_from(sorted({str(v) for v in OTHER.values()} | {t for f in DEFAULTS for t in labels(f).values()})),
    st.integers().map(str), st.floats().map(str),
)  # fmt: skip
KNOWN = st.sampled_from([*DEFAULTS, "config", "v", "tp", "pp", "dp", "prefix", "embed"])
NAMES = st.one_of(KNOWN, st.text(max_size=12))


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(NAMES, st.lists(TEXTS, max_size=3), max_size=12))
def test_the_gate_takes_anything(params: dict[str, list[str]]) -> None:
    """It never raises nor changes its input; what it returns makes a scenario and passes again without a word."""
    before = {name: list(values) for name, values in params.items()}
    clean, notes = vet(params)
    assert params == before
    assert vet({name: [text] for name, text in clean.items()}) == (clean, [])
    s = scenario_from(clean)
    _ = s.architecture, s.device_row
    assert all(note and "\n" not in note and note.endswith(".") and len(note) < 700 for note in notes)


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_reading_any_text_as_a_link_is_a_scenario_or_one_sentence(text: str) -> None:
    """Junk in place of a link gives a scenario with notes or a LinkError, never anything else."""
    try:
        s, _ = read_link(text)
    except PlannerError as error:
        assert str(error)
    else:
        assert s.prompt >= 1


BASE = parameters(Scenario.of(**(OTHER | {"config": LLAMA, "model": "mine"})))


@pytest.mark.parametrize(
    ("field", "text", "word", "value"),
    [
        ("users", "0", "from 1 to 1,000,000", 1),
        ("users", "99999999999", "from 1 to 1,000,000", 1_000_000),
        ("users", "2.5", "whole number", 2),
        ("users", "lots", "not a number", DEFAULTS["users"]),
        ("users", "nan", "not a number", DEFAULTS["users"]),
        ("rate", "-3", "from 0.000001 to", 1e-6),
        ("rate", "inf", "to 1,000,000", 1_000_000.0),
        ("rate", "1e-9", "shows 0.000001", 1e-6),
        ("rate", "0,5", "a point before the decimals", DEFAULTS["rate"]),
        ("price", "2,50", "not a number", None),
        ("users", "1,5", "not a number", DEFAULTS["users"]),
        ("users", "1_000", "not a number", DEFAULTS["users"]),
        ("max_ttft", "0", "left out", None),
        ("max_tpot", "1e-9", "shows 0.000001", 1e-6),
        ("utilization", "7", "0.05 to 1", 1.0),
        ("price", "0", "from 0.000001 to", None),
        ("utilization", "0", "left out", None),
        ("utilization", "0.01", "shows 0.05", 0.05),
        ("expert_parallel", "perhaps", "true or false", False),
        ("load", "sideways", "Users at once", "closed"),
        ("engine", "vroom", "vLLM", DEFAULTS["engine"]),
        ("weights", "int3", "expected", "checkpoint"),
        ("kv", "int3", "expected", "auto"),
        ("device", "Cray-1", "device table", DEFAULTS["device"]),
        ("window_pages", "torn", "Freed", "engine"),
        ("calibrated_on", "x" * 81, "cut", "x" * 80),
    ],
)
def test_one_bad_value_costs_one_sentence_and_nothing_else(field: str, text: str, word: str, value: Any) -> None:
    """A value out of range or unknown is named in one sentence; every other choice stays as the link says."""
    usual = scenario_from(vet({name: [t] for name, t in BASE.items()})[0])
    clean, notes = vet({name: [text if name == field else t] for name, t in BASE.items()})
    assert len(notes) == 1
    assert field in notes[0] and word in notes[0]
    s = scenario_from(clean)
    assert getattr(s, field) == value
    assert {n: v for n, v in s if n != field} == {n: v for n, v in usual if n != field}


def test_a_setting_given_twice_is_said_and_the_first_is_shown() -> None:
    """Duplicated parameters, also under a former name, cost one sentence."""
    clean, notes = vet({"users": ["3", "4"], "prompt": ["100"]})
    assert clean["users"] == "3" and len(notes) == 1 and "2 times" in notes[0]
    clean, notes = vet({"devices": ["2"], "tp": ["8"]})
    assert clean["devices"] == "2" and len(notes) == 1 and "devices 2 times" in notes[0]
    assert vet({"devices": ["2"], "tp": ["2"]}) == ({"devices": "2"}, [])
    assert vet({"users": ["3", "3"]})[1] == []


def test_former_names_still_work() -> None:
    """Links with the names of earlier versions give the same scenario without a word."""
    clean, notes = vet({"tp": ["4"], "pp": ["2"], "dp": ["3"], "prefix": ["100"]})
    s = scenario_from(clean)
    assert (s.devices, s.pipeline, s.copies, s.shared_prefix, notes) == (4, 2, 3, 100, [])


def test_unknown_settings_are_named() -> None:
    """A setting the planner has not heard of is named and ignored; those of Streamlit itself pass."""
    clean, notes = vet({"colour": ["red"], "embed": ["true"], "embed_options": ["dark_theme"], "users": ["3"]})
    assert clean == {"users": "3"}
    assert len(notes) == 1 and "colour" in notes[0]


def test_many_unknown_settings_cost_one_sentence() -> None:
    """The first few unknown names are told, the others counted."""
    clean, notes = vet({"users": ["3"], **{f"odd{n}": ["1"] for n in range(300)}})
    assert clean == {"users": "3"}
    (said,) = notes
    assert all(name in said for name in ("'odd0'", "'odd1'", "'odd2'", "297 more")) and "odd3" not in said


@pytest.mark.parametrize("name", ["Users", "USERS", " users"])
def test_the_spelling_of_a_setting_does_not_matter(name: str) -> None:
    """A known name in another case is that name, in the gate and where a link is read."""
    assert vet({name: ["5"]}) == ({"users": "5"}, [])
    assert read_link(urlencode({name: "5"}))[0].users == 5


@pytest.mark.parametrize(("field", "text"), [
    ("rate", "0.0005"), ("max_ttft", "0.0001"), ("max_tpot", "0.0005"), ("price", "0.0003"),
])  # fmt: skip
def test_small_numbers_pass(field: str, text: str) -> None:
    """A small rate, limit or price is not taken for none, and none is rounded."""
    clean, notes = vet({field: [text]})
    assert notes == [] and getattr(scenario_from(clean), field) == float(text)


@pytest.mark.parametrize(("text", "number"), [
    ("1,024", 1024), ("1,234,567.5", 1234567.5), ("-1,000", -1000), ("1e3", 1000), (" 2.5 ", 2.5), ("1024", 1024),
    ("0,5", None), ("2,50", None), ("1,5", None), ("0,500", None), ("1,0000", None), ("1234,567", None),
    ("1,024,", None), (",024", None), ("1_000", None), ("1,000_000", None), ("", None), ("nan", None), ("x", None),
])  # fmt: skip
def test_commas_only_part_thousands(text: str, number: float | None) -> None:
    """A comma that may be a decimal point makes no number of ten or a hundred times the size."""
    assert read_number(text) == number


def test_what_the_plan_refuses_does_not_pass_the_gate() -> None:
    """A config that reads as a model but cannot be planned is dropped with a note, and the rest of the link stays."""
    code = encode_config("mine", LLAMA | {"quantization_config": {"quant_method": 7}})
    clean, notes = vet({"config": [code], "users": ["3"]})
    assert clean == {"users": "3"}
    (said,) = notes
    assert "quant_method" in said and f"Showing {DEFAULTS['model']}" in said
    with pytest.raises(PlannerError, match="quant_method"):
        read_link(urlencode({"config": code}))


def test_two_faults_that_only_show_together_are_dropped_together() -> None:
    """A typed-in device without figures beside groups that do not divide: both go, the rest stays, one sentence."""
    clean, notes = vet({"device": ["custom"], "devices": ["4"], "attention_data_parallel": ["3"], "users": ["3"]})
    assert clean == {"devices": "4", "users": "3"}
    assert len(notes) == 1 and "device" in notes[0] and "attention_data_parallel" in notes[0]


def test_the_command_line_does_not_answer_for_another_device() -> None:
    """A device that is not there is refused also beside a pasted model."""
    with pytest.raises(PlannerError, match="Cray-1"):
        read_link(urlencode({"config": encode_config("mine", LLAMA), "device": "Cray-1"}))


def test_half_a_character_in_a_models_code_is_refused() -> None:
    """A config that spells half of a surrogate pair costs one sentence, in keys and in values."""
    for config in (LLAMA | {"model_type": "ll\ud800ama"}, LLAMA | {"\udfff": 1}):
        clean, notes = vet({"config": [encode_config("mine", config)]})
        assert clean == {} and len(notes) == 1 and "half a character" in notes[0]
        notes[0].encode()


# Files -------------------------------------------------------------------------------------------------------------

SAVED = Scenario.of(**(OTHER | {"config": LLAMA, "model": "mine"}))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_saved_scenario_comes_back(encoding: str) -> None:
    """A scenario from its file is equal, whichever way an editor saved the file again."""
    assert read_scenario_file(scenario_file(SAVED).encode(encoding)) == (SAVED, [])


def test_choices_alone_are_a_scenario_file() -> None:
    """The choices without the frame around them are read, too."""
    assert read_scenario_file(b'{"v": 1, "users": 3}') == (Scenario.of(users=3), [])


def test_notes_about_a_scenario_file() -> None:
    """Another version, and a prefix that is cut, are said."""
    s, notes = read_scenario_file(b'{"v": 2, "scenario": {"users": 3}}')
    assert s.users == 3 and len(notes) == 1 and "version '2'" in notes[0]
    s, notes = read_scenario_file(b'{"scenario": {"prompt": 100, "shared_prefix": 500}}')
    assert s.shared_prefix == 99 and len(notes) == 1 and "500" in notes[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", ("not JSON",)), (b"{", ("not JSON", "line 1")), (b"[1]", ("object",)), (b"null", ("object",)),
        (b"\xff\xfe\x00", ("UTF-8",)), (b"\x80abc", ("UTF-8",)), (b'{"scenario": 7}', ("scenario is 7", "object")),
        (b'{"users": ' + b"9" * 5000 + b"}", ("thousands of digits",)), (b"[" * 100_000, ("42 levels",)),
        (b'{"users": "8"}', ("users = '8'", "a whole number from 1 to 1,000,000")),
        (b'{"colour": "red"}', ("'colour'", "not a setting")), (b'{"price": 0}', ("price = 0", "from 0.000001")),
        (b'{"rate": NaN}', ("rate = nan", "a number from")), (b'{"\\ud800": 1}', ("not a setting",)),
        (json.dumps({"config": LLAMA | {"quantization_config": {"quant_method": 7}}}).encode(), ("quant_method",)),
        (json.dumps({"config": LLAMA | {"model_type": "ll\ud800ama"}}).encode(), ("half a character",)),
    ],
)  # fmt: skip
def test_a_file_that_is_no_scenario_is_one_sentence(data: bytes, words: tuple[str, ...]) -> None:
    """Whatever the file holds, the answer is one sentence that any page and terminal can show."""
    with pytest.raises(PlannerError) as caught:
        read_scenario_file(data)
    said = str(caught.value)
    assert all(word in said for word in words), said
    assert "\n" not in said and said.endswith(".") and said.encode()


def test_a_file_of_many_megabytes_is_refused_by_its_size() -> None:
    """Twenty million bytes are more than any scenario."""
    with pytest.raises(PlannerError, match="20,000,001 bytes"):
        read_scenario_file(b" " * 20_000_001)


def test_a_prefix_longer_than_the_prompt_is_said() -> None:
    """A cached prefix can be at most the prompt without its last token, and the gate says so once."""
    clean, notes = vet({"prompt": ["100"], "shared_prefix": ["500"]})
    assert clean["shared_prefix"] == "99"
    assert len(notes) == 1 and "shared_prefix" in notes[0]


def test_a_typed_in_device_without_its_figures_costs_the_device_only() -> None:
    """What does not go together is dropped alone: the groups and the rest of the link stay."""
    clean, notes = vet({"device": ["custom"], "devices": ["4"], "attention_data_parallel": ["2"], "users": ["3"]})
    assert len(notes) == 1 and "device_memory_gib" in notes[0]
    assert clean == {"devices": "4", "attention_data_parallel": "2", "users": "3"}


def test_every_cut_of_a_link_gives_a_scenario_and_the_cut_model_is_said() -> None:
    """A link cut anywhere is read as far as it goes; a model cut in half is never taken for another."""
    whole = urlencode(parameters(Scenario.of(config=LLAMA, model="mine")))
    start, end = whole.index("config="), whole.index("&", whole.index("config="))
    for at in range(0, len(whole), 7):
        clean, notes = vet(parse_qs(whole[:at], keep_blank_values=True))
        assert scenario_from(clean).prompt >= 1
        if start + len("config=") < at < end:
            assert "config" not in clean
            assert any("incomplete" in note or "cannot read" in note for note in notes), whole[:at]


def test_a_tampered_model_code_is_refused_or_read_but_never_crashes() -> None:
    """Changed characters in the code of a config give one sentence or another readable config."""
    code = encode_config("mine", LLAMA)
    shuffle = random.Random(7)
    for _ in range(200):
        at = shuffle.randrange(len(code))
        changed = code[:at] + shuffle.choice("ABCxyz019-_.~é%") + code[at + 1 :]
        clean, notes = vet({"config": [changed]})
        assert ("config" in clean) == (not notes)
        assert len(notes) <= 1


def test_a_small_code_that_unpacks_to_too_much_is_refused() -> None:
    """A compression bomb costs one sentence."""
    bomb = encode_config("x", {"a": "0" * 6_000_000})
    assert len(bomb) < 20_000
    with pytest.raises(LinkError, match="incomplete or was changed"):
        decode_config(bomb)


def test_the_command_line_does_not_answer_for_another_model() -> None:
    """A link whose model cannot be read is refused as a whole where no one would see the note."""
    text = link(Scenario.of(config=LLAMA, model="mine"))
    with pytest.raises(PlannerError, match="incomplete"):
        read_link(text.replace("config=1.", "config=1.AAAA"))


def test_a_later_version_is_said() -> None:
    """A link of another version is read as well as possible, with a sentence."""
    clean, notes = vet({"v": ["9"], "users": ["3"]})
    assert clean == {"v": "1", "users": "3"}
    assert len(notes) == 1 and "version" in notes[0]


def test_numbers_in_links_are_exact() -> None:
    """Each number comes back as it was, to the last bit, at both ends of its range."""
    for field in DEFAULTS:
        low, high = bounds(field)
        if low is None or high is None or field in ("attention_data_parallel", "shared_prefix"):
            continue
        values = (low, high) if kind(field) is int else (low, high, high / 3)
        for value in values:
            assert getattr(back(Scenario.of(**{field: kind(field)(value)})), field) == value


def test_links_are_written_without_the_planner() -> None:
    """Importing what reads and writes links loads none of the calculation."""
    code = "import sys, planner.share; sys.exit(any(m in sys.modules for m in ('planner.plan', 'planner.efficiency')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=corpus.FOLDER.parents[2]).returncode == 0
