"""The form: pasted and typed models, hardware, load, and what happens to input that cannot be used."""

import itertools
import json
import re

import pytest
from streamlit.testing.v1 import AppTest

from planner.scenario import DEFAULTS, bounds, kind
from planner.share import decode_config, encode_config, link
from tests.pages.conftest import Open
from tests.pages.reading import ROOT, shown, sound, texts
from ui.show import plain
from ui.users import ROUND

CONFIGS = ROOT / "tests" / "data" / "model_configs"
LLAMA_70B = (CONFIGS / "llama" / "Llama-3.3-70B-Instruct.json").read_text()
DEEPSEEK = (CONFIGS / "deepseek" / "deepseek-ai--DeepSeek-R1.json").read_text()

# Bad paste -> a word that its sentence must hold.
BAD_PASTES = {
    "not JSON": ('{"model_type": "llama",', "JSON"),
    "a number": ("42", "object"),
    "a tokenizer's file": ('{"tokenizer_class": "LlamaTokenizer", "model_max_length": 8192}', "tokenizer"),
    "keys missing": ('{"model_type": "never_heard_of", "hidden_size": 4096}', "num_hidden_layers"),
    "text for a number": (
        LLAMA_70B.replace('"num_hidden_layers": 80', '"num_hidden_layers": "many"'),
        "num_hidden_layers",
    ),
    "negative": (LLAMA_70B.replace('"hidden_size": 8192', '"hidden_size": -8192'), "hidden_size"),
    "huge": (LLAMA_70B.replace('"hidden_size": 8192', '"hidden_size": 1' + "0" * 30), "hidden_size"),
    "NaN": (LLAMA_70B.replace('"hidden_size": 8192', '"hidden_size": NaN'), "hidden_size"),
    "half a character": (LLAMA_70B.replace('"llama"', r'"ll\ud800ama"'), "half a character"),
    "deep nesting": ("[" * 100_000, ""),
    "five megabytes": ('{"model_type": "llama", "x": "' + "y" * 5_000_000 + '"}', ""),
}


def paste(page: AppTest, text: str) -> AppTest:
    page.text_area(key="paste").set_value(text).run()
    return sound(page)


def errors(page: AppTest) -> list[str]:
    """Error sentences of the sidebar."""
    return [shown(box) for box in page.sidebar.error]


def test_pasted_config_becomes_the_model(open_page: Open) -> None:
    """A real config is read, named by its size, used instead of the example, and carried by the bound field."""
    page = paste(open_page("pages/fit.py", devices=8), DEEPSEEK)
    said = shown(page.sidebar.success[0])
    assert "deepseek_v3" in said and "671 B" in said
    assert any("671 B parameters (exact)" in part.label for part in page.expander)
    name, config = decode_config(page.session_state["config"])
    assert "671 B" in name and config["kv_lora_rank"] == 512


@pytest.mark.parametrize(("text", "word"), BAD_PASTES.values(), ids=BAD_PASTES)
def test_bad_paste_keeps_the_last_good_model(open_page: Open, text: str, word: str) -> None:
    """A paste that cannot be read gets one sentence that names the fault, and the model before stays."""
    page = paste(open_page("pages/fit.py"), LLAMA_70B)
    code, before = page.session_state["config"], [metric.value for metric in page.metric]
    paste(page, text)
    (said,) = errors(page)
    assert said.endswith("The model before stays.") and word in said and len(said) < 600
    assert page.session_state["config"] == code
    assert [metric.value for metric in page.metric] == before


def test_guessed_model_is_marked(open_page: Open) -> None:
    """An unknown type with familiar keys is read as a guess, and the page says so in a warning."""
    unknown = json.dumps(json.loads(LLAMA_70B) | {"model_type": "never_heard_of", "architectures": ["NeverHeardOf"]})
    page = paste(open_page("pages/fit.py"), unknown)
    assert "This is a guess" in str(page.sidebar.success[0].value)
    assert any("guess" in str(box.value) for box in page.main.warning)


def test_another_example_drops_the_paste(open_page: Open) -> None:
    """Choosing an example, or the button beside the note, ends the use of the pasted model."""
    page = paste(open_page(), LLAMA_70B)
    page.selectbox(key="model").set_value("Llama 3.1 8B").run()
    assert not page.session_state["config"]
    paste(page, DEEPSEEK)
    assert page.session_state["config"]
    next(button for button in page.button if button.label == "Back to the example model").click().run()
    assert not sound(page).session_state["config"]


def test_side_file_is_read_with_the_config(open_page: Open) -> None:
    """The quantization that a checkpoint keeps in a file of its own is read from the second field."""
    page = open_page("pages/fit.py")
    page.text_area(key="paste_quant").set_value('{"quantization": {"quant_algo": "FP8"}}')
    paste(page, LLAMA_70B)
    assert not errors(page)
    weights = next(metric.value for metric in page.metric if metric.label == "Weights")
    assert weights.startswith("67") or weights.startswith("66")


