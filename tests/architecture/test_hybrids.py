"""Linear attention, state space, hybrids, Gemma 3n and 4: exact counts, states, caches, and traps of their configs."""

from __future__ import annotations

import json
from collections import Counter
from math import prod
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Architecture, read_config
from planner.architecture.oracle_flops import oracle_prefill_flops
from planner.errors import ConfigError
from tests.corpus import FOLDER, differences, rows

FAMILIES = (
    "bailing_hybrid", "falcon_h1", "falcon_mamba", "gemma3n_text", "gemma4", "gemma4_text", "granitemoehybrid", "jamba",
    "lfm2", "mamba", "mamba2", "nemotron_h", "olmo_hybrid", "qwen3_5", "qwen3_5_moe", "qwen3_next", "recurrent_gemma",
    "rwkv", "xlstm", "zamba", "zamba2", "zaya",
)  # fmt: skip
ANSWERED = [r for r in rows() if r["model_type"] in FAMILIES and not r["oracle"].startswith("none")]
MEASURED = [r for r in ANSWERED if r.get("prefill_flops")]

# model_type of a tensor list -> a config of the same sizes in the corpus.
LISTED = {
    "bailing_hybrid": "bailing_hybrid/classdefault-bailing_hybrid",
    "falcon_mamba": "falcon_mamba/classdefault-falcon_mamba", "gemma3n_text": "gemma3n_text/classdefault-gemma3n_text",
    "gemma4": "gemma4/nvidia--Gemma-4-31B-IT-NVFP4", "gemma4_text": "gemma4/classdefault-gemma4_text",
    "granitemoehybrid": "granitemoehybrid/granite-4.0-h-1b", "mamba": "mamba/mamba-1.4b-hf",
    "mamba2": "mamba2/Mamba-Codestral-7B-v0.1",
    "nemotron_h": "nemotron_h/nvidia--NVIDIA-Nemotron-3-Ultra-550B-A55B-BF16",
    "olmo_hybrid": "olmo_hybrid/classdefault-olmo_hybrid", "qwen3_5": "qwen3_5/Qwen--Qwen3.5-27B",
    "qwen3_5_moe": "qwen3_5/Qwen--Qwen3.5-397B-A17B", "qwen3_next": "qwen3_next/mbridge-qwen3_next_80b_a3b",
    "recurrent_gemma": "recurrent_gemma/classdefault-recurrent_gemma", "rwkv": "rwkv/rwkv-4-169m-pile",
    "xlstm": "xlstm/classdefault-xlstm", "zamba": "zamba/classdefault-zamba", "zaya": "zaya/classdefault-zaya",
}  # fmt: skip

SMALL: dict[str, Any] = {
    "hidden_size": 64, "num_hidden_layers": 8, "num_attention_heads": 4, "num_key_value_heads": 2,
    "intermediate_size": 96, "vocab_size": 100,
}  # fmt: skip
DELTA = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_key_head_dim": 16, "linear_value_head_dim": 16}
MAMBA2 = {"mamba_n_heads": 8, "mamba_d_state": 16}


def config(file: str) -> dict[str, Any]:
    """A config of the corpus."""
    data: dict[str, Any] = json.loads((FOLDER / f"{file}.json").read_text())
    return data


def small(model_type: str, **keys: Any) -> Architecture:
    """A tiny model of this type."""
    return read_config({**SMALL, "model_type": model_type, **keys})


def kept(model: Architecture) -> list[str]:
    """What each layer keeps: `full`, `window`, `state`, ... joined, "" for nothing."""
    out: list[list[str]] = [[] for _ in range(model.n_layers)]
    for block, cache in model.caches():
        for i in block.layers:
            name = cache.role if cache.kind == "state" else cache.kind
            out[i].append(name)
    return ["+".join(names) for names in out]


