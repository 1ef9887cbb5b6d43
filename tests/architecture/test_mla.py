"""Latent attention: exact counts, what the cache holds, the indexer, and the traps of these configs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from planner.architecture import Architecture, read_config
from planner.errors import ConfigError
from tests.corpus import EXCEPTIONS, FOLDER, differences, rows

FAMILIES = (
    "deepseek_v2", "deepseek_v3", "deepseek_v32", "deepseek_v4", "glm4_moe_lite", "glm_moe_dsa", "kimi_k2",
    "longcat_flash", "minicpm3", "mistral4", "sarvam_mla", "youtu",
)  # fmt: skip
ANSWERED = [
    r for r in rows()
    if r["model_type"] in FAMILIES and not r["oracle"].startswith("none") and r["kind"] != "draft"
]  # fmt: skip

R1 = "deepseek/deepseek-ai--DeepSeek-R1.json"
LITE = "deepseek/mlc-deepseek_v2_lite.json"
SMALL: dict[str, Any] = {
    "model_type": "deepseek_v3", "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4,
    "intermediate_size": 96, "moe_intermediate_size": 32, "vocab_size": 100, "n_routed_experts": 8,
    "num_experts_per_tok": 2, "n_shared_experts": 1, "first_k_dense_replace": 1, "q_lora_rank": 24,
    "kv_lora_rank": 20, "qk_nope_head_dim": 12, "qk_rope_head_dim": 8, "v_head_dim": 16,
    "tie_word_embeddings": False,
}  # fmt: skip


def config(file: str) -> dict[str, Any]:
    """A config of the corpus."""
    data: dict[str, Any] = json.loads((FOLDER / file).read_text())
    return data


def small(**keys: Any) -> Architecture:
    """A tiny DeepSeek V3 with these keys."""
    return read_config({**SMALL, **keys})


@pytest.mark.parametrize("row", ANSWERED, ids=[r["id"] for r in ANSWERED])
def test_every_answered_row_is_exact(row: dict[str, Any]) -> None:
    """Counts, latents, index caches and layer kinds equal the corpus for every row of these families."""
    assert differences(row, read_config(config(row["file"]))) == {}


@pytest.mark.parametrize("row", [r for r in ANSWERED if r.get("mtp")], ids=[r["id"] for r in ANSWERED if r.get("mtp")])
def test_next_token_layers_are_apart(row: dict[str, Any]) -> None:
    """Multi-token-prediction layers have the corpus's size, and are in no total."""
    model = read_config(config(row["file"]))
    assert model.mtp_params == row["mtp"]["num_layers"] * row["mtp"]["extra_params_per_layer"]
    assert model.total_params == row["total_params"]


def test_deepseek_v3_equals_the_published_count() -> None:
    """671,026,404,352, and 684,489,845,504 with the next-token layer, its copies and the routing biases."""
    model = read_config(config(R1))
    copies = sum(m.weights for _, m in model.matrices("mtp") if m.tied)
    routing_biases = 58 * 256
    assert model.total_params == 671_026_404_352
    assert model.total_params + model.mtp_params + copies + routing_biases == 684_489_845_504
    assert model.active_params == 37_552_282_624
    assert model.kv_elements_per_token == 35_136 == 61 * (512 + 64)


def test_latents_are_whole_on_every_device() -> None:
    """Tensor parallelism deals out heads, neither the latent nor the projections to it."""
    model = read_config(config(R1))
    assert {c.units for _, c in model.caches()} == {1}
    units = {m.name: m.units for _, m in model.matrices("text") if m.name.startswith("self_attn.")}
    assert units["self_attn.kv_a_proj_with_mqa"] == units["self_attn.q_a_proj"] == 1
    assert units["self_attn.kv_b_proj"] == units["self_attn.q_b_proj"] == units["self_attn.o_proj"] == 128


def test_absent_query_rank_is_the_class_default_and_null_is_none() -> None:
    """`q_lora_rank` absent in deepseek_v2 means 1536; null means queries without a latent."""
    absent = config(LITE)
    assert "q_lora_rank" not in absent
    null = read_config({**absent, "q_lora_rank": None})
    assert read_config(absent).total_params == 15_748_993_024
    assert null.total_params == 15_706_484_224