def test_device_typed_in(open_page: Open) -> None:
    """A link with a custom device runs on its figures and under its name."""
    page = open_page(
        "pages/speed.py", model="Llama 3.1 8B", device="custom", device_name="Ours", device_memory_gib=48,
        device_bandwidth_gb_s=1000, device_tflops=200,
    )  # fmt: skip
    assert "Ours" in str(page.main.success[0].value)
    assert page.number_input(key="device_bandwidth_gb_s").value == 1000


def test_choosing_custom_starts_from_the_device_before(open_page: Open) -> None:
    """The empty fields of a device to be typed in are filled with the figures of the one before."""
    page = open_page("pages/fit.py", device="L40S")
    page.selectbox(key="device").set_value("custom").run()
    assert not errors(sound(page))
    assert page.number_input(key="device_bandwidth_gb_s").value == 864
    page.number_input(key="device_memory_gib").set_value(None).run()
    assert "device_memory_gib" in errors(sound(page))[0] and "last scenario that worked" in errors(page)[0]


def test_model_typed_in(open_page: Open) -> None:
    """Numbers typed in make a model through the same reader; the classroom's 8 billion parameters come out."""
    page = open_page("pages/fit.py")
    page.session_state["typing"] = True
    page.run()
    next(button for button in page.button if button.label == "Use this model").click().run()
    assert "8.03 B parameters, 32 layers" in str(sound(page).sidebar.success[0].value)


def test_refused_combination_keeps_the_last_scenario(open_page: Open) -> None:
    """A combination that cannot be is said in the sidebar, and the page stays with the last that worked."""
    page = open_page("pages/fit.py", devices=4)
    before = [metric.value for metric in page.metric]
    page.number_input(key="attention_data_parallel").set_value(3).run()
    assert "does not divide" in errors(sound(page))[0]
    assert [metric.value for metric in page.metric] == before


@pytest.mark.parametrize("users", [1, 3, 21, 5000, 777_777, 1_000_000])
def test_slider_of_users_stands_at_the_field(open_page: Open, users: int) -> None:
    """The slider stands at the link's number exactly, also between its round steps, with room to both sides."""
    page = open_page(users=users)
    field, slider = sound(page).number_input(key="users"), page.sidebar.select_slider[0]
    assert field.value == slider.value == users
    assert slider.options[0] == "1" and slider.options[-1] == "1,000,000"


def test_slider_and_field_of_users_move_each_other(open_page: Open) -> None:
    """Either can be moved, the other follows, and the scenario is that of the last move."""
    page = open_page(users=21)
    page.sidebar.select_slider[0].set_value(40).run()
    assert sound(page).number_input(key="users").value == 40
    page.number_input(key="users").set_value(41).run()
    assert sound(page).sidebar.select_slider[0].value == 41
    assert page.session_state["last_good"].users == 41


def test_steps_of_users() -> None:
    """Steps rise from one to the scenario's most, every small number among them, no step over a third past 3."""
    assert ROUND[:20] == tuple(range(1, 21)) and ROUND[-1] == bounds("users")[1]
    assert all(low < high <= low * 4 / 3 + 1 for low, high in itertools.pairwise(ROUND))


@pytest.mark.parametrize(
    "query",
    [
        {"users": 8},  # holds fewer than asked
        {"model": "Llama 3.1 70B", "device": "RTX 4090", "users": 1},  # cannot load
        {"prompt": 60_000, "model": "Qwen3 8B", "device": "RTX 4090", "users": 2},
        {"load": "Arrivals per second", "rate": 3},  # no steady state
        {"devices": 3},  # heads not divisible
        {"model": "Qwen3 4B", "devices": 16},  # more devices than KV heads
        {"device": "L40S", "devices": 2},  # slow link
        {"weights": "Q4_K_M (GGUF)"},  # another engine
    ],
    ids=lambda query: " ".join(map(str, query.values())),
)
def test_each_change_that_is_offered_can_be_made(open_page: Open, query: dict[str, object]) -> None:
    """Every button of a finding makes a scenario that the form accepts, and its finding is gone."""
    keys = [
        button.key for button in open_page("pages/fit.py", **query).main.button if str(button.key).startswith("change_")
    ]
    for key in keys:
        page = open_page("pages/fit.py", **query)
        before = {str(box.value) for box in (*page.main.error, *page.main.warning)}
        page.button(key=key).click().run()
        assert not errors(sound(page))
        assert before - {str(box.value) for box in (*page.main.error, *page.main.warning)}, key


