"""Towers that are listed whole, and the guess where one is not known."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.architecture import read_config

GEMMA3N: dict[str, Any] = {
    "model_type": "gemma3n", "architectures": ["Gemma3nForConditionalGeneration"],
    "text_config": {
        "model_type": "gemma3n_text", "hidden_size": 2048, "head_dim": 256, "num_attention_heads": 8,
        "num_key_value_heads": 2, "vocab_size": 262400, "vocab_size_per_layer_input": 262144,
        "hidden_size_per_layer_input": 256, "altup_num_inputs": 4, "laurel_rank": 64, "sliding_window": 512,
    },
    "audio_config": {"model_type": "gemma3n_audio", "hidden_size": 1536, "conf_num_hidden_layers": 12},
    "vision_config": {"model_type": "gemma3n_vision", "architecture": "mobilenetv5_300m_enc", "hidden_size": 2048},
}  # fmt: skip
SHARED_KEYS_AND_VALUES = 2 * 512 * 2048 + 256  # of one layer, with the norm of its keys

OCR: dict[str, Any] = {
    "model_type": "deepseek_vl_v2", "architectures": ["DeepseekOCRForCausalLM"],
    "language_config": {
        "model_type": "deepseek_v2", "hidden_size": 1280, "intermediate_size": 6848, "moe_intermediate_size": 896,
        "num_hidden_layers": 12, "num_attention_heads": 10, "num_key_value_heads": 10, "first_k_dense_replace": 1,
        "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6, "vocab_size": 129280,
        "use_mla": False, "q_lora_rank": None, "kv_lora_rank": None, "qk_nope_head_dim": 0, "qk_rope_head_dim": 0,
        "v_head_dim": 0,
    },
    "vision_config": {"model_type": "vision", "width": 1152, "layers": 27},
}  # fmt: skip


@pytest.mark.parametrize(
    ("layers", "shared", "width", "published"), [(35, 15, 16384, 7_849_978_192), (30, 10, 8192, 5_439_438_272)],
    ids=["E4B", "E2B"],
)  # fmt: skip
def test_gemma_3n_is_the_published_total_less_what_is_never_used(
    layers: int, shared: int, width: int, published: int
) -> None:
    """Text, images and sound are the checkpoint but for keys and values of layers that read other layers' caches."""
    sizes = {"num_hidden_layers": layers, "num_kv_shared_layers": shared, "intermediate_size": [width] * layers}
    model = read_config(json.dumps(GEMMA3N | {"text_config": GEMMA3N["text_config"] | sizes}))
    assert model.total_params == published - shared * SHARED_KEYS_AND_VALUES
    assert (model.nontext_params, model.recognised) == (983_281_504, "exact")
    assert any(f"last {shared} layers" in warning for warning in model.warnings)


def test_another_image_network_in_gemma_3n_is_a_guess() -> None:
    """A network by another name is not counted, and that is said."""
    other = GEMMA3N["vision_config"] | {"architecture": "another_net"}
    text = GEMMA3N["text_config"] | {"num_hidden_layers": 30, "intermediate_size": 8192}
    model = read_config(json.dumps(GEMMA3N | {"vision_config": other, "text_config": text}))
    assert (model.nontext_params, model.recognised) == (0, "guessed")


def test_gemma_4_hears_with_the_classs_matrices() -> None:
    """The Conformer of Gemma 4's small models has the parameters of transformers 5.24's class."""
    config = {
        "model_type": "gemma4", "vision_config": None, "audio_config": {"model_type": "gemma4_audio"},
        "text_config": {
            "model_type": "gemma4_text", "num_hidden_layers": 2, "num_kv_shared_layers": 0, "hidden_size": 1536,
            "layer_types": ["sliding_attention", "full_attention"], "vocab_size": 1000,
            "vocab_size_per_layer_input": 1000, "intermediate_size": 6144, "num_attention_heads": 8,
            "num_key_value_heads": 1, "hidden_size_per_layer_input": 256,
        },
    }  # fmt: skip
    assert read_config(json.dumps(config)).nontext_params == AUDIO_OF_GEMMA4


