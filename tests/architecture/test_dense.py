"""Dense decoders: published totals, tensor lists, and the keys that mislead."""

from __future__ import annotations

import json
from collections import Counter
from math import prod
from typing import Any

import pytest

from planner.architecture import Architecture, read_config
from planner.errors import ConfigError
from tests.corpus import FOLDER

LLAMA_8B: dict[str, Any] = {
    "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
}  # fmt: skip


def read(base: dict[str, Any] | str = "llama", **keys: Any) -> Architecture:
    """A small model of a family (or the given config) with these keys set."""
    if isinstance(base, str):
        base = {
            "model_type": base, "hidden_size": 256, "intermediate_size": 512, "num_hidden_layers": 12,
            "num_attention_heads": 8, "vocab_size": 1000,
        }  # fmt: skip
    return read_config(json.dumps(base | keys))


def windows(model: Architecture) -> list[int | None]:
    found = {i: cache.window for block, cache in model.caches() for i in block.layers}
    return [found[i] for i in range(model.n_layers)]


def biases(model: Architecture) -> set[str]:
    return {m.name for _, m in model.matrices() if m.bias and m.kind == "linear"}


# Totals: safetensors counts shown on the model pages.
PUBLISHED: dict[str, tuple[int, dict[str, Any]]] = {
    "SmolLM3-3B": (3_075_098_624, {
        "model_type": "smollm3", "hidden_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 16,
        "num_key_value_heads": 4, "intermediate_size": 11008, "vocab_size": 128256}),
    "Seed-OSS-36B": (36_151_104_512, {
        "model_type": "seed_oss", "hidden_size": 5120, "num_hidden_layers": 64, "num_attention_heads": 80,
        "num_key_value_heads": 8, "head_dim": 128, "intermediate_size": 27648, "vocab_size": 155136}),
    "Apertus-8B": (8_053_338_176, {
        "model_type": "apertus", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 21504, "vocab_size": 131072}),
    "EXAONE-4.0-1.2B": (1_279_391_488, {
        "model_type": "exaone4", "hidden_size": 2048, "num_hidden_layers": 30, "num_attention_heads": 32,
        "num_key_value_heads": 8, "head_dim": 64, "intermediate_size": 4096, "vocab_size": 102400,
        "tie_word_embeddings": True, "sliding_window": None}),
    "Olmo-3-7B": (7_298_011_136, {
        "model_type": "olmo3", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 11008, "vocab_size": 100278}),
    "stablelm-2-1.6b": (1_644_515_328, {
        "model_type": "stablelm", "hidden_size": 2048, "num_hidden_layers": 24, "num_attention_heads": 32,
        "num_key_value_heads": 32, "intermediate_size": 5632, "vocab_size": 100352, "use_qkv_bias": True}),
    "stablelm-2-12b": (12_143_185_920, {
        "model_type": "stablelm", "hidden_size": 5120, "num_hidden_layers": 40, "num_attention_heads": 32,
        "num_key_value_heads": 8, "intermediate_size": 13824, "vocab_size": 100352, "use_parallel_residual": True,
        "qk_layernorm": True}),
    "opt-350m": (331_196_416, {
        "model_type": "opt", "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
        "ffn_dim": 4096, "vocab_size": 50272, "word_embed_proj_dim": 512, "do_layer_norm_before": False,
        "max_position_embeddings": 2048}),
    "codegen-350M": (356_712_448, {
        "model_type": "codegen", "n_embd": 1024, "n_layer": 20, "n_head": 16, "vocab_size": 51200}),
    "santacoder": (1_124_886_528, {
        "model_type": "gpt_bigcode", "n_embd": 2048, "n_layer": 24, "n_head": 16, "n_positions": 2048,
        "vocab_size": 49280}),
    "Phi-3-small-8k": (7_392_272_384, {
        "model_type": "phi3small", "hidden_size": 4096, "num_hidden_layers": 32, "num_attention_heads": 32,
        "num_key_value_heads": 8, "ff_intermediate_size": 14336, "vocab_size": 100352}),
    "OpenELM-270M": (271_527_168, {
        "model_type": "openelm", "model_dim": 1280, "head_dim": 64, "num_transformer_layers": 16,
        "vocab_size": 32000, "num_query_heads": [12] * 5 + [16] * 7 + [20] * 4,
        "num_kv_heads": [3] * 5 + [4] * 7 + [5] * 4,
        "ffn_multipliers": [0.5, 0.73, 0.97, 1.2, 1.43, 1.67, 1.9, 2.13, 2.37, 2.6, 2.83, 3.07, 3.3, 3.53, 3.77, 4.0]}),
}  # fmt: skip


