"""Names as people spell them."""

from __future__ import annotations

import pytest

from planner.engines import ENGINES, find_engine
from planner.errors import PlannerError
from planner.names import named
from planner.precision import FORMATS, KV_FORMATS, find_format, find_kv_format
from planner.scenario import DEFAULTS, find_model, model_names
from planner.share import vet


def test_spelling_does_not_hide_an_example() -> None:
    """Every example is found whatever its case, and with blanks, hyphens and underscores exchanged."""
    for name in model_names():
        for between in ("-", "_", " "):
            respelled = name.replace("-", " ").replace(" ", between)
            assert find_model(respelled) == name
            assert find_model(respelled.swapcase()) == name
    assert find_model("DeepSeek R1 671B") == "DeepSeek-R1 671B"


def test_numbers_stay_apart() -> None:
    """A blank or dot between two digits is not dropped: that would be another number."""
    assert named("Llama 3 18B", {"Llama 3.1 8B": 1}) is None
    assert named("llama-3-1-8b", {"Llama 3.1 8B": 1}) == 1


def test_an_ambiguous_spelling_names_nothing() -> None:
    """Two things of one spelling are told apart by the exact name only."""
    known = {"A-b": 1, "Ab": 2}
    assert named("a b", known) is None
    assert named("ab", known) == 2


@pytest.mark.parametrize("find, names", [(find_format, FORMATS), (find_kv_format, KV_FORMATS), (find_engine, ENGINES)])
def test_formats_and_engines_are_found_as_spelled(find: object, names: dict[str, object]) -> None:
    """Formats and engines are found with blanks or underscores for hyphens."""
    assert callable(find)
    for name in names:
        for between in ("-", "_", " "):
            assert find(name.replace("_", "-").replace("-", between)) is names[name]


def test_a_respelled_link_is_no_fault() -> None:
    """A link whose names differ by spelling alone shows what it names, without a note."""
    clean, notes = vet({"model": ["deepseek r1_671b"], "device": ["h100-80gb sxm"], "engine": ["tensorrt llm"],
                        "weights": ["Q4 K M"]})  # fmt: skip
    assert notes == []
    assert clean["model"] == "DeepSeek-R1 671B"
    assert clean["engine"] == "TensorRT-LLM"


@pytest.mark.parametrize("field, text", [("model", "DeepSeek R7"), ("device", "H900"), ("engine", "vLLMM"),
                                         ("weights", "fp9")])  # fmt: skip
def test_an_unknown_name_says_what_is_shown_instead(field: str, text: str) -> None:
    """The notice starts with what is shown and what was asked for, and goes on with what there is."""
    _, (note,) = vet({field: [text]})
    assert note.startswith("Showing ")
    assert f"not '{text}'" in note
    if field != "weights":
        assert str(DEFAULTS[field]) in note


def test_an_unknown_model_is_refused() -> None:
    """Nothing is taken for a model that is merely like it."""
    with pytest.raises(PlannerError, match="nearest"):
        find_model("DeepSeek-R1 672B")