def test_decode_works_on_the_latent() -> None:
    """Per pair, prefill costs 2A(dn + dr + dv) and decode 2A((r + dr) + r)."""
    (mixing,) = {m for b in small().blocks for m in b.mixing}
    assert (mixing.pair, mixing.decode) == (2 * 4 * (12 + 8 + 16), 2 * 4 * (20 + 8 + 20))


def test_decorative_heads_are_ignored() -> None:
    """`num_key_value_heads` and `head_dim` of these files change nothing."""
    assert small(num_key_value_heads=1, head_dim=7).total_params == small().total_params


def test_sparse_attention_keeps_all_latents_and_index_keys() -> None:
    """V3.2 reads `index_topk` latents and all index keys; its index cache is told apart."""
    model = small(model_type="deepseek_v32", index_topk=64, index_n_heads=2, index_head_dim=16)
    latent, index = sorted((c for b in model.blocks[1:2] for c in b.caches), key=lambda c: c.role, reverse=True)
    assert (latent.kind, latent.elements, latent.top) == ("latent", 28, 64)
    assert (index.role, index.elements, index.top) == ("index", 16, None)
    assert model.indexer_elements_per_token == 4 * 16
    assert model.kv_elements_per_token == 4 * 28


def test_indexer_without_query_latent_is_refused() -> None:
    """The indexer reads the query latent, so null there is an error that says so."""
    with pytest.raises(ConfigError, match="q_lora_rank is null"):
        small(model_type="deepseek_v32", q_lora_rank=None)


@pytest.mark.parametrize(
    ("keys", "indexers"),
    [
        ({}, 4),
        ({"indexer_types": ["full", "shared", "shared", "full"]}, 2),
        ({"index_topk_pattern": "FSSS"}, 1),
        ({"index_topk_freq": 2, "index_skip_topk_offset": 1}, 2),
    ],
)
def test_indexers_on_some_layers(keys: dict[str, Any], indexers: int) -> None:
    """GLM-5.2 has an indexer where its list, pattern or period says so."""
    model = small(model_type="glm_moe_dsa", index_topk=64, index_n_heads=2, index_head_dim=16, **keys)
    assert model.indexer_elements_per_token == indexers * 16


def test_longcat_has_two_latents_a_layer_and_routes_to_nothing() -> None:
    """LongCat keeps two latents per layer; experts without weights are rows of the router alone."""
    longcat = config("longcat_flash/classdefault-longcat_flash.json")
    model, without = read_config(longcat), read_config({**longcat, "zero_expert_num": 0})
    assert model.kv_elements_per_token == 28 * 2 * 576
    assert model.total_params - without.total_params == 28 * 256 * 6144


def test_deepseek_v4_compresses_along_the_sequence() -> None:
    """Flash adds 21 x (512 + 128)/4 + 20 x 512/128 elements a token, beside a window in every layer."""
    model = read_config(config("deepseek_v4/deepseek-ai--DeepSeek-V4-Flash.json"))
    assert model.kv_elements_per_token == 21 * 160 + 20 * 4
    windows = [(c.window, c.elements, b.count) for b, c in model.caches() if c.kind == "window"]
    assert sum(w * e * n for w, e, n in windows if w) == 43 * 128 * 512
    picked = {c.top for _, c in model.caches() if c.top}
    assert picked == {512 * 4}


def test_deepseek_v4_names_are_the_checkpoints() -> None:
    """Quantization tables speak of `layers.0.ffn.experts`."""
    model = read_config(config("deepseek_v4/deepseek-ai--DeepSeek-V4-Flash.json"))
    names = {b.prefix + m.name for b, m in model.matrices("text")}
    assert {"layers.{i}.ffn.experts.{e}.w1", "layers.{i}.attn.wq_a", "embed", "head"} <= names


def test_exceptions_name_their_reason() -> None:
    """Rows where the library departs from the checkpoint are listed with a sentence."""
    assert all(len(reason) > 20 and fields for reason, fields in EXCEPTIONS.values())


def test_v4_window_entry_is_one_vector_for_engines_and_two_in_the_library() -> None:
    """Key and value are one vector of 512: engines store it once; the library's own count is 1024."""
    model = read_config(json.dumps(config("deepseek_v4/deepseek-ai--DeepSeek-V4-Flash.json")))
    windows = {(c.elements, c.in_library) for _, c in model.caches() if c.kind == "window"}
    assert windows == {(512, 1024)}