def test_llama_3_1_8b() -> None:
    """Llama 3.1 8B has 8,030,261,248 parameters and 128 KiB of keys and values per token at 16 bit."""
    model = read(LLAMA_8B)
    assert model.total_params == 8_030_261_248
    assert model.kv_elements_per_token == 65_536
    assert model.kv_elements_per_token * 2 == 131_072 == 128 * 1024
    assert model.recognised == "exact"


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_totals(name: str) -> None:
    """Families that the corpus has no row of count what their publishers' files hold."""
    total, config = PUBLISHED[name]
    assert read(config).total_params == total


def test_matmul_flops_by_hand() -> None:
    """FLOPs of Llama 3.1 8B follow 2 x (parameters - embedding - norms), and 4 x A x D per pair and layer."""
    model = read(LLAMA_8B)
    norms = sum(m.params * b.count for b, m in model.matrices() if m.role == "norm")
    flops = sum(m.flops * b.count for b, m in model.matrices())
    assert flops == 2 * (model.total_params - model.embedding_params - norms)
    assert sum(x.pair * b.count for b in model.blocks for x in b.mixing) == 4 * 32 * 128 * 32


# Names that newer libraries changed when they load a checkpoint; the ledger keeps the checkpoint's.
RENAMED = {"exaone", "gpt_neox", "gpt_neox_japanese"}
INVENTORIES = sorted(
    path.stem for path in (FOLDER / "inventory").glob("*.json")
    if path.stem in {
        "bitnet", "bloom", "cohere2", "ctrl", "cwm", "ernie4_5", "exaone", "falcon", "gemma", "glm", "glm4", "gpt2",
        "gpt_neo", "gpt_neox", "gpt_neox_japanese", "gptj", "granite", "helium", "internlm3", "jais2",
        "modernbert-decoder", "mpt", "nanochat", "olmo", "olmo2", "opt", "persimmon", "phi", "qwen3", "starcoder2",
        "vaultgemma", "xglm", "biogpt",
    }
)  # fmt: skip


@pytest.mark.parametrize("model_type", INVENTORIES)
def test_each_layer_has_the_tensors_of_the_inventory(model_type: str) -> None:
    """Every layer has the inventory's elements, under the checkpoint's names."""
    inventory = json.loads((FOLDER / "inventory" / f"{model_type}.json").read_text())
    model = read_config((FOLDER / f"{inventory['config']}.json").read_text())
    found: Counter[int] = Counter()
    names: set[str] = set()
    for block, matrix in model.matrices("text"):
        if "{i}" in block.prefix:
            names.add(matrix.name)
            for i in block.layers:
                found[i] += matrix.params
    expected: Counter[int] = Counter()
    listed: set[str] = set()
    for groups in inventory["stacks"].values():
        for group in groups:
            tensors = next(value for value in group.values() if isinstance(value, dict))
            listed |= {name.removesuffix(".weight").removesuffix(".bias") for name in tensors}
            for i in group["layers"]:
                expected[i] += sum(prod(shape) for shape in tensors.values())
    assert found == expected
    if model_type not in RENAMED:
        assert names == listed


