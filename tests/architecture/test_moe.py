"""Mixtures of experts: exact counts, which layers are sparse, and the traps of their configs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from planner.architecture import Architecture, read_config
from planner.errors import ConfigError
from tests.corpus import FOLDER, differences, rows

FAMILIES = (
    "afmoe", "dbrx", "deepseek", "ernie4_5_moe", "glm4_moe", "gpt_oss", "granitemoe", "grok-1", "hy_v3", "jetmoe",
    "laguna", "minimax_m2", "mixtral", "olmoe", "phimoe", "qwen2_moe", "qwen3_moe", "sarvam_moe", "solar_open",
)  # fmt: skip
ANSWERED = [r for r in rows() if r["model_type"] in FAMILIES and not r["oracle"].startswith("none")]

SMALL: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "intermediate_size": 96, "moe_intermediate_size": 32, "vocab_size": 100, "num_experts": 8,
    "num_experts_per_tok": 2, "tie_word_embeddings": False,
}  # fmt: skip


def config(file: str) -> dict[str, Any]:
    """A config of the corpus."""
    data: dict[str, Any] = json.loads((FOLDER / file).read_text())
    return data


def small(model_type: str, **keys: Any) -> Architecture:
    """A tiny model of this type."""
    return read_config({**SMALL, "model_type": model_type, **keys})


def per_layer(model: Architecture, role: str) -> list[int]:
    """Parameters of one role in each layer of the language model."""
    out = [0] * model.n_layers
    for block, matrix in model.matrices("text"):
        if matrix.role == role:
            for i in block.layers:
                out[i] += matrix.params
    return out


@pytest.mark.parametrize("row", ANSWERED, ids=[r["id"] for r in ANSWERED])
def test_every_answered_row_is_exact(row: dict[str, Any]) -> None:
    """Counts, KV elements and layer kinds equal the corpus for every row of these families."""
    assert differences(row, read_config(config(row["file"]))) == {}


@pytest.mark.parametrize(
    ("file", "total", "active"),
    [
        ("gpt_oss/maxtext-gpt_oss_20b.json", 20_914_757_184, 4_187_440_704),
        ("gpt_oss/openai--gpt-oss-120b.json", 116_829_156_672, 5_711_982_912),
        ("mixtral/Mixtral-8x7B-Instruct-v0.1.json", 46_702_792_704, 12_879_925_248),
        ("qwen3_moe/Qwen--Qwen3-235B-A22B.json", 235_093_634_560, 22_190_763_520),
    ],
)
def test_published_totals(file: str, total: int, active: int) -> None:
    """Totals equal the published ones; active counts the picked experts only."""
    model = read_config(config(file))
    assert (model.total_params, model.active_params) == (total, active)


def test_glm_air_with_and_without_next_token_layers() -> None:
    """GLM-4.5-Air: 106,852,245,504, and 110,468,824,832 with the next-token layer, its copies and routing biases."""
    model = read_config({
        "model_type": "glm4_moe", "hidden_size": 4096, "num_hidden_layers": 46, "num_attention_heads": 96,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 10944, "moe_intermediate_size": 1408,
        "n_routed_experts": 128, "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
        "attention_bias": True, "use_qk_norm": False, "vocab_size": 151552, "num_nextn_predict_layers": 1,
        "tie_word_embeddings": False,
    })  # fmt: skip
    copies = sum(m.weights for _, m in model.matrices("mtp") if m.tied)
    assert model.total_params == 106_852_245_504
    assert model.total_params + model.mtp_params + copies + 45 * 128 == 110_468_824_832


def test_hunyuan_a13b_equals_the_published_count() -> None:
    """Hunyuan-A13B has 80,393,183,232 parameters."""
    model = read_config({
        "model_type": "hunyuan_v1_moe", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "attention_head_dim": 128, "intermediate_size": 3072, "num_experts": 64,
        "moe_topk": [8] * 32, "moe_intermediate_size": [3072] * 32, "num_shared_expert": [1] * 32,
        "use_qk_norm": True, "vocab_size": 128167, "tie_word_embeddings": True,
    })  # fmt: skip
    assert model.total_params == 80_393_183_232


def test_gpt_oss_experts_are_fused_tensors_with_biases() -> None:
    """gpt-oss names its experts as the checkpoint does, one tensor a layer for gate and up of all experts."""
    model = read_config(config("gpt_oss/openai--gpt-oss-120b.json"))
    (gate_up,) = {m for _, m in model.matrices("text") if m.name == "mlp.experts.gate_up_proj"}
    assert (gate_up.copies, gate_up.used, gate_up.rows, gate_up.cols, gate_up.bias) == (128, 4, 5760, 2880, 5760)


def test_qwen_layers_without_experts_use_the_wide_mlp() -> None:
    """`mlp_only_layers` and `decoder_sparse_step` make layers dense, of `intermediate_size`."""
    model = small("qwen3_moe", decoder_sparse_step=2, mlp_only_layers=[3])
    assert per_layer(model, "router") == [0, 64 * 8, 0, 0]
    assert per_layer(model, "mlp") == [3 * 64 * 96, 0, 3 * 64 * 96, 3 * 64 * 96]


def test_unused_intermediate_size_does_not_count() -> None:
    """Where all layers are sparse, `intermediate_size` changes nothing."""
    assert small("qwen3_moe").total_params == small("qwen3_moe", intermediate_size=9999).total_params


def test_first_layers_are_dense_as_number_or_list() -> None:
    """`first_k_dense_replace` and a list of 0 and 1 in `moe_layer_freq` say the same."""
    by_number = small("glm4_moe", first_k_dense_replace=2, n_routed_experts=8)
    by_list = small("glm4_moe", first_k_dense_replace=0, moe_layer_freq=[0, 0, 1, 1], n_routed_experts=8)
    assert [bool(n) for n in per_layer(by_number, "experts")] == [False, False, True, True]
    assert by_number.total_params == by_list.total_params


def test_maverick_alternates_and_scout_does_not() -> None:
    """`interleave_moe_layer_step` 2 puts experts on every other layer, and `moe_layers` overrides it."""
    keys: dict[str, Any] = {"intermediate_size_mlp": 128, "num_local_experts": 8, "interleave_moe_layer_step": 2}
    assert [bool(n) for n in per_layer(small("llama4_text", **keys), "experts")] == [False, True, False, True]
    listed = small("llama4_text", moe_layers=[0], **keys)
    assert [bool(n) for n in per_layer(listed, "experts")] == [True, False, False, False]


def test_hunyuan_accepts_lists() -> None:
    """Per-layer lists with equal entries mean what the plain numbers mean."""
    plain = small("hunyuan_v1_moe", moe_topk=2, num_shared_expert=1)
    listed = small(
        "hunyuan_v1_moe", moe_topk=[2] * 4, num_shared_expert=[1] * 4, moe_intermediate_size=[32] * 4,
        num_experts=[8] * 4,
    )  # fmt: skip
    assert (plain.total_params, plain.active_params) == (listed.total_params, listed.active_params)


def test_mimo_values_are_narrower_than_keys() -> None:
    """The cache of MiMo-V2 holds keys and values of different width, and twice the heads in sliding layers."""
    model = small(
        "mimo_v2_flash", head_dim=24, v_head_dim=16, num_hidden_layers=6, n_routed_experts=8, sliding_window=9
    )
    kinds = Counter((c.kind, c.window, c.elements) for b, c in model.caches() for _ in b.layers)
    assert kinds == {("full", None, 2 * 40): 2, ("window", 9, 4 * 40): 4}


def test_more_experts_per_token_than_experts_is_refused() -> None:
    """Nonsense counts give one sentence that names the key."""
    with pytest.raises(ConfigError, match="num_experts_per_tok is 9, more than the 8 experts"):
        small("mixtral", num_experts_per_tok=9)


def test_short_layer_list_is_refused() -> None:
    """A list that misses layers is named with both lengths."""
    with pytest.raises(ConfigError, match="moe_layer_freq has 2 entries"):
        small("glm4_moe", moe_layer_freq=[0, 1], n_routed_experts=8)


UNANSWERED = (
    "aria_text", "axk1", "bailing_moe", "cohere2_moe", "dots1", "exaone_moe", "flex_olmo", "granitemoe_swa",
    "granitemoeshared", "kolibri1", "mellum", "minimax_m3", "step3p5",
)  # fmt: skip


@pytest.mark.parametrize("model_type", UNANSWERED)
def test_active_is_what_a_token_passes(model_type: str) -> None:
    """Families without an answered row obey the definition: total less the experts that are not picked."""
    model = small(
        model_type, n_routed_experts=8, dense_intermediate_size=96, shared_intermediate_size=32,
        share_expert_dim=32, first_k_dense_replace=1, num_hidden_layers=5,
    )  # fmt: skip
    routed = sum(per_layer(model, "experts"))
    assert routed > 0
    assert model.active_params == model.total_params - routed * 6 // 8


@pytest.mark.parametrize(
    ("kind", "sliding"), [("qwen3_moe", [0, 1, 2, 3, 4, 5]), ("qwen2_moe", [0, 2])], ids=["Qwen3", "Qwen2"]
)
def test_windows_of_qwens_mixtures_are_those_of_their_classes(kind: str, sliding: list[int]) -> None:
    """With use_sliding_window Qwen3's all slide, of Qwen2's every other one before max_window_layers; without, none."""
    config = {
        "model_type": kind, "hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "head_dim": 16,
        "num_key_value_heads": 2, "vocab_size": 100, "intermediate_size": 96, "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32, "num_experts": 4, "num_experts_per_tok": 2, "sliding_window": 64,
        "max_window_layers": 3, "use_sliding_window": True,
    }  # fmt: skip
    found = {
        i for block in read_config(config).blocks for cache in block.caches if cache.window == 64 for i in block.layers
    }
    assert sorted(found) == sliding
    plain = read_config(config | {"use_sliding_window": False})
    assert all(cache.window is None for _, cache in plain.caches())
