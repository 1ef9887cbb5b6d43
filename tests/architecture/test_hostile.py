"""Hard input: mutations of the corpus and arbitrary JSON end in an answer, a marked guess or one sentence."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.architecture import read_config
from planner.architecture.paste import parse_side_file
from planner.errors import PlannerError
from planner.inspect import inspect
from planner.json_text import nests_deeper
from tests import corpus

TEXTS = {
    row["file"]: text
    for row in corpus.rows()
    if len(text := (corpus.FOLDER / row["file"]).read_text()) < 100_000
}  # fmt: skip

Change = Callable[[dict[str, Any], str], Any]
MUTATIONS: dict[str, Change] = {
    "drop": lambda o, k: o.pop(k),
    "null": lambda o, k: o.__setitem__(k, None),
    "negate": lambda o, k: o.__setitem__(k, -o[k] if isinstance(o[k], (int, float)) else -1),
    "stringify": lambda o, k: o.__setitem__(k, str(o[k])),
    "enlarge": lambda o, k: o.__setitem__(k, (o[k] if type(o[k]) in (int, float) else 7) * 1000),
    "huge": lambda o, k: o.__setitem__(k, 10**15),
    "nest": lambda o, k: o.__setitem__(k, {"value": o[k]}),
    "list": lambda o, k: o.__setitem__(k, [o[k], o[k], o[k]]),
    "nan": lambda o, k: o.__setitem__(k, float("nan")),
    "zero": lambda o, k: o.__setitem__(k, 0),
    "half": lambda o, k: o.__setitem__(k, o[k] / 2 if isinstance(o[k], (int, float)) else 0.5),
}


def places(value: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Each key with the object that holds it."""
    for key, inner in list(value.items()):
        yield value, key
        if isinstance(inner, dict):
            yield from places(inner)


def judge(config: dict[str, Any]) -> None:
    """An answer that can be printed and carried by a link, or one clear sentence."""
    try:
        model = read_config(config)
    except PlannerError as error:
        assert 20 < len(str(error)) < 1200 and "Traceback" not in str(error)
        assert "do not fit together" not in str(error), f"an unforeseen {error.__cause__!r}"
        return
    assert model.total_params > 0 and model.active_params <= model.total_params
    assert model.recognised == "exact" or model.warnings
    json.dumps(inspect(model))
    again = read_config(model.config)
    assert (again.total_params, again.kv_elements_per_token) == (model.total_params, model.kv_elements_per_token)


@pytest.mark.parametrize("seed", range(12))
def test_mutated_configs(seed: int) -> None:
    """One to three mutations of a real config never end in a traceback or a silent nonsense."""
    chance = random.Random(seed)
    for file in chance.sample(sorted(TEXTS), 60):
        config = copy.deepcopy(json.loads(TEXTS[file]))
        for _ in range(chance.choice((1, 1, 2, 3))):
            holder, key = chance.choice(list(places(config)))
            MUTATIONS[chance.choice(sorted(MUTATIONS))](holder, key)
            if not config:
                break
        judge(config)


SCALARS = st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=8)
KEYS = st.sampled_from([
    "model_type", "hidden_size", "num_hidden_layers", "num_attention_heads", "num_key_value_heads", "vocab_size",
    "head_dim", "intermediate_size", "text_config", "vision_config", "architectures", "num_experts", "kv_lora_rank",
    "layer_types", "quantization_config", "sliding_window", "tie_word_embeddings", "dtype",
])  # fmt: skip
JSON = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6), max_leaves=20
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(KEYS, JSON, max_size=10))
def test_arbitrary_objects(config: dict[str, Any]) -> None:
    """Any object with familiar keys and arbitrary values is answered or refused in a sentence."""
    judge(config)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200))
def test_arbitrary_text(text: str) -> None:
    """Any text is refused in a sentence, or read."""
    try:
        read_config(text)
    except PlannerError as error:
        assert str(error).endswith((".", "}"))