def test_null_kv_heads_are_not_absent_ones() -> None:
    """For mistral, null KV heads mean one per query head and absent ones mean the class's 8."""
    sizes = {"model_type": "mistral", "num_attention_heads": 32, "hidden_size": 2048, "head_dim": 64,
             "num_hidden_layers": 2, "intermediate_size": 512, "vocab_size": 100}  # fmt: skip
    assert read(sizes).kv_heads == 8
    assert read(sizes, num_key_value_heads=None).kv_heads == 32


def test_null_window_is_not_an_absent_one() -> None:
    """For mistral, an absent sliding_window means 4,096 tokens and null means full attention."""
    assert windows(read("mistral")) == [4096] * 12
    assert windows(read("mistral", sliding_window=None)) == [None] * 12


def test_head_dim_given_explicitly() -> None:
    """An explicit head_dim widens the query and output projections and the cache beyond hidden / heads."""
    model = read("qwen3", head_dim=128, num_key_value_heads=2)
    shapes = {m.name: (m.rows, m.cols) for _, m in model.matrices() if m.role == "attention"}
    assert shapes["self_attn.q_proj"] == (8 * 128, 256)
    assert shapes["self_attn.o_proj"] == (256, 8 * 128)
    assert model.kv_elements_per_token == 12 * 2 * 2 * 128


def test_class_head_dim_stays() -> None:
    """Qwen 3 and Gemma without head_dim keep their class's 128 and 256 whatever the sizes."""
    assert read("qwen3", num_key_value_heads=8).kv_elements_per_token == 12 * 2 * 8 * 128
    assert read("gemma", num_key_value_heads=8).kv_elements_per_token == 12 * 2 * 8 * 256


def test_qwen2_slides_only_when_told() -> None:
    """Qwen 2 ignores sliding_window unless use_sliding_window is set; then layers from max_window_layers on slide."""
    keys = {"sliding_window": 4096, "max_window_layers": 9}
    assert windows(read("qwen2", **keys, use_sliding_window=False)) == [None] * 12
    assert windows(read("qwen2", **keys)) == [None] * 12
    assert windows(read("qwen2", **keys, use_sliding_window=True)) == [None] * 9 + [4096] * 3


def test_qwen2_biases_are_fixed() -> None:
    """Qwen 2 has biases on query, key and value and never on the output; no key changes that."""
    expected = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}
    assert biases(read("qwen2")) == biases(read("qwen2", attention_bias=False)) == expected


def test_llama_biases_reach_the_output() -> None:
    """For llama attention_bias also reaches the output projection, mlp_bias all three MLP matrices."""
    assert len(biases(read("llama", attention_bias=True, mlp_bias=True))) == 7
    assert not biases(read("llama"))