# The class's audio tower (one layer, what stands outside, 12 layers) and the projection behind it.
_CONFORMER_LAYER = 8 * 4 * 1024**2 // 2 + 5 * 1024**2 + 3 * 1024**2 + 5 * 1024 + 9 * 1024 + 128
AUDIO_OF_GEMMA4 = (
    12 * _CONFORMER_LAYER + 128 * 9 + 128 + 32 * 128 * 9 + 32 + 1024 * 1024 + 1024 * 1536 + 1536 + 1536 * 1536
)


def test_plain_attention_in_a_deepseek_model_has_heads_of_its_own_width() -> None:
    """Without MLA a head is hidden / heads wide, whatever MLA's class default of head_dim is."""
    model = read_config(json.dumps(OCR))
    assert model.text_params == 2_934_734_080
    assert model.kv_elements_per_token == 12 * 2 * 1280


def test_a_deepseek_tower_of_another_kind_is_a_guess() -> None:
    """Only DeepSeek-OCR's pair of towers is listed; DeepSeek-VL2's is not counted, and that is said."""
    model = read_config(json.dumps(OCR))
    assert (model.nontext_params, model.recognised) == (0, "guessed")


@pytest.mark.parametrize("version", [None, 9.9])
def test_minicpm_v_of_an_unknown_version_is_a_guess(version: float | None) -> None:
    """The file does not name its language model, so without a known version that is a guess."""
    config = {
        "model_type": "minicpmv", "version": version, "hidden_size": 64, "intermediate_size": 128,
        "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100, "query_num": 8,
        "vision_config": {"model_type": "siglip", "hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2,
                          "num_attention_heads": 4, "image_size": 28, "patch_size": 14},
    }  # fmt: skip
    model = read_config(json.dumps(config))
    assert model.recognised == "guessed" and "version" in model.warnings[0]


def test_a_wrapper_that_states_one_size_of_its_language_model_leaves_the_rest_at_the_class() -> None:
    """Files of wrappers hold what differs from the class; with a width or a depth, a missing size is a guess."""
    text = {"model_type": "mistral", "intermediate_size": 14336, "num_key_value_heads": 8, "vocab_size": 32064}
    tower = {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "image_size": 336,
             "num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14}  # fmt: skip
    config = {"model_type": "llava_next", "text_config": text, "vision_config": tower}
    assert read_config(json.dumps(config)).recognised == "exact"
    for stated in ({"hidden_size": 4096}, {"num_hidden_layers": 32}):
        assert read_config(json.dumps(config | {"text_config": text | stated})).recognised == "guessed"


@pytest.mark.parametrize(
    ("config", "total"),
    [
        ({"model_type": "bart", "architectures": ["BartForCausalLM"], "d_model": 1024, "encoder_layers": 12,
          "decoder_layers": 12, "encoder_attention_heads": 16, "decoder_attention_heads": 16, "encoder_ffn_dim": 4096,
          "decoder_ffn_dim": 4096, "max_position_embeddings": 1024, "vocab_size": 50265}, 254_084_096),
        ({"model_type": "whisper", "architectures": ["WhisperForCausalLM"], "d_model": 384, "encoder_layers": 4,
          "decoder_layers": 4, "encoder_attention_heads": 6, "decoder_attention_heads": 6, "encoder_ffn_dim": 1536,
          "decoder_ffn_dim": 1536, "num_mel_bins": 80, "vocab_size": 51865}, 29_552_256),
    ],
    ids=["bart", "whisper"],
)  # fmt: skip
def test_a_class_that_is_the_decoder_alone_has_no_encoder(config: dict[str, Any], total: int) -> None:
    """The decoder's class holds its cross-attention but no encoder, and keeps nothing of one."""
    model = read_config(json.dumps(config))
    assert model.total_params == total
    assert {cache.kind for _, cache in model.caches()} == {"full"}
    assert read_config(json.dumps(model.config)).total_params == total
