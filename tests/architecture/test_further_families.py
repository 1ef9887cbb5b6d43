"""Families outside the corpus, against the tensors of their classes; and what must not be read as a decoder.

`tests/data/further_families.json` holds one config per family with few layers, and the figures that the class of the
same name in transformers 5.24 has for it.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.architecture import read_config
from planner.errors import ConfigError
from planner.work import has_encoder

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "further_families.json").read_text())
FIGURES = (
    "total_params", "text_params", "embedding_params", "lm_head_params", "tied_lm_head", "active_params",
)  # fmt: skip
LLAMA_LIKE: dict[str, Any] = {
    "model_type": "never_seen", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 4,
    "num_attention_heads": 16, "num_key_value_heads": 4, "vocab_size": 32000, "rms_norm_eps": 1e-6,
    "hidden_act": "silu", "tie_word_embeddings": False,
}  # fmt: skip
SIZES = {"d_model": 64, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 96, "decoder_ffn_dim": 96,
         "encoder_attention_heads": 4, "decoder_attention_heads": 4, "vocab_size": 100, "num_experts": 4,
         "num_layers": 2, "num_heads": 4, "d_ff": 96, "tie_word_embeddings": True}  # fmt: skip


@pytest.mark.parametrize("row", ROWS, ids=[row["type"] for row in ROWS])
def test_figures_are_those_of_the_class(row: dict[str, Any]) -> None:
    """Every stated figure is equal, and the reading is no guess."""
    model = read_config(json.dumps(row["config"]))
    found = {f: getattr(model, "tied" if f == "tied_lm_head" else f) for f in FIGURES if f in row}
    assert (model.recognised, found) == ("exact", {f: row[f] for f in FIGURES if f in row})


@pytest.mark.parametrize(
    "kind", ["bert", "roberta", "xlm-roberta", "vit", "clip", "siglip", "dinov2", "detr", "wav2vec2", "sam", "bark"]
)
def test_models_that_write_no_text_are_refused(kind: str) -> None:
    """An encoder, a detector or a speaker is refused by its name, whatever familiar keys it has."""
    with pytest.raises(ConfigError, match="does not write tokens"):
        read_config(json.dumps(LLAMA_LIKE | {"model_type": kind}))


@pytest.mark.parametrize(
    "keys", [{"type_vocab_size": 2}, {"image_size": 224, "patch_size": 16}, {"num_mel_bins": 80}], ids=str
)
def test_keys_of_an_encoder_are_refused(keys: dict[str, Any]) -> None:
    """An unknown type with the keys of an encoder is not guessed to be a decoder."""
    with pytest.raises(ConfigError, match="does not write"):
        read_config(json.dumps(LLAMA_LIKE | keys))


def test_classes_without_a_language_head_are_refused() -> None:
    """Class names that label or embed text are refused even for a known type."""
    with pytest.raises(ConfigError, match="ForTokenClassification"):
        read_config(json.dumps(LLAMA_LIKE | {"model_type": "qwen2", "architectures": ["Qwen2ForTokenClassification"]}))


@pytest.mark.parametrize("key", ["num_layers_per_stack", "swa_head_dim", "moe_hidden_size", "loop_gate_rank"])
def test_guess_refuses_shape_keys_it_leaves_unread(key: str) -> None:
    """A key that sounds like a size and that the guess does not use makes it a refusal that names the key."""
    with pytest.raises(ConfigError, match=key):
        read_config(json.dumps(LLAMA_LIKE | {key: 64}))


def test_guess_obeys_listed_sparse_layers() -> None:
    """`mlp_layer_types` decides which layers of an unknown mixture of experts are sparse."""
    moe = LLAMA_LIKE | {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 512}
    every = read_config(json.dumps(moe))
    some = read_config(json.dumps(moe | {"mlp_layer_types": ["dense", "sparse", "sparse", "dense"]}))
    sparse, dense = 3 * 8 * 512 * 1024 + 8 * 1024, 3 * 4096 * 1024
    assert every.total_params - some.total_params == 2 * (sparse - dense)


def test_uncounted_tower_makes_a_guess_that_its_link_repeats() -> None:
    """A text family's file with a vision section is a guess, and stays one when read from its used keys."""
    model = read_config(json.dumps(LLAMA_LIKE | {"model_type": "llama", "vision_config": {"hidden_size": 64}}))
    again = read_config(model.config)
    assert (model.recognised, again.recognised, again.warnings) == ("guessed", "guessed", model.warnings)


