"""Unknown types: a marked guess near the truth, or a refusal that says what is missing; never a confident number."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.architecture import read_config
from planner.errors import PlannerError
from tests import corpus

ROWS = {row["file"]: row for row in corpus.rows()}
# Files cut down by hand: the keys that would tell their norms, activations and ties are gone.
BARE = {"hostile/gemma2-no-layer-types.json", "hostile/gemma3-text-pattern.json"}


def renamed(value: Any) -> Any:
    """The config with every model_type unknown and no class names."""
    if isinstance(value, dict):
        return {
            k: "never_seen" if k == "model_type" and v else renamed(v) for k, v in value.items() if k != "architectures"
        }
    return value


@pytest.mark.parametrize("file", sorted(set(ROWS) - BARE))
def test_a_renamed_type_is_a_close_guess_or_refused(file: str) -> None:
    """A known model under an unknown type is never exact, and a guess is within 8 % of its parameters."""
    data = json.loads((corpus.FOLDER / file).read_text())
    try:
        known = read_config(data)
        guess = read_config(renamed(data))
    except PlannerError as error:
        assert str(error).endswith((".", ")")) and len(str(error)) < 900
        return
    assert guess.recognised == "guessed" and guess.warnings
    assert guess.text_params == pytest.approx(known.text_params, rel=0.08)


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size"])
def test_an_unknown_type_without_a_size_is_refused(key: str) -> None:
    """Without one of the sizes an unknown type is refused, naming the key."""
    config = json.loads((corpus.FOLDER / "llama/llama-3.1-8b-instruct.json").read_text()) | {"model_type": "never_seen"}
    del config["architectures"], config[key]
    with pytest.raises(PlannerError, match=key):
        read_config(config)


def test_a_guess_names_its_assumptions() -> None:
    """A guess says what it assumed and what to compare."""
    config = json.loads((corpus.FOLDER / "llama/llama-3.1-8b-instruct.json").read_text()) | {"model_type": "never_seen"}
    del config["architectures"]
    model = read_config(config)
    assert "Assumed" in model.warnings[0] and "Compare" in model.warnings[0]


def test_a_structure_beyond_the_keys_is_refused() -> None:
    """State-space layers under an unknown type are refused, not counted as attention."""
    config = renamed(json.loads((corpus.FOLDER / "falcon_h1/Falcon-H1-0.5B-Base.json").read_text()))
    with pytest.raises(PlannerError, match="state-space"):
        read_config(config)


def test_an_unknown_wrapper_reads_its_language_model() -> None:
    """An unknown wrapper around a known language model counts that model, as a guess without its image part."""
    config = json.loads((corpus.FOLDER / "llava/mlc-llava.json").read_text()) | {"model_type": "never_seen"}
    del config["architectures"]
    model = read_config(config)
    assert model.recognised == "guessed" and model.nontext_params == 0
    assert model.text_params == ROWS["llava/mlc-llava.json"]["text_params"]
