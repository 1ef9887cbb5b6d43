"""What a loaded model takes beyond its checkpoint: allocator, rotary tables, tiles, copies."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import read_config
from planner.engines import ENGINES
from planner.layout import Layout
from planner.loading import (
    MOST_LAYERS,
    allocated_bytes,
    copied_bytes,
    padded_bytes,
    rotary_bytes,
    rounding_bytes,
    tables_bytes,
)
from planner.precision import find_kv_format
from planner.storage import storage
from planner.validate import CONFIGS
from planner.work import Work
from tests.making import job
from tests.test_work import KINDS

MIB = 2**20


def loaded(config: str, weights: str = "bf16", **layout: int) -> Work:
    arch = read_config((CONFIGS / config).read_text(encoding="utf-8"))
    return Work(arch, weights, storage(ENGINES["vLLM"], find_kv_format("bf16")), Layout(**layout))


@pytest.mark.parametrize(
    ("sizes", "allocated"),
    [
        ([], 0), ([1], 512), ([512, 513], 1536), ([MIB, MIB], 2 * MIB), ([48 * MIB], 48 * MIB),
        ([17.5 * MIB], 18 * MIB), ([135 * MIB], 136 * MIB), ([12.5 * MIB], 12.5 * MIB), ([19.5 * MIB] * 3, 60 * MIB),
        ([6 * MIB] * 3, 18 * MIB), ([9.5 * MIB] * 2, 20 * MIB), ([12.5 * MIB, 1.4 * MIB], 14 * MIB),
    ],
)  # fmt: skip
def test_the_allocators_rules(sizes: list[float], allocated: float) -> None:
    """Leftovers of more than 1 MiB serve later tensors, smaller ones count as allocated; small tensors to 512 B."""
    assert allocated_bytes(sizes) == allocated


@given(st.lists(st.integers(1, 300 * MIB), max_size=40))
def test_rounding_is_bounded(sizes: list[int]) -> None:
    """A tensor counts at least its size and never more than 1 MiB above it."""
    assert sum(sizes) <= allocated_bytes(sizes) <= sum(sizes) + len(sizes) * MIB


@pytest.mark.parametrize(
    ("config", "positions_by_width_mib"),
    [
        ("llama/llama-3.1-8b-instruct.json", 32), ("llama/Meta-Llama-3-8B-Instruct.json", 2),
        ("qwen2/qwen2.5-7b-instruct.json", 8), ("qwen2/Qwen--Qwen2.5-7B.json", 32),
        ("deepseek/deepseek-ai--DeepSeek-R1.json", 20), ("qwen2_vl/Qwen--Qwen2.5-VL-7B-Instruct-AWQ.json", 125),
    ],
)  # fmt: skip
def test_rotary_tables(config: str, positions_by_width_mib: float) -> None:
    """Positions x width x 2 bytes once for all layers; four times as long where positions are multimodal."""
    arch = read_config((CONFIGS / config).read_text(encoding="utf-8"))
    assert rotary_bytes(arch, 2.0) == positions_by_width_mib * MIB


def test_a_model_without_rotary_positions_has_no_table() -> None:
    """Learned positions need no table."""
    arch = read_config('{"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 100}')
    assert rotary_bytes(arch, 2.0) == 0


def test_a_start_log_to_its_last_digit() -> None:
    """Llama-3.1-8B at 16 bit loads as 14.9888 GiB: 16,060,522,496 bytes and 32 MiB of tables (vLLM start log)."""
    work = loaded("llama/llama-3.1-8b-instruct.json")
    assert work.weights_bytes == 16_060_522_496
    assert (work.weights_bytes + sum(tables_bytes(work, ENGINES["vLLM"]))) / 2**30 == pytest.approx(14.9888, abs=1e-4)


@pytest.mark.parametrize(
    ("config", "weights", "layout", "logged_gib", "digits"),
    [
        ("qwen2/Qwen--Qwen2.5-7B.json", "bf16", {}, 14.2717, 3e-4),
        ("qwen2/Qwen--Qwen2.5-1.5B-Instruct.json", "bf16", {}, 2.8871, 1e-3),
        ("qwen2/Qwen--Qwen2.5-32B-Instruct-GPTQ-Int4.json", "checkpoint", {}, 18.14, 0.015),
        ("qwen2/deepseek-ai--DeepSeek-R1-Distill-Qwen-32B.json", "bf16", {"tensor": 8}, 7.71, 0.006),
        ("qwen2_vl/Qwen--Qwen2.5-VL-7B-Instruct-AWQ.json", "checkpoint", {}, 6.59, 0.02),
        ("gpt_oss/openai--gpt-oss-120b.json", "checkpoint", {}, 64.38, 0.05),
    ],
)  # fmt: skip
def test_start_logs(config: str, weights: str, layout: dict[str, int], logged_gib: float, digits: float) -> None:
    """Dense, quantized, sharded, multimodal and tiled: what vLLM logs as loaded follows from the matrices' shapes."""
    work = loaded(config, weights, **layout)
    found = work.weights_bytes + max(tables_bytes(work, ENGINES["vLLM 0.20"]))
    assert found / 2**30 == pytest.approx(logged_gib, abs=digits)