def test_copy_link_spells_out_every_setting(open_page: Open) -> None:
    """The box “Copy link” holds the link of the scenario shown, the version included."""
    from planner.scenario import Scenario

    page = open_page("pages/fit.py", device="L40S", users=3)
    (code,) = [box.value for box in page.sidebar.code]
    assert code.endswith(link(Scenario(device="L40S", users=3))) and "?v=1&" in code


@pytest.mark.parametrize(
    ("name", "text"), [("rate", "0.0005"), ("max_ttft", "0.0001"), ("max_tpot", "0.0005"), ("price", "0.0003")]
)
def test_small_numbers_of_a_link_stand_in_their_fields(open_page: Open, name: str, text: str) -> None:
    """A small rate, limit or price is taken by its field as the link gives it, without a note."""
    page = open_page("pages/fit.py", load="Arrivals per second", **{name: text})
    assert page.number_input(key=name).value == float(text)
    assert getattr(page.session_state["last_good"], name) == float(text)
    assert not any("This link" in str(box.value) for box in page.main.warning)


def test_fields_take_what_the_scenario_takes(open_page: Open) -> None:
    """The range of each number field is that of the scenario."""
    figures = {"device_memory_gib": 80, "device_bandwidth_gb_s": 2000, "device_tflops": 100}
    arrivals = open_page("pages/fit.py", device="custom", load="Arrivals per second", **figures)
    for name in (name for name in DEFAULTS if kind(name) in (int, float)):
        field = (open_page() if name == "users" else arrivals).number_input(key=name)
        assert (field.min, field.max) == bounds(name), name


FILES = {
    "a number of 5,000 digits": (b'{"users": ' + b"9" * 5000 + b"}", "thousands of digits"),
    "not UTF-8": (b"\x80", "UTF-8"), "not JSON": (b"{", "line 1"), "an unknown setting": (b'{"colour": 1}', "colour"),
    "half a character": (b'{"config": {"model_type": "\\ud800", "hidden_size": 1}}', "half a character"),
    "what cannot be planned": (
        json.dumps({"config": json.loads(LLAMA_70B) | {"quantization_config": {"quant_method": 7}}}).encode(),
        "quant_method",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("data", "word"), FILES.values(), ids=FILES)
def test_a_file_that_is_no_scenario_changes_nothing(open_page: Open, data: bytes, word: str) -> None:
    """A file that cannot be used gets one sentence, and the scenario stays."""
    page = open_page("pages/fit.py", users=3)
    page.file_uploader(key="scenario_file").set_value(("scenario.json", data, "application/json")).run()
    (said,) = errors(sound(page))
    assert word in said.replace("\\", "") and said.endswith("Nothing was changed.")
    assert page.session_state["last_good"].users == 3


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_saved_scenario_is_loaded_in_any_encoding(open_page: Open, encoding: str) -> None:
    """A file that an editor saved again is loaded; one of another version is loaded with a warning."""
    page = open_page("pages/fit.py", users=3)
    data = '{"v": 2, "scenario": {"users": 5}}'.encode(encoding)
    page.file_uploader(key="scenario_file").set_value(("scenario.json", data, "application/json")).run()
    assert not errors(sound(page)) and page.session_state["last_good"].users == 5
    assert any("version" in str(box.value) for box in page.sidebar.warning)


def test_a_models_name_is_not_markup(open_page: Open) -> None:
    """A model called like an emoji or a colour is shown by its name wherever the page writes it."""
    code = encode_config(":smile: :red[x]", json.loads(LLAMA_70B))
    page = open_page("pages/fit.py", config=code)
    shown = "\n".join([texts(page), *(part.label for part in page.expander)])
    assert "smile" in shown and "What the planner read: :" in shown
    assert ":smile:" not in shown and ":red[" not in shown


@pytest.mark.parametrize(
    "text", [":smile:", ":+1:", ":-1:", ":material/home:", ":streamlit:", ":a:b:", "x:red", ":red[x]"]
)
def test_plain_text_names_no_emoji_and_no_directive(text: str) -> None:
    """Nothing that Streamlit takes for an emoji, an icon or a directive is left; the reader sees the same letters."""
    escaped = plain(text)
    seen = re.sub(r"\\(.)", r"\1", escaped)
    assert not re.search(r":(\+1|-1|[\w-]+|material/\w+):", seen) and not re.search(r"(?<!\\):[A-Za-z]", escaped)
    assert seen.replace("\u2060", "") == text


def test_notes_of_a_link_can_be_dismissed(open_page: Open) -> None:
    """A note about a link stays until it is dismissed, then it is gone for good."""
    page = open_page("pages/fit.py", users=-4, nonsense=1)
    assert sum("This link" in str(box.value) for box in page.main.warning) == 2
    page.button(key="dismiss_notes").click().run()
    page.number_input(key="prompt").set_value(100).run()
    assert not any("This link" in str(box.value) for box in sound(page).main.warning)