@pytest.mark.parametrize("row", ANSWERED, ids=[r["id"] for r in ANSWERED])
def test_every_answered_row_is_exact(row: dict[str, Any]) -> None:
    """Counts, KV and state elements and layer kinds equal the corpus for every row of these families."""
    assert differences(row, read_config(config(row["file"].removesuffix(".json")))) == {}


@pytest.mark.parametrize("row", ANSWERED, ids=[r["id"] for r in ANSWERED])
def test_convolution_and_recurrent_state_are_told_apart(row: dict[str, Any]) -> None:
    """The two parts of the state equal the measured ones, convolutions at full kernel width."""
    detail = row.get("recurrent_detail")
    model = read_config(config(row["file"].removesuffix(".json")))
    parts: Counter[str] = Counter()
    for block, cache in model.caches():
        parts[cache.role] += cache.fixed * block.count
    if detail:
        assert parts["conv"] == detail["conv_state_elements_transformers"]
        assert parts["ssm"] == detail["ssm_state_elements"]


@pytest.mark.parametrize("row", MEASURED, ids=[r["id"] for r in MEASURED])
def test_prefill_work_is_what_a_counter_sees(row: dict[str, Any]) -> None:
    """FLOPs of 512 tokens are within 0.1 % of the count over the reference implementation, chunked scans included."""
    measured = row["prefill_flops"]
    found = oracle_prefill_flops(read_config(config(row["file"].removesuffix(".json"))), measured["T"])
    assert found == pytest.approx(measured["total"], rel=1e-3)


@pytest.mark.parametrize("model_type", LISTED)
def test_every_layer_has_the_listed_parameters(model_type: str) -> None:
    """Each layer's parameters equal the sum over its listed tensors; so do those outside the layers."""
    listed = json.loads((FOLDER / "inventory" / f"{model_type}.json").read_text())
    stacks = [stack for name, stacks in listed["stacks"].items() if "vis" not in name for stack in stacks]
    expected = {i: sum(map(prod, stack["params"].values())) for stack in stacks for i in stack["layers"]}
    found: Counter[int] = Counter()
    outside = 0
    for block, matrix in read_config(config(LISTED[model_type])).matrices("text"):
        if "{i}" in block.prefix:
            found.update(dict.fromkeys(block.layers, matrix.params))
        else:
            outside += matrix.params
    assert found == expected
    tensors = [name for name in listed["non_layer"] if "vis" not in name]
    assert outside == sum(prod(listed["non_layer"][name]) for name in tensors)


