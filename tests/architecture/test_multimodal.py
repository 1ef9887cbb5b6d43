"""Wrappers: text and image apart, the checkpoint's names, whose tie counts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.architecture import Architecture, read_config
from tests import corpus


def load(file: str) -> dict[str, Any]:
    return json.loads((corpus.FOLDER / file).read_text())  # type: ignore[no-any-return]


def names(model: Architecture) -> set[str]:
    return {block.prefix.replace("{i}", "0") + matrix.name for block, matrix in model.matrices()}


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("kimi/nvidia--Kimi-K2.5-NVFP4.json",
         {"language_model.lm_head", "language_model.model.layers.0.self_attn.o_proj",
          "vision_tower.encoder.blocks.0.wqkv", "mm_projector.proj.0"}),
        ("llama4/llama-4-scout-17b-16e-instruct-fp8-dynamic.json",
         {"language_model.model.layers.0.self_attn.q_proj", "language_model.lm_head",
          "vision_model.model.layers.0.self_attn.q_proj", "multi_modal_projector.linear_1"}),
        ("gemma4/nvidia--Gemma-4-31B-IT-NVFP4.json",
         {"model.language_model.layers.0.self_attn.q_proj", "model.embed_vision.embedding_projection"}),
        ("qwen3_5/nvidia--Qwen3.5-122B-A10B-NVFP4.json", {"lm_head", "model.visual.blocks.0.attn.qkv"}),
    ],
)  # fmt: skip
def test_names_are_those_of_the_checkpoint(file: str, expected: set[str]) -> None:
    """Blocks carry the prefixes in which the checkpoint's ignore list speaks."""
    assert expected <= names(read_config(load(file)))


def test_the_wrappers_tie_goes_first() -> None:
    """A top-level tie_word_embeddings goes before the nested one; without it the nested one counts."""
    config = load("llava/mlc-llava.json")
    config["text_config"]["tie_word_embeddings"] = True
    assert read_config(config | {"tie_word_embeddings": False}).tied is False
    del config["tie_word_embeddings"]
    assert read_config(config).tied is True


def test_an_absent_tie_is_the_language_models() -> None:
    """Without any flag the language model's class default counts: Mistral unties, Gemma ties."""
    assert read_config(load("mistral/Mistral-Small-3.1-24B-Instruct-2503.json")).tied is False
    assert read_config(load("gemma3/onnxdiag-google_gemma_3_4b_it_like.json")).tied is True


def test_flat_and_nested_keys_give_the_same_model() -> None:
    """Qwen2.5-VL with its text keys at the top and nested in text_config is the same model."""
    flat = load("qwen_vl/Qwen2.5-VL-3B-Instruct.json")
    outside = {k: flat[k] for k in ("architectures", "model_type", "vision_config", "tie_word_embeddings")}
    nested = outside | {"text_config": {k: v for k, v in flat.items() if k not in outside}}
    assert (read_config(flat).total_params, read_config(flat).nontext_params) == (
        read_config(nested).total_params, read_config(nested).nontext_params,
    )  # fmt: skip


def test_flat_keys_of_a_composite_class_are_a_guess() -> None:
    """A flat file of a class that keeps its text keys nested is read by them and marked."""
    model = read_config(load("step3p7/stepfun-ai--Step-3.7-Flash.json"))
    assert (model.n_layers, model.hidden, model.recognised) == (45, 4096, "guessed")


def test_an_unknown_tower_is_refused_by_name() -> None:
    """An image tower that the planner cannot list is named."""
    config = load("llava/mlc-llava.json")
    config["vision_config"]["model_type"] = "never_seen"
    with pytest.raises(ValueError, match="never_seen"):
        read_config(config)


def test_cross_attention_keeps_no_entry_per_text_token() -> None:
    """Llama 3.2 Vision's image layers add nothing per text token, and their cache is of another kind."""
    model = read_config(load("mllama/Llama-3.2-90B-Vision-Instruct.json"))
    assert model.kv_elements_per_token == 80 * 2 * 8 * 128
    assert sum(block.count for block, cache in model.caches() if cache.kind == "cross") == 20


@pytest.mark.parametrize(("kind", "text"), [("llama4", "llama4_text"), ("blip-2", "opt")])
def test_a_whole_language_model_inside_ties_its_own_head(kind: str, text: str) -> None:
    """Where the wrapper holds a model with a head, the wrapper's own flag says nothing."""
    for inner in (True, False):
        section = {"model_type": text, "hidden_size": 768, "num_hidden_layers": 2, "num_attention_heads": 12,
                   "vocab_size": 100, "tie_word_embeddings": inner, "intermediate_size": 64,
                   "intermediate_size_mlp": 64, "num_local_experts": 2, "num_experts_per_tok": 1,
                   "num_key_value_heads": 12}  # fmt: skip
        model = read_config({"model_type": kind, "text_config": section, "tie_word_embeddings": not inner})
        assert model.tied is inner


@pytest.mark.parametrize(
    ("kind", "total"),
    [("voxtral", 4_676_271_104), ("glmasr", 2_136_470_528), ("paddleocr_vl", 799_695_472),
     ("qwen3_vl", 12_616_410_352)],
)  # fmt: skip
def test_empty_sections_mean_the_defaults_of_the_class(kind: str, total: int) -> None:
    """The parameters of the class of the same name in transformers 5.24, built from its own defaults."""
    texts = {"voxtral": "llama", "glmasr": "llama", "paddleocr_vl": "paddleocr_vl_text", "qwen3_vl": "qwen3_vl_text"}
    config = {"model_type": kind, "text_config": {"model_type": texts[kind]}, "audio_config": {}, "vision_config": {},
              "tie_word_embeddings": kind in ("glmasr", "paddleocr_vl")}  # fmt: skip
    assert read_config(config).total_params == total
