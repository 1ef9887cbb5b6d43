"""What the reader makes of text: absent and null keys, other files, contradictions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.architecture import read_config
from planner.architecture.hand import hand_config
from planner.errors import ConfigError
from planner.inspect import inspect
from tests.corpus import FOLDER

LLAMA: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072,
}  # fmt: skip


def error(source: str | dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        read_config(source)
    return str(caught.value)


def test_null_kv_heads_are_query_heads() -> None:
    """A null num_key_value_heads means as many as query heads."""
    assert read_config(LLAMA | {"num_key_value_heads": None}).kv_heads == 32


def test_absent_is_not_null() -> None:
    """An absent sliding_window is the class default (4,096 in Mistral), a null one is full attention."""
    mistral = LLAMA | {"model_type": "mistral"}
    assert read_config(mistral).kv_elements_per_token == 0
    assert read_config(mistral | {"sliding_window": None}).kv_elements_per_token == 32 * 2 * 8 * 128


def test_absent_shape_is_a_guess_that_names_key_and_default() -> None:
    """A top-level shape key that is absent gives the class default as a guess, named in a warning."""
    model = read_config({k: v for k, v in LLAMA.items() if k != "num_hidden_layers"})
    assert (model.n_layers, model.recognised) == (32, "guessed")
    assert "num_hidden_layers" in model.warnings[0] and "32" in model.warnings[0]


def test_keys_are_used_defaulted_or_ignored() -> None:
    """Each key of the file is used or ignored, and absent ones that mattered are defaulted."""
    keys = inspect(read_config(LLAMA | {"rope_theta": 500000.0}))["keys"]
    assert set(keys["used"]) | set(keys["ignored"]) == set(LLAMA) | {"rope_theta"}
    assert "rope_theta" in keys["ignored"] and keys["defaulted"]["tie_word_embeddings"] is False


def test_dots_in_quantization_keys_survive() -> None:
    """Names with dots inside a quantization table come back as they were."""
    table = {
        "quant_method": "gptq",
        "bits": 4,
        "group_size": 128,
        "dynamic": {"-:.*lm_head.*": {}, "a.b.c": {"bits": 8}},
    }
    model = read_config(LLAMA | {"quantization_config": table})
    assert model.quantization == table == model.config["quantization_config"]


def test_side_file_is_kept_beside_the_config() -> None:
    """A hf_quant_config given beside the config is kept whole in the quantization and in the link's config."""
    side = {"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head"]}}
    model = read_config(LLAMA, hf_quant_config=json.dumps(side))
    assert model.quantization == {"hf_quant_config": side}
    assert read_config(model.config).quantization == model.quantization


def test_infinity_is_refused_only_where_it_is_used() -> None:
    """Infinity in a key that nobody reads is accepted; in a size it is refused with the key's name."""
    assert read_config(json.dumps(LLAMA | {"rope_scaling": {"beta": float("inf")}})).recognised == "exact"
    assert "hidden_size" in error(json.dumps(LLAMA | {"hidden_size": float("inf")}))


def test_class_name_stands_in_for_an_absent_model_type() -> None:
    """Without model_type the class name tells the family, as a guess."""
    model = read_config({k: v for k, v in LLAMA.items() if k != "model_type"} | {"architectures": ["LlamaForCausalLM"]})
    assert (model.model_type, model.recognised) == ("llama", "guessed")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"num_attention_heads": 24, "head_dim": None}, "hidden_size"),
        ({"num_key_value_heads": 7}, "num_key_value_heads"),
        ({"hidden_size": "4096"}, "hidden_size"),
        ({"hidden_size": -1}, "hidden_size"),
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"vocab_size": 0}, "vocab_size"),
        ({"model_type": ["llama"]}, "model_type"),
        ({"quantization_config": "fp8"}, "quantization_config"),
    ],
)
def test_a_bad_value_names_its_key(change: dict[str, Any], words: str) -> None:
    """A value that cannot be used is refused in a sentence with its key."""
    assert words in error(LLAMA | change)


def test_more_experts_used_than_there_are() -> None:
    """More experts per token than experts is a contradiction."""
    mixtral = LLAMA | {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 5}
    assert "experts" in error(mixtral)


