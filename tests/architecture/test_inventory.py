"""The ledger beside the tensor lists of real model classes, layer by layer."""

from __future__ import annotations

import json
from collections import Counter
from math import prod
from typing import Any

import pytest

from planner.architecture import Architecture, read_config
from tests.corpus import FOLDER

# LongCat's list holds weights for experts that do nothing (the library allocates them); see corpus_exceptions.
TYPES = (
    "afmoe", "dbrx", "deepseek_v3", "deepseek_v32", "deepseek_v4", "glm4_moe_lite", "glm_moe_dsa", "gpt_oss",
    "granitemoe", "hy_v3", "jetmoe", "laguna", "minicpm3", "minimax_m2", "mistral4", "mixtral", "olmoe",
    "phimoe", "qwen2_moe", "qwen3_moe", "sarvam_mla", "sarvam_moe", "solar_open", "youtu",
)  # fmt: skip

# Configs of the same sizes, where the listed one is not in the corpus.
SAME = {
    "deepseek/deepseek-ai--DeepSeek-V3.2": "deepseek/nvidia--DeepSeek-V3.2-NVFP4",
    "glm/nvidia--GLM-5-NVFP4": "glm/zai-org--GLM-5-FP8",
    "minimax/MiniMaxAI--MiniMax-M2.5": "minimax/nvidia--MiniMax-M2.5-NVFP4",
}


def inventory(model_type: str) -> tuple[dict[str, Any], Architecture]:
    """The tensor list of one config of this type, and the planner's reading of that config."""
    listed: dict[str, Any] = json.loads((FOLDER / "inventory" / f"{model_type}.json").read_text())
    config = SAME.get(listed["config"], listed["config"])
    return listed, read_config((FOLDER / f"{config}.json").read_text())


def listed_layers(listed: dict[str, Any]) -> dict[int, dict[str, list[int]]]:
    """Tensor shapes of each layer."""
    return {i: stack["params"] for stacks in listed["stacks"].values() for stack in stacks for i in stack["layers"]}


@pytest.mark.parametrize("model_type", TYPES)
def test_every_layer_has_the_listed_parameters(model_type: str) -> None:
    """Each layer's parameters equal the sum over its listed tensors; so do those outside the layers."""
    listed, model = inventory(model_type)
    found: Counter[int] = Counter()
    outside = 0
    for block, matrix in model.matrices("text"):
        if "{i}" in block.prefix:
            found.update(dict.fromkeys(block.layers, matrix.params))
        else:
            outside += matrix.params
    assert found == {i: sum(map(prod, shapes.values())) for i, shapes in listed_layers(listed).items()}
    assert outside == sum(map(prod, listed["non_layer"].values()))


@pytest.mark.parametrize("model_type", TYPES)
def test_every_matrix_beside_the_experts_has_a_listed_shape(model_type: str) -> None:
    """The attention, router, shared and dense matrices of each layer are tensors of the list, shape by shape."""
    listed, model = inventory(model_type)
    for i, shapes in listed_layers(listed).items():
        tensors = Counter(tuple(shape) for name, shape in shapes.items() if len(shape) == 2 and "bias" not in name)
        for block, matrix in model.matrices("text"):
            plain = matrix.kind == "linear" and matrix.role != "experts"
            if "{i}" in block.prefix and i in block.layers and plain:
                tensors[(matrix.rows, matrix.cols)] -= 1
                assert tensors[(matrix.rows, matrix.cols)] >= 0, matrix