DEEP = {
    "lists": "[\n" * 900_000, "objects": '{"a":' * 300_000, "behind a quote": r'{"a\"[": "\\", "b": ' + "[" * 41,
    "closed again": "[" * 41 + "]" * 41,
}  # fmt: skip


@pytest.mark.parametrize("text", DEEP.values(), ids=DEEP)
def test_deep_texts_never_reach_the_parser(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text nested too deeply is refused by counting brackets, before JSON is parsed, as a config and beside one."""
    monkeypatch.setattr("planner.architecture.paste.json.loads", lambda _: pytest.fail("parsed"))
    with pytest.raises(PlannerError, match="more than 40 levels"):
        read_config(text)
    with pytest.raises(PlannerError, match=r"hf_quant_config\.json is nested more than 40 levels"):
        parse_side_file(text)


@pytest.mark.parametrize(("text", "deep"), [
    ("[[]]", False), ("[[[]]]", True), ('["[[["]', False), (r'["\"[[[", []]', False), ('["[[[', False),
    ('["\\', False), ("[]" * 100, False), ("{[{", True), ("]]]" + "[[", False), ('"' + r"\"" * 50_000, False),
])  # fmt: skip
def test_depth_counts_brackets_outside_of_quotes(text: str, deep: bool) -> None:
    """Brackets within texts do not nest, also where a quote is escaped or the text is cut."""
    assert nests_deeper(text, 2) == deep


@given(JSON)
def test_depth_is_that_of_the_object(value: Any) -> None:
    """What was printed from an object nests as deep as the object."""

    def depth(part: Any) -> int:
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    text = json.dumps(value)
    assert not nests_deeper(text, depth(value)) and (depth(value) == 0 or nests_deeper(text, depth(value) - 1))


@pytest.mark.parametrize("text", ["#\n" + "\n" * 1900 + "!", "---\n" + " \n" * 900 + "!", "#" * 1900 + "\n" * 90 + "!"])
def test_blank_lines_are_looked_at_once(text: str) -> None:
    """A text that might be YAML, with many blank lines, is refused at all: no pattern tries every way to part them."""
    with pytest.raises(PlannerError, match="not JSON"):
        read_config(text)


@pytest.mark.parametrize(
    "change",
    [
        {"model_type": "ll\ud800ama"}, {"\udfff": 1}, {"note": ["x", {"y": "\ud800"}]}, {"architectures": ["\udc00"]},
        {"vision_config": {"\ud800": 1}},
    ],
)  # fmt: skip
def test_half_a_character_is_refused_in_a_sentence(change: dict[str, Any]) -> None:
    """Half of a surrogate pair, in keys and values, pasted as text or given as an object: one sentence in UTF-8."""
    config = json.loads(TEXTS["llama/Llama-3.3-70B-Instruct.json"]) | change
    for source in (config, json.dumps(config)):
        with pytest.raises(PlannerError, match="half a character") as caught:
            read_config(source)
        assert str(caught.value).encode()
    with pytest.raises(PlannerError, match=r"hf_quant_config\.json holds half a character"):
        parse_side_file({"quantization": {"quant_algo": "\ud800"}})


def test_a_whole_pair_is_one_character() -> None:
    """An emoji that JSON spells as a surrogate pair is read."""
    text = json.dumps(json.loads(TEXTS["llama/Llama-3.3-70B-Instruct.json"]) | {"_name_or_path": "a 🦙"})
    assert "\\ud83e" in text and read_config(text).name == "a 🦙"


def test_a_config_of_megabytes_is_read() -> None:
    """The largest published config, 2.8 million characters of quantization table, is read whole."""
    text = (corpus.FOLDER / "minimax_m3_vl/nvidia--MiniMax-M3-NVFP4.json").read_text()
    assert len(text) > 2_700_000 and read_config(text).quantization