def test_lists_per_layer_have_one_entry_per_layer() -> None:
    """layer_types shorter or longer than the model is refused."""
    qwen = LLAMA | {"model_type": "qwen3", "layer_types": ["full_attention"] * 31}
    assert "layer_types" in error(qwen)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Nothing was pasted"),
        ("{", "Line 1"),
        ("[1, 2]", "list"),
        ("{'model_type': 'llama'}", "Python dictionary"),
        ("<!DOCTYPE html><html></html>", "web page"),
        ("model_type: llama\nhidden_size: 4096\n", "YAML"),
        ("GGUF\x03\x00\x00", "binary"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:1", "pointer"),
        ("{" + '"a": {' * 60 + "}" * 61, "levels"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", "nested"),
        ('{"hidden_size": ' + "9" * 5000 + "}", "digits"),
        (" " * 5_000_001, "characters"),
        ('{"metadata": {}, "weight_map": {}}', "weights index"),
        ('{"peft_type": "LORA", "r": 8, "base_model_name_or_path": "x"}', "adapter"),
        ('{"tokenizer_class": "X", "added_tokens_decoder": {}}', "tokenizer_config"),
        ('{"bos_token_id": 1, "do_sample": true}', "generation_config"),
        ('{"image_processor_type": "X", "size": 1}', "preprocessor_config"),
        ('{"producer": {}, "quantization": {"quant_algo": "FP8"}}', "hf_quant_config"),
        ('{"dim": 4096, "n_layers": 32, "n_heads": 32, "vocab_size": 32000}', "params.json"),
        ('{"name": "x", "num_layers": 2, "n_head": 2, "hidden_dim": 64, "vocab_size": 10}', "another tool"),
        ('{"model_type": "bert", "hidden_size": 768}', "encoder"),
        ('{"model_type": "llama", "draft_vocab_size": 32000}', "draft head"),
        ('{"architectures": ["Qwen3NextMTP"], "model_type": "qwen3_next"}', "draft head"),
    ],
)  # fmt: skip
def test_another_text_is_named(text: str, words: str) -> None:
    """What is no config.json is named for what it is, in one or two sentences."""
    said = error(text)
    assert words in said and said.endswith(".")


@pytest.mark.parametrize(
    ("side", "words"),
    [
        ("", "is empty"),
        ("{", "line 1, column 2 is not JSON"),
        ("[]", "is a list"),
        ("{}", "an empty object"),
        (json.dumps(LLAMA), "describes a model"),
        ("[" * 100_000, "levels"),
        ('{"quantization": ' + "[" * 60 + "]" * 60 + "}", "levels"),
    ],
)
def test_a_wrong_side_file_is_named(side: str, words: str) -> None:
    """What is no hf_quant_config.json is refused in sentences that speak of that file."""
    with pytest.raises(ConfigError) as caught:
        read_config(LLAMA, hf_quant_config=side)
    said = str(caught.value)
    assert words in said and "hf_quant_config.json" in said and "paste" not in said.lower()


@pytest.mark.parametrize(("value", "words"), [(None, "null"), (True, "true"), (float("nan"), "NaN"), ("a", '"a"')])
def test_bad_values_are_shown_as_json(value: Any, words: str) -> None:
    """A sentence about a value spells it as the file does."""
    assert f"hidden_size is {words}; expected" in error(LLAMA | {"hidden_size": value})


def test_an_absent_type_is_said_in_plain_words() -> None:
    """Without model_type and sizes the sentence names both."""
    assert "The config has no model_type, and it lacks " in error({"hidden_size": 64})


def test_missing_keys_are_listed_at_once() -> None:
    """All keys that are missing stand in one sentence."""
    said = error({"model_type": "somebody", "hidden_size": 64})
    assert all(key in said for key in ("num_hidden_layers", "num_attention_heads", "vocab_size"))


def test_a_model_typed_by_hand() -> None:
    """Sizes typed in give the textbook count: embeddings, attention, gated MLP, norms."""
    model = read_config(hand_config(32, 4096, 32, 8, 128, 14336, 128256))
    assert model.total_params == 8_030_261_248  # Llama 3.1 8B, as published
    assert model.kv_elements_per_token == 32 * 2 * 8 * 128


def test_experts_typed_by_hand() -> None:
    """With experts, only those that a token passes through are active."""
    model = read_config(hand_config(32, 4096, 32, 8, 128, 14336, 32000, experts=8, experts_per_token=2))
    assert (model.total_params, model.active_params) == (46_702_792_704, 12_879_925_248)  # Mixtral 8x7B, as published


@pytest.mark.parametrize("key", ["hidden_size", "num_hidden_layers", "intermediate_size"])
def test_a_nested_section_with_a_hole_is_a_guess(key: str) -> None:
    """One size of several missing is a mistake; a section without any relies on the class's defaults, as LLaVA's."""
    whole = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "intermediate_size": 96,
             "num_attention_heads": 4, "vocab_size": 100}  # fmt: skip
    vision = {"model_type": "clip_vision_model"}

    def recognised(text: dict[str, Any]) -> str:
        return read_config({"model_type": "llava", "text_config": text, "vision_config": vision}).recognised

    assert recognised(whole) == "exact"
    assert recognised({k: v for k, v in whole.items() if k != key}) == "guessed"
    assert recognised({"model_type": "llama", "vocab_size": 32064}) == "exact"


@pytest.mark.parametrize(
    ("file", "key"),
    [
        ("deepseek/deepseek-ai--DeepSeek-R1.json", "n_shared_experts"),
        ("deepseek/deepseek-ai--DeepSeek-R1.json", "first_k_dense_replace"),
        ("nemotron_h/nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16.json", "mamba_num_heads"),
        ("deepseek_v4/deepseek-ai--DeepSeek-V4-Flash.json", "o_groups"),
    ],
)
def test_a_size_that_files_always_state_is_a_guess_when_absent(file: str, key: str) -> None:
    """Without it the class's default is taken, and the reading says so."""
    config = json.loads((FOLDER / file).read_text())
    assert read_config(config).recognised == "exact"
    config.pop(key)
    model = read_config(config)
    assert model.recognised == "guessed" and any(key in w for w in model.warnings)