@pytest.mark.parametrize(
    ("keys", "total"),
    [
        ({"model_type": "kimi_linear"}, 49_133_074_464),
        ({"model_type": "bamba", "attn_layer_indices": [9, 18, 27], "mamba_d_state": 128}, 9_778_138_240),
        ({"model_type": "minimax", "hidden_size": 6144, "num_hidden_layers": 80, "num_attention_heads": 64,
          "head_dim": 128, "intermediate_size": 9216, "num_local_experts": 32, "vocab_size": 200064,
          "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10}, 456_089_655_296),
        ({"model_type": "lfm2_moe", "num_hidden_layers": 24, "layer_types": [
            "full_attention" if i in (2, 6, 10, 14, 18, 21) else "conv" for i in range(24)]}, 8_339_929_856),
        ({"model_type": "jamba", "hidden_size": 8192, "intermediate_size": 24576, "num_hidden_layers": 72,
          "num_attention_heads": 64}, 398_555_145_696),
        ({"model_type": "zamba2", "num_mem_blocks": 2, "use_shared_attention_adapter": True, "add_bias_linear": True},
         2_688_383_680),
        ({"model_type": "recurrent_gemma", "hidden_size": 4096, "intermediate_size": 24576, "num_hidden_layers": 38,
          "num_attention_heads": 16, "num_key_value_heads": 1}, 8_579_977_216),
        ({"model_type": "lfm3"}, 1_728_801_536),
        ({"model_type": "lara_mini"}, 7_281_684_672),
        ({"model_type": "gemma4_unified_text", "num_hidden_layers": 7}, 1_177_360_128),
        ({"model_type": "rwkv7", "hidden_size": 768, "num_hidden_layers": 12, "vocab_size": 65536}, 191_034_624),
        ({"model_type": "rwkv7", "hidden_size": 2560, "num_hidden_layers": 32, "vocab_size": 65536}, 2_947_735_040),
    ],
)  # fmt: skip
def test_published_and_reference_totals(keys: dict[str, Any], total: int) -> None:
    """Totals of models outside the corpus: the reference classes' (Kimi Linear to Gemma 4) or published (RWKV-7)."""
    assert read_config(keys).total_params == total


@pytest.mark.parametrize(("model_type", "linear_term"), [("rwkv5", 14), ("rwkv6", 464)])
def test_rwkv_counts_follow_the_published_formula(model_type: str, linear_term: int) -> None:
    """13 D^2 L + c D L + 4 D + 2 D V, with c of 14 (Eagle) and 464 (Finch)."""
    d, layers, vocab = 2560, 32, 65536
    model = read_config(
        {"model_type": model_type, "hidden_size": d, "num_hidden_layers": layers, "vocab_size": vocab}
    )
    assert model.total_params == 13 * d * d * layers + linear_term * d * layers + 4 * d + 2 * d * vocab
    assert model.recurrent_state_elements_per_sequence == layers * (40 * 64 * 64 + 2 * d)


def test_nemotron_nano_keeps_a_cache_in_six_of_52_layers() -> None:
    """23 Mamba-2 layers, 23 of experts, 6 of attention; 3,072 KV elements per token."""
    model = read_config(config("nemotron_h/nvidia--NVIDIA-Nemotron-3-Nano-30B-A3B-NVFP4"))
    assert Counter(kept(model)) == {"ssm+conv": 23, "": 23, "full": 6}
    assert model.kv_elements_per_token == 3072


def test_qwen3_next_keeps_little_of_a_long_context() -> None:
    """32,768 tokens in 16 bit are 0.75 GiB of KV cache."""
    model = read_config(config("qwen3_next/mbridge-qwen3_next_80b_a3b"))
    assert model.kv_elements_per_token * 2 * 32768 == 0.75 * 2**30


def test_gemma4_e2b_caches_15_of_35_layers() -> None:
    """12 windows of 512 elements and 3 full layers of 1,024; the last 20 layers read those of others."""
    caches = Counter(
        (cache.kind, cache.elements, cache.window)
        for block, cache in read_config(config("gemma4/maxtext-gemma4_e2b")).caches()
        for _ in block.layers
    )
    assert caches[("window", 512, 512)] == 12 and caches[("full", 1024, None)] == 3
    assert sum(n for (kind, _, _), n in caches.items() if kind == "none") == 20


def test_per_layer_embeddings_are_a_group_of_their_own() -> None:
    """2.35 B of Gemma 4 E2B's parameters are a table that is only looked up."""
    tables = [
        m for _, m in read_config(config("gemma4/maxtext-gemma4_e2b")).matrices() if m.role == "per-layer embedding"
    ]
    assert [(m.params, m.flops) for m in tables] == [(262_144 * 35 * 256, 0)]


def test_zamba2_stores_a_shared_block_once_and_runs_it_nine_times() -> None:
    """Two blocks share nine uses, five and four; each use has its own cache."""
    model = read_config({"model_type": "zamba2", "num_mem_blocks": 2})
    assert [block.runs for block in model.blocks if block.runs > 1] == [5, 4]
    assert kept(model).count("full+ssm+conv") == 9
    assert model.kv_elements_per_token == 9 * 4 * 2560


def test_lightning_attention_state_of_minimax() -> None:
    """64 heads of 128 x 128: 1,048,576 elements in each linear layer."""
    model = small("minimax", num_attention_heads=64, num_key_value_heads=8, head_dim=128, num_local_experts=2,
                  attn_type_list=[0, 0, 0, 0, 0, 0, 0, 1])  # fmt: skip
    assert kept(model) == ["ssm"] * 7 + ["full"]
    assert model.recurrent_state_elements_per_sequence == 7 * 1_048_576


def test_kimi_linear_counts_its_layers_from_one() -> None:
    """full_attn_layers [4, 8] are the fourth and the eighth layer."""
    lists = {"full_attn_layers": [4, 8], "kda_layers": [1, 2, 3, 5, 6, 7], "num_heads": 4, "head_dim": 16}
    model = small("kimi_linear", linear_attn_config=lists)
    assert kept(model) == (["ssm+conv"] * 3 + ["latent"]) * 2


def test_ling_generations_differ_in_their_linear_layers() -> None:
    """Delta layers (Ling 3) have a convolution; lightning ones (2.5) have none, and a short last group is all full."""
    keys = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "layer_group_size": 3,
            "head_dim": 16, "kv_lora_rank": 32, "qk_nope_head_dim": 16, "qk_rope_head_dim": 8,
            "v_head_dim": 16}
    assert kept(small("bailing_hybrid", **keys)) == ["ssm+conv", "ssm+conv", "latent"] * 2 + ["ssm+conv"] * 2
    lightning = small("bailing_hybrid", **keys, group_norm_size=2, linear_silu=False)
    assert kept(lightning) == ["ssm", "ssm", "latent"] * 2 + ["latent"] * 2


def test_lfm2_width_is_two_thirds_rounded_up() -> None:
    """12,288 in the file means 8,192, unless the adjustment is off; block_ff_dim goes before intermediate_size."""
    def width(**keys: Any) -> int:
        model = small("lfm2", **keys)
        return next(m.rows for _, m in model.matrices() if m.name == "feed_forward.w1")

    assert width(intermediate_size=12288) == 8192
    assert width(intermediate_size=12288, block_auto_adjust_ff_dim=False) == 12288
    assert width(intermediate_size=500, block_ff_dim=12288) == 8192


@pytest.mark.parametrize(
    ("model_type", "keys", "expected"),
    [
        ("granitemoehybrid", {**MAMBA2}, ["ssm+conv"] * 8),  # no layer_types: no attention
        ("bamba", {**MAMBA2}, ["ssm+conv"] * 8),  # no attn_layer_indices: no attention
        ("lfm2", {}, ["full"] * 8),  # neither list: attention everywhere
        ("falcon_h1", {**MAMBA2, "mamba_d_ssm": 128}, ["full+ssm+conv"] * 8),  # both in every layer
        ("qwen3_next", {**DELTA, "num_experts": 4, "num_experts_per_tok": 2}, (["ssm+conv"] * 3 + ["full"]) * 2),
        ("qwen3_5_text", {**DELTA, "full_attention_interval": 2}, ["ssm+conv", "full"] * 4),
        ("lfm3", {}, ["conv", "conv", "full", "conv", "window", "conv", "full", "conv"]),
        ("lara_mini", {**DELTA, "num_experts": 4},
         ["ssm+conv", "window", "ssm+conv", "full", "window", "ssm+conv", "window", "ssm+conv"]),
        ("recurrent_gemma", {}, ["ssm+conv", "ssm+conv", "window"] * 2 + ["ssm+conv"] * 2),
        ("jamba", {"attn_layer_period": 4, "attn_layer_offset": 1}, ["ssm+conv", "full", "ssm+conv", "ssm+conv"] * 2),
        ("gemma3n_text", {"num_kv_shared_layers": 3}, ["window"] * 4 + ["full"] + ["none"] * 3),
        ("gemma4_text", {}, ["window"] * 5 + ["full"] + ["window"] + ["full"]),  # the last one is always global
    ],
)  # fmt: skip
def test_which_layer_keeps_what_when_the_file_lists_nothing(
    model_type: str, keys: dict[str, Any], expected: list[str]
) -> None:
    """Absent layer lists mean the class's own rule, which differs by family."""
    assert kept(small(model_type, **keys)) == expected


def test_global_layers_of_gemma4_cache_values_that_have_no_matrix() -> None:
    """attention_k_eq_v drops v_proj, not the values in the cache."""
    model = small("gemma4_text", attention_k_eq_v=True, num_global_key_value_heads=1, global_head_dim=32)
    [block] = [b for b in model.blocks if any(c.kind == "full" for c in b.caches)]
    assert not any(m.name == "self_attn.v_proj" for m in block.matrices)
    assert [c.elements for c in block.caches] == [2 * 1 * 32]


def test_decode_does_no_work_within_chunks() -> None:
    """Attention within the chunks of a prefill costs nothing when tokens come one at a time."""
    for keys in ({"model_type": "mamba2"}, {"model_type": "qwen3_5_text"}):
        chunked = [m for b in read_config(keys).blocks for m in b.mixing if m.chunked]
        assert chunked and all(m.decode == 0 and m.pair > 0 and m.window for m in chunked)


def test_kimi_k3_is_marked_as_a_guess() -> None:
    """Keys without a published tensor list are named, and the reading is not called exact."""
    model = read_config(config("kimi/moonshotai--Kimi-K3")["text_config"])
    assert model.recognised == "guessed" and any("routed_expert_hidden_size" in w for w in model.warnings)
    assert 2.5e12 < model.total_params < 3e12


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M-M*", "num_hidden_layers": 5}, "layers is 5"),
        ({"model_type": "nemotron_h", "hybrid_override_pattern": "M?"}, "'?'"),
        ({**SMALL, "model_type": "bamba", "mamba_n_heads": 8, "mamba_d_head": 17}, "mamba_n_heads x mamba_d_head"),
        ({**SMALL, "model_type": "qwen3_5_text", "layer_types": ["full_attention"]}, "layer_types has 1 entries"),
        ({**SMALL, "model_type": "minimax", "num_local_experts": 2, "attn_type_list": [0, 1]}, "attn_type_list has 2"),
        ({**SMALL, "model_type": "recurrent_gemma", "block_types": ["rnn"]}, "block_types holds 'rnn'"),
        ({**SMALL, "model_type": "gemma3n_text", "intermediate_size": [96, 96], "num_kv_shared_layers": 0},
         "intermediate_size has 2 entries"),
        ({**SMALL, "model_type": "kimi_linear", "linear_attn_config": {"full_attn_layers": [4], "kda_layers": [1]}},
         "linear_attn_config lists 1"),
    ],
)  # fmt: skip
def test_contradictions_are_refused_by_name(keys: dict[str, Any], said: str) -> None:
    """A layer list or size that contradicts the rest of the file is refused in a sentence that names it."""
    with pytest.raises(ConfigError) as caught:
        read_config(keys)
    assert said in str(caught.value)


@given(st.text(alphabet="M*-E", min_size=1, max_size=60))
def test_a_pattern_is_the_sum_of_its_layers(pattern: str) -> None:
    """KV and state elements and parameters of any Nemotron-H pattern are those of its letters, one by one."""
    def read(letters: str) -> Architecture:
        return small("nemotron_h", hybrid_override_pattern=letters, num_hidden_layers=len(letters), head_dim=16)

    whole, outside = read(pattern), 2 * 64 * 100 + 64
    single = {letter: read(letter) for letter in set(pattern)}
    assert whole.kv_elements_per_token == sum(single[c].kv_elements_per_token for c in pattern)
    assert whole.recurrent_state_elements_per_sequence == sum(
        single[c].recurrent_state_elements_per_sequence for c in pattern
    )
    assert whole.total_params - outside == sum(single[c].total_params - outside for c in pattern)