def test_absent_attention_bias_of_glm() -> None:
    """GLM and Seed-OSS have query, key and value biases when the key is absent."""
    expected = {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"}
    assert biases(read("glm", num_key_value_heads=2)) == biases(read("seed_oss", num_key_value_heads=2)) == expected


@pytest.mark.parametrize(
    ("family", "full"),
    [("gemma2", {1, 3, 5, 7, 9, 11}), ("gemma3_text", {5, 11}), ("cohere2", {3, 7, 11}), ("olmo3", {3, 7, 11}),
     ("exaone4", {3, 7, 11}), ("cwm", {0, 4, 8}), ("vaultgemma", {1, 3, 5, 7, 9, 11})],
)  # fmt: skip
def test_which_layers_are_full(family: str, full: set[int]) -> None:
    """Without layer_types each family's own pattern says which layers see everything."""
    found = windows(read(family, num_key_value_heads=2, sliding_window=512))
    assert found == [None if i in full else 512 for i in range(12)]


def test_layer_types_go_before_the_pattern() -> None:
    """A list of layer types decides against the family's pattern; one that is too short is refused."""
    kinds = ["full_attention"] * 11 + ["sliding_attention"]
    assert windows(read("gemma3_text", layer_types=kinds, sliding_window=512)) == [None] * 11 + [512]
    with pytest.raises(ConfigError, match="layer_types has 3 entries for 12 layers"):
        read("gemma3_text", layer_types=kinds[:3], sliding_window=512)


def test_exaone_pattern_in_letters() -> None:
    """EXAONE 4 may give its pattern as letters, and without a window sees everything."""
    found = windows(read("exaone4", sliding_window=4096, sliding_window_pattern="LLLG"))
    assert found == [None if i % 4 == 3 else 4096 for i in range(12)]
    assert windows(read("exaone4", sliding_window=None, sliding_window_pattern="LLLG")) == [None] * 12
    with pytest.raises(ConfigError, match="sliding_window_pattern"):
        read("exaone4", sliding_window=4096, sliding_window_pattern="XYZ")


def test_absent_tie_follows_the_class() -> None:
    """Without tie_word_embeddings gemma and minicpm are tied, llama and qwen2 are not."""
    assert read("gemma").tied and read("minicpm").tied
    assert not read("llama").tied and not read("qwen2").tied
    tied = read("llama", tie_word_embeddings=True)
    assert tied.total_params == read("llama").total_params - 1000 * 256
    assert tied.lm_head_params == 1000 * 256


def test_qwen1_width_is_half() -> None:
    """Qwen 1 writes twice the real MLP width."""
    model = read("qwen")
    assert {m.rows for _, m in model.matrices() if m.name == "mlp.w1"} == {256}


def test_multi_query_switches() -> None:
    """GPT-BigCode keeps one key and value head unless multi_query is false; ChatGLM groups only when told."""
    gpt = {"model_type": "gpt_bigcode", "n_embd": 256, "n_head": 8, "n_layer": 2, "n_positions": 64, "vocab_size": 100}
    assert read(gpt).kv_heads == 1
    assert read(gpt, multi_query=False).kv_heads == 8
    glm = {"model_type": "chatglm", "hidden_size": 256, "ffn_hidden_size": 512, "num_layers": 2,
           "num_attention_heads": 8, "padded_vocab_size": 100, "multi_query_group_num": 2}  # fmt: skip
    assert read(glm, multi_query_attention=True).kv_heads == 2
    assert read(glm, multi_query_attention=False).kv_heads == 8


def test_falcon_norms_and_heads() -> None:
    """Falcon's keys choose one norm or two and one KV head, groups, or all; memory counts what engines store."""
    falcon = {"model_type": "falcon", "hidden_size": 512, "num_hidden_layers": 2, "num_attention_heads": 8,
              "vocab_size": 100}  # fmt: skip

    def norms(model: Architecture) -> set[str]:
        return {m.name for b, m in model.matrices() if m.role == "norm" and "{i}" in b.prefix}

    small = read(falcon, multi_query=True)
    assert (small.kv_heads, norms(small)) == (1, {"input_layernorm"})
    old = read(falcon, multi_query=False, parallel_attn=False, bias=True)
    assert (old.kv_heads, norms(old)) == (8, {"input_layernorm", "post_attention_layernorm"})
    new = read(falcon, new_decoder_architecture=True, num_kv_heads=2)
    assert (new.kv_heads, norms(new)) == (2, {"ln_attn", "ln_mlp"})
    assert norms(read(falcon, new_decoder_architecture=True, num_kv_heads=2, num_ln_in_parallel_attn=1)) == {
        "input_layernorm"
    }
    assert {c.elements for _, c in new.caches()} == {2 * 2 * 64}
    assert new.kv_elements_per_token == 2 * 2 * 8 * 64
    assert "query head" in new.warnings[0]


def test_deci_layers_without_attention() -> None:
    """DeciLM layers may lack attention or the MLP or have a matrix in their place; those keep nothing in memory."""
    attention = {"no_op": False, "replace_with_linear": False, "n_heads_in_group": 4}
    ffn = {"no_op": False, "replace_with_linear": False, "ffn_mult": 1.5}
    blocks = [
        {"attention": attention, "ffn": ffn},
        {"attention": {"no_op": True}, "ffn": ffn},
        {"attention": {"replace_with_linear": True}, "ffn": {"no_op": True}},
    ]
    deci = {"model_type": "nemotron-nas", "hidden_size": 256, "num_hidden_layers": 3, "num_attention_heads": 8,
            "vocab_size": 100, "num_key_value_heads": None, "intermediate_size": None}  # fmt: skip
    model = read(deci, block_configs=blocks)
    width = 256  # int(2 x 1.5 x 256 / 3) = 256, a multiple of 256
    full = 2 * 256 * 256 + 2 * 256 * 64
    assert model.kv_elements_per_token == 2 * 2 * 32
    assert model.text_params == (
        (full + 256) + 2 * (3 * 256 * width + 256) + (256 * 256 + 256) + 2 * 100 * 256 + 256
    )  # fmt: skip
    with pytest.raises(ConfigError, match="block_configs has 3 entries for 4 layers"):
        read(deci, num_hidden_layers=4, block_configs=blocks)


def test_deci_kv_heads_per_layer() -> None:
    """DeciLM 7B lists the KV heads of each layer."""
    model = read("deci", num_key_value_heads_per_layer=[4, 1] * 6)
    assert model.kv_elements_per_token == 6 * (4 + 1) * 2 * 32
    with pytest.raises(ConfigError, match="num_key_value_heads_per_layer"):
        read("deci", num_key_value_heads_per_layer=[4, 1])


def test_mimo_predicting_layers_are_apart() -> None:
    """MiMo's multi-token-prediction layers are counted apart from the total."""
    plain, model = read("mimo"), read("mimo", num_nextn_predict_layers=1)
    assert model.total_params == plain.total_params
    assert model.mtp_params > 0 == plain.mtp_params


def test_quantization_speaks_of_checkpoint_names() -> None:
    """Fused and renamed matrices keep the checkpoint's paths."""

    def paths(model: Architecture) -> set[str]:
        return {b.prefix + m.name for b, m in model.matrices() if m.kind == "linear"}

    assert "model.layers.{i}.self_attn.qkv_proj" in paths(read("phi3"))
    assert "model.layers.{i}.mlp.gate_up_proj" in paths(read("phi3"))
    assert "model.layers.{i}.self_attn.W_pack" in paths(read("baichuan"))
    assert "model.layers.{i}.attention.wqkv" in paths(read("internlm2"))
    assert "transformer.h.{i}.attn.c_attn" in paths(read("gpt2"))
    assert "embed_out" in paths(read("gpt_neox"))


def test_tensor_parallel_deals_out_heads() -> None:
    """Queries come in as many pieces as heads, keys, values and caches in as many as KV heads, the MLP in its width."""
    model = read(LLAMA_8B)
    units = {m.name: m.units for _, m in model.matrices()}
    assert units["self_attn.q_proj"] == units["self_attn.o_proj"] == 32
    assert units["self_attn.k_proj"] == units["self_attn.v_proj"] == 8
    assert units["mlp.up_proj"] == 14336
    assert {c.units for _, c in model.caches()} == {8}


@pytest.mark.parametrize(
    ("kind", "kv_heads", "recognised"),
    [("llama", 16, "exact"), ("granite", 16, "exact"), ("mistral", 8, "guessed"), ("qwen2", 16, "guessed"),
     ("qwen3", 16, "guessed"), ("gemma2", 4, "guessed")],
)  # fmt: skip
def test_absent_kv_heads(kind: str, kv_heads: int, recognised: str) -> None:
    """As many as query heads where the class leaves them open; its own number otherwise, and then it is a guess."""
    config = {"model_type": kind, "hidden_size": 1024, "intermediate_size": 2048, "num_hidden_layers": 2,
              "num_attention_heads": 16, "head_dim": 64, "vocab_size": 100}  # fmt: skip
    model = read_config(config)
    assert (model.kv_heads, model.recognised) == (kv_heads, recognised)
    assert read_config({**config, "num_key_value_heads": None}).recognised == "exact"