@pytest.mark.parametrize("kind", ["bart", "led", "marian", "nllb-moe", "pegasus_x", "switch_transformers"])
def test_untied_tables_of_bart_and_its_kin_are_a_guess(kind: str) -> None:
    """With the head untied, whether each half has a table of its own is not told by the keys."""
    tied = read_config({"model_type": kind, **SIZES})
    untied = read_config({"model_type": kind, **SIZES, "tie_word_embeddings": False})
    assert (tied.recognised, untied.recognised) == ("exact", "guessed")
    assert untied.total_params - tied.total_params == 100 * 64


@pytest.mark.parametrize("key", ["d_model", "decoder_layers", "encoder_ffn_dim", "vocab_size"])
@pytest.mark.parametrize("kind", ["bart", "whisper", "led", "nllb-moe"])
def test_a_size_of_either_half_that_is_absent_makes_a_guess(kind: str, key: str) -> None:
    """Files of real models hold these keys; without one the class's default is taken and said."""
    model = read_config({"model_type": kind} | {k: v for k, v in SIZES.items() if k != key})
    assert model.recognised == "guessed" and any(key in w for w in model.warnings)


def test_layers_that_run_again_keep_keys_and_values_of_their_own() -> None:
    """Dory 2: twelve layers of which six run twice, every fourth of them full, unless the last run's alone are kept."""
    dory = next(r["config"] for r in ROWS if r["type"] == "dory")
    entry = 2 * dory["num_key_value_heads"] * dory["head_dim"]
    assert read_config(dory).kv_elements_per_token == (3 + 1) * entry
    assert read_config({**dory, "recurrent_kv_cache_mode": "last_loop"}).kv_elements_per_token == 3 * entry


def test_hrm_text_keeps_each_cycle_apart() -> None:
    """HRM-Text: five layers, three slow cycles of two fast runs and one slow run."""
    config = next(r["config"] for r in ROWS if r["type"] == "hrm_text")
    model = read_config(config)
    assert model.kv_elements_per_token == 5 * 3 * (2 + 1) * 2 * config["num_attention_heads"] * config["head_dim"]
    assert model.n_layers == config["num_hidden_layers"] == 45


def test_two_names_of_one_size_must_agree() -> None:
    """Files of xLSTM give the number of layers twice; where the two differ, neither is taken."""
    config = {"model_type": "xlstm", "hidden_size": 64, "num_hidden_layers": 2, "num_blocks": 2, "vocab_size": 100}
    assert read_config(config).n_layers == 2
    with pytest.raises(ConfigError, match="num_hidden_layers and num_blocks"):
        read_config({**config, "num_blocks": 3})


def test_the_decoder_of_t5gemma_has_its_own_vocabulary() -> None:
    """Its head has the rows of the decoder's section, whatever the top level says."""
    half = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
            "head_dim": 16, "intermediate_size": 96, "vocab_size": 500}  # fmt: skip
    model = read_config({"model_type": "t5gemma", "vocab_size": 900, "encoder": half, "decoder": half})
    assert model.vocab == 500


def test_absent_keys_of_wrapped_and_renamed_classes() -> None:
    """A section of Llama 3.2 Vision has 8 KV heads unless it says otherwise; GPT-SW3 ties its head as GPT-2 does."""
    text = {"model_type": "mllama_text_model", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 16,
            "intermediate_size": 64, "vocab_size": 100, "cross_attention_layers": []}  # fmt: skip
    assert read_config({"model_type": "mllama", "text_config": text, "vision_config": {}}).kv_heads == 8
    assert read_config({"model_type": "gpt-sw3", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 9}).tied


@pytest.mark.parametrize(("kind", "reads"), [("bart", True), ("switch_transformers", True), ("chatglm", False)])
def test_only_what_is_attended_across_is_an_encoder(kind: str, reads: bool) -> None:
    """ChatGLM calls its decoder's layers an encoder's; its prompt is read by them and kept as any decoder's."""
    shape = {"hidden_size": 64, "num_layers": 2, "num_attention_heads": 4, "ffn_hidden_size": 96, "kv_channels": 16,
             "padded_vocab_size": 100, "seq_length": 64}  # fmt: skip
    switch = next(r["config"] for r in ROWS if r["type"] == "switch_transformers")
    config = {"bart": SIZES, "switch_transformers": switch, "chatglm": shape}[kind]
    assert has_encoder(read_config({"model_type": kind, **config})) is reads