def test_tiles_widen_codes_only() -> None:
    """gpt-oss: 2,880 inputs of 4-bit codes become 3,072; models of whole tiles and other formats gain nothing."""
    work = loaded("gpt_oss/openai--gpt-oss-120b.json", "checkpoint")
    experts = 36 * 128 * (3 * 2880 * 2880 + 3 * 2880)
    assert padded_bytes(work)[0] == pytest.approx(experts / 2 * (3072 / 2880 - 1), rel=1e-3)
    assert padded_bytes(loaded("gpt_oss/openai--gpt-oss-120b.json", "bf16")) == [0.0]


def test_latent_copies_of_quantized_matrices() -> None:
    """DeepSeek-R1 keeps kv_b_proj once more at 16 bit beside its fp8; at 16 bit the copy is a view."""
    quantized = loaded("deepseek/deepseek-ai--DeepSeek-R1.json", "checkpoint", tensor=8)
    assert copied_bytes(quantized)[0] == 61 * 2 * 512 * 128 * 256 / 8
    assert copied_bytes(loaded("deepseek/deepseek-ai--DeepSeek-R1.json", tensor=8)) == [0.0]


@pytest.mark.parametrize("model", KINDS)
@pytest.mark.parametrize("pipeline", [1, 3])
def test_every_kind_of_model_rounds_little(model: str, pipeline: int) -> None:
    """Rounding is never negative and at most a few percent of the weights, stage by stage."""
    work = job(model, pipeline=pipeline)
    rounding = rounding_bytes(work)
    assert len(rounding) == pipeline
    assert all(0 <= r <= 0.05 * w + 4 * MIB for r, w in zip(rounding, work.weights_per_stage, strict=True))


def test_deep_models_are_scaled_up() -> None:
    """Beyond the layers that are gone through one by one, the rest costs what these do."""
    keys = '"model_type": "llama", "hidden_size": 3584, "intermediate_size": 18944, "num_attention_heads": 28'
    text = '{%s, "num_key_value_heads": 4, "vocab_size": 1024, "num_hidden_layers": %d}'
    store = storage(ENGINES["vLLM"], find_kv_format("bf16"))
    once, ten = (
        rounding_bytes(Work(read_config(text % (keys, n)), "bf16", store, Layout()))[0]
        for n in (MOST_LAYERS, 10 * MOST_LAYERS)
    )
    assert ten == pytest.approx(10 * once, rel=0.05)


def test_engines_that_are_not_known_to_do_so() -> None:
    """Tables and rounding are counted for vLLM and SGLang only; SGLang's tables are fp32."""
    work = loaded("llama/llama-3.1-8b-instruct.json")
    found = {name: tables_bytes(work, engine)[0] for name, engine in ENGINES.items()}
    assert found["SGLang"] - found["vLLM"] == 32 * MIB
    assert found["llama.cpp"] == found["TensorRT-LLM"] == found["LMDeploy"] == 0
