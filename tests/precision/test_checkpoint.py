"""Quantized checkpoints: bytes of published files, and every form of quantization_config."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Architecture, read_config
from planner.errors import ConfigError, PlannerError
from planner.precision import KV_FORMATS, checkpoint_bytes, checkpoint_kv, describe_quantization, weight_rows
from tests import corpus

# Rows whose estimate leaves out what the config says; the planner follows the config.
EXCEPTIONS = {
    "quant/Llama-3.1-8B-gptqmodel-dynamic-lm_head.json": "the estimate ignores `dynamic` (16 and 8 bit)",
    "deepseek_v4/nvidia--DeepSeek-V4-Flash-NVFP4.json": "the estimate takes the experts as MXFP4; the table says NVFP4",
    "deepseek_v4/nvidia--DeepSeek-V4-Pro-NVFP4.json": "the estimate takes the experts as MXFP4; the table says NVFP4",
    "minimax_m3_vl/nvidia--MiniMax-M3-NVFP4.json": "the estimate misses gate, up and indexer projections of the table",
    "nemotron_h/nvidia--NVIDIA-Nemotron-3.5-Lightning-30B-A3B-NVFP4.json": "its side file is not in the corpus",
}
ROWS = [
    r for r in corpus.rows()
    if (r.get("quant") or {}).get("checkpoint_bytes_estimate") and corpus.has_answer(r) and r["file"] not in EXCEPTIONS
]  # fmt: skip

SHAPE = {
    "model_type": "llama", "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 4,
    "num_attention_heads": 8, "num_key_value_heads": 4, "vocab_size": 1000, "tie_word_embeddings": False,
}  # fmt: skip
INT4 = {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128}
FP8 = {"num_bits": 8, "type": "float", "strategy": "tensor"}
LINEARS = 4 * (512 * 512 * 2 + 512 * 256 * 2 + 3 * 512 * 1536)
OUTSIDE = 2 * 1000 * 512 + 512 * 9
ROW_COUNT = 4 * (512 + 512 + 256 + 256 + 1536 + 1536 + 512)


def read(file: str) -> Architecture:
    side = corpus.FOLDER / "hf_quant_config" / Path(file).name
    return read_config((corpus.FOLDER / file).read_text(), hf_quant_config=side.read_text() if side.exists() else None)


def quantized(**config: Any) -> Architecture:
    return read_config({**SHAPE, "quantization_config": config})


def formats(arch: Architecture) -> dict[str, str]:
    rows = weight_rows(arch, "checkpoint")
    return {f"{name}@{layer}": str(rows.formats[i]) for i, name in enumerate(rows.names) for layer in rows.layers[i]}


@pytest.mark.parametrize("row", ROWS, ids=[r["file"] for r in ROWS])
def test_bytes_equal_the_estimate_of_the_corpus(row: dict[str, Any]) -> None:
    """Within 1 % of the corpus's checkpoint bytes."""
    assert checkpoint_bytes(read(row["file"])) == pytest.approx(row["quant"]["checkpoint_bytes_estimate"], rel=0.01)


def test_gpt_oss_is_exact() -> None:
    """gpt-oss: 65,248,815,744 bytes with 120b's 36 layers of 128 experts, 13,761,264,768 with 20b's 24 of 32."""
    text = (corpus.FOLDER / "gpt_oss/openai--gpt-oss-120b.json").read_text()
    large = json.loads(text)
    small = {**large, "num_hidden_layers": 24, "num_local_experts": 32, "layer_types": large["layer_types"][:24]}
    assert checkpoint_bytes(read_config(text)) == 65_248_815_744
    assert checkpoint_bytes(read_config(small)) == 13_761_264_768


def test_nothing_said_means_16_bit() -> None:
    """Without quantization: two bytes per parameter, four where the config's dtype is float32."""
    assert checkpoint_bytes(read_config(SHAPE)) == 2 * (LINEARS + OUTSIDE)
    assert checkpoint_bytes(read_config({**SHAPE, "torch_dtype": "float32"})) == 4 * (LINEARS + OUTSIDE)
    assert describe_quantization(read_config(SHAPE)) is None


@pytest.mark.parametrize(
    ("word", "known"), [("bfloat16", True), ("torch.float16", True), ("Float32", True), ("auto", True), ("int3", False)]
)
def test_an_unknown_number_type_is_said(word: str, known: bool) -> None:
    """A dtype that names no number type of checkpoints is counted as 16 bit with a warning; a known one without."""
    arch = read_config({**SHAPE, "torch_dtype": word})
    assert any(f'"{word}"' in warning and "counted as 16 bit" in warning for warning in arch.warnings) != known


FORMS: list[tuple[str, dict[str, Any], int]] = [
    ("fp8 per tensor", {"quant_method": "fp8"}, LINEARS + 28 * 4),
    ("fp8 static", {"quant_method": "fp8", "activation_scheme": "static"}, LINEARS + 28 * 8),
    ("awq, old keys", {"w_bit": 4, "q_group_size": 128, "zero_point": True}, LINEARS // 2 + LINEARS // 128 * 20 // 8),
    ("bnb without method", {"load_in_8bit": True}, LINEARS + 4 * ROW_COUNT),
    ("modelopt without method", {"quant_algo": "FP8", "ignore": ["lm_head"]}, LINEARS + 28 * 8),
    ("int8 of torchao", {"quant_method": "torchao", "quant_type": "int8_weight_only"}, LINEARS + 4 * ROW_COUNT),
    ("exl2", {"quant_method": "exl2", "bits": 4.0, "head_bits": 8}, LINEARS // 2 - 512 * 1000),
    ("unknown with bits", {"quant_method": "newest", "bits": 4}, LINEARS // 2 + LINEARS // 128 * 2),
]  # fmt: skip


@pytest.mark.parametrize(("form", "config", "expected"), FORMS, ids=[f[0] for f in FORMS])
def test_forms_of_quantization_config(form: str, config: dict[str, Any], expected: int) -> None:
    """Each form gives the bytes of its layout for the linear layers, and 16 bit for the rest."""
    assert checkpoint_bytes(quantized(**config)) == expected + 2 * OUTSIDE


def test_ignore_lists_match_names_parents_globs_and_regexes() -> None:
    """The same modules are left alone however they are named."""
    for entries in (
        ["lm_head", "model.layers.0.self_attn"], ["lm_head", "model.layers.0.self_attn*"],
        ["re:.*lm_head", "re:.*layers\\.0\\.self_attn\\..*"], ["lm_head", "*.layers.0.self_attn.*"],
        ["lm_head", *(f"model.layers.0.self_attn.{x}_proj" for x in "qkvo")],
        ["lm_head", "language_model.model.layers.0.self_attn.qkv_proj", "backbone.layers.0.self_attn.o_proj"],
    ):  # fmt: skip
        found = formats(quantized(quant_method="modelopt", quant_algo="NVFP4", ignore=entries))
        left = {
            name.partition("self_attn.")[2] for name, kind in found.items() if kind == "bf16" and "self_attn" in name
        }
        assert left == {f"{x}_proj@0" for x in "qkvo"}, entries
        assert found["lm_head@0"] == "bf16"


def test_a_layer_number_is_not_a_prefix_of_another() -> None:
    """Ignoring layer 1 leaves layers 10 to 19 quantized."""
    config = {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.1"]}
    arch = read_config({**SHAPE, "num_hidden_layers": 12, "quantization_config": config})
    found = formats(arch)
    assert found["model.layers.{i}.mlp.up_proj@1"] == "bf16"
    assert found["model.layers.{i}.mlp.up_proj@10"] == "fp8"


def test_gate_is_not_gate_proj() -> None:
    """A plain name is a whole component of a path: `gate` does not cover `gate_proj`."""
    found = formats(quantized(quant_method="awq", bits=4, group_size=128, modules_to_not_convert=["gate", "q_proj"]))
    assert found["model.layers.{i}.mlp.gate_proj@0"] == "awq 4-bit"
    assert found["model.layers.{i}.self_attn.q_proj@0"] == "bf16"


def test_dynamic_gptq_gives_modules_their_own_bits() -> None:
    """`-:` leaves modules at 16 bit, `+:` gives other bits, `lm_head` true quantizes the head."""
    found = formats(quantized(quant_method="gptq", bits=4, group_size=128, lm_head=True,
                              dynamic={"+:.*down_proj.*": {"bits": 8, "group_size": 64}, "-:.*gate_proj.*": {}})
                    )  # fmt: skip
    assert found["model.layers.{i}.mlp.down_proj@3"] == "gptq 8-bit"
    assert found["model.layers.{i}.mlp.gate_proj@3"] == "bf16"
    assert found["model.layers.{i}.mlp.up_proj@3"] == found["lm_head@0"] == "gptq 4-bit"


def test_groups_with_targets_of_their_own() -> None:
    """compressed-tensors: a group that names modules goes before the one for all Linear layers."""
    found = formats(quantized(
        quant_method="compressed-tensors", format="mixed-precision", ignore=["lm_head"],
        config_groups={
            "a": {"targets": ["Linear"], "weights": INT4},
            "b": {"targets": ["re:.*down_proj"], "input_activations": {"num_bits": 8, "type": "float"},
                  "weights": {"num_bits": 8, "type": "float", "strategy": "channel"}},
        }))  # fmt: skip
    assert found["model.layers.{i}.mlp.down_proj@0"] == "fp8"
    assert found["model.layers.{i}.mlp.up_proj@0"] == "int4"


def test_the_side_file_speaks_where_the_config_is_silent() -> None:
    """hf_quant_config.json alone, or beside a config that names the method only, gives the same bytes."""
    side = {"producer": {"name": "modelopt"},
            "quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]},
            }  # fmt: skip
    alone = read_config(SHAPE, hf_quant_config=side)
    assert checkpoint_bytes(alone) == LINEARS + 28 * 8 + 2 * OUTSIDE
    assert checkpoint_kv(alone) == "fp8"
    both = read_config({**SHAPE, "quantization_config": {"quant_method": "modelopt", "quant_algo": "FP8",
                                                         "ignore": ["lm_head"]}}, hf_quant_config=side)  # fmt: skip
    assert checkpoint_bytes(both) == checkpoint_bytes(alone)
    assert checkpoint_kv(both) == "fp8"


def test_a_star_is_everything_and_a_question_mark_one_character() -> None:
    """`*` leaves all matrices alone; `layers.?` means layers 0 to 9 and no other."""
    assert set(formats(quantized(quant_method="modelopt", quant_algo="FP8", ignore=["*"])).values()) == {"bf16"}
    config = {"quant_method": "modelopt", "quant_algo": "FP8", "ignore": ["model.layers.?.mlp*"]}
    found = formats(read_config({**SHAPE, "num_hidden_layers": 12, "quantization_config": config}))
    left = {int(at.partition("@")[2]) for at, kind in found.items() if "mlp" in at and kind == "bf16"}
    assert left == set(range(10))


def test_a_side_file_about_the_kv_cache_alone() -> None:
    """quant_algo null with a KV type is 16-bit weights with that cache; a file that says nothing is said to."""
    side = {"quantization": {"quant_algo": None, "kv_cache_quant_algo": "FP8"}}
    arch = read_config(SHAPE, hf_quant_config=side)
    assert checkpoint_bytes(arch) == 2 * arch.total_params
    assert checkpoint_kv(arch) == "fp8"
    with pytest.raises(ConfigError, match="says nothing"):
        checkpoint_bytes(read_config(SHAPE, hf_quant_config={"a": 1}))


def test_a_mixed_table_quantizes_just_what_it_lists() -> None:
    """MIXED_PRECISION: each listed module in its own type, the rest at 16 bit."""
    table = {"model.layers.0.mlp.up_proj": {"quant_algo": "NVFP4", "group_size": 16},
             "model.layers.0.mlp.down_proj": {"quant_algo": "FP8"}}  # fmt: skip
    found = formats(quantized(quant_method="modelopt", quant_algo="MIXED_PRECISION", quantized_layers=table))
    assert {n: k for n, k in found.items() if k != "bf16"} == {
        "model.layers.{i}.mlp.up_proj@0": "nvfp4", "model.layers.{i}.mlp.down_proj@0": "fp8",
    }  # fmt: skip


def test_experts_of_one_layer_may_differ() -> None:
    """A table that lists half of the experts quantizes half of them, and all copies are still there."""
    base = json.loads((corpus.FOLDER / "mixtral/Mixtral-8x7B-Instruct-v0.1.json").read_text())
    table = {
        f"model.layers.{i}.block_sparse_moe.experts.{e}.w1": {"quant_algo": "FP8"} for i in range(32) for e in range(4)
    }
    base["quantization_config"] = {
        "quant_method": "modelopt",
        "quant_algo": "MIXED_PRECISION",
        "quantized_layers": table,
    }
    rows = weight_rows(read_config(base), "checkpoint")
    chosen = [i for i, name in enumerate(rows.names) if name.endswith(("w1", "gate_proj"))]
    assert {str(rows.formats[i]): rows.copies[i] for i in chosen} == {"fp8": 4, "bf16": 4}
    assert sum(rows.used[i] for i in chosen) == 2
    assert rows.params.sum() == read_config(base).total_params


@pytest.mark.parametrize("key", ["quantization", "quantization_config"])
def test_mlx_quantizes_embeddings_and_head_too(key: str) -> None:
    """MLX: 4.5 bits per weight everywhere but in the norms, single modules at other bits."""
    config = {"group_size": 64, "bits": 4, "model.layers.0.mlp.up_proj": {"group_size": 64, "bits": 8}}
    arch = read_config({**SHAPE, key: config})
    matrices = LINEARS + 2 * 1000 * 512
    assert checkpoint_bytes(arch) == matrices * 4.5 / 8 + 512 * 1536 * 4 / 8 + 2 * 512 * 9
    assert checkpoint_bytes(read_config(arch.config)) == checkpoint_bytes(arch)


@pytest.mark.parametrize(("config", "kv"), [
    ({"quant_method": "fp8"}, None),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "kv_cache_scheme": {"num_bits": 8, "type": "float"}}, "fp8"),
    ({"quant_method": "modelopt", "quant_algo": "FP8", "kv_cache_quant_algo": "INT8"}, "int8"),
])  # fmt: skip
def test_the_kv_scheme_of_the_checkpoint(config: dict[str, Any], kv: str | None) -> None:
    """kv_cache_scheme and kv_cache_quant_algo name a KV format, or nothing."""
    assert checkpoint_kv(quantized(**config)) == kv
    assert kv is None or kv in KV_FORMATS


def test_products_run_in_the_type_of_weights_and_activations() -> None:
    """fp8 checkpoints multiply at fp8, weight-only ones at 16 bit; what is left alone at 16 bit."""
    for config, compute in (({"quant_method": "fp8"}, "fp8"), ({"quant_method": "awq", "bits": 4}, "fp16"),
                            ({"quant_method": "modelopt", "quant_algo": "NVFP4"}, "fp4")):  # fmt: skip
        rows = weight_rows(quantized(**config), "checkpoint")
        assert set(rows.compute[rows.role == "mlp"]) == {compute}
        assert set(rows.compute[rows.role == "norm"]) == {"fp16"}


def test_a_label_says_where_the_format_comes_from() -> None:
    """The description names the format, its bits and what is left at 16 bit."""
    said = describe_quantization(
        quantized(quant_method="modelopt", quant_algo="NVFP4", ignore=["lm_head", "*self_attn*"])
    )
    assert said is not None
    assert said["label"] == "NVFP4 (from the checkpoint)"
    assert (said["bits"], said["group"]) == (4, 16)
    assert "output head" in said["kept"] and "attention" in said["kept"]


def test_towers_left_alone_by_name_are_said_to_be() -> None:
    """Vision parts that an ignore list keeps at 16 bit are named among what is kept, and only then."""
    file = "mistral/Mistral-Small-3.1-24B-Instruct-2503.json"
    config = json.loads((corpus.FOLDER / file).read_text())
    weights = {"num_bits": 8, "type": "float", "strategy": "channel"}
    method = {"quant_method": "compressed-tensors", "format": "float-quantized",
              "config_groups": {"group_0": {"targets": ["Linear"], "weights": weights}}}  # fmt: skip
    for ignored, kept in (("re:vision_tower.*", "re:multi_modal_projector.*"), True), (("lm_head",), False):
        scheme = method | {"ignore": list(ignored)}
        said = describe_quantization(read_config(json.dumps(config | {"quantization_config": scheme})))
        assert said is not None and ("vision" in said["kept"]) is kept


def test_an_unknown_method_with_bits_is_a_marked_guess() -> None:
    """The label and a warning say that it is a guess."""
    said = describe_quantization(quantized(quant_method="newest", bits=3))
    assert said is not None
    assert "guess" in said["label"] and "newest" in said["warnings"][0]


@pytest.mark.parametrize("config", [
    {"quant_method": "newest"}, {"quant_method": "gptq", "bits": "many"}, {"quant_method": "compressed-tensors"},
    {"quant_method": "fp8", "weight_block_size": [128]}, {"quant_method": "modelopt", "quant_algo": "FP3"},
    {"quant_method": "torchao"}, {"quant_method": "quark"},
])  # fmt: skip
def test_what_cannot_be_sized_is_refused_in_a_sentence(config: dict[str, Any]) -> None:
    """The sentence says what to do instead."""
    with pytest.raises(ConfigError, match=r"hoose the weights' format yourself|\[128, 128\]"):
        checkpoint_bytes(quantized(**config))


def test_a_slow_regular_expression_is_set_aside_with_a_warning() -> None:
    """Nested repetition is not tried; the module counts as quantized, and that is said."""
    said = describe_quantization(quantized(quant_method="compressed-tensors", ignore=["re:((a+)+)+$", "lm_head"],
        config_groups={"a": {"targets": ["Linear"], "weights": FP8}}))  # fmt: skip
    assert said is not None
    assert "could not be used" in said["warnings"][0]


ODD = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 300) | st.sampled_from(["", "FP8", "re:(", "Linear", "*", "-1"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["weights", "_type", "a"]), inner, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip
KEYS = st.sampled_from([
    "bits", "group_size", "ignore", "config_groups", "quant_algo", "weight_block_size", "dynamic", "quant_type",
    "quant_config",
    "modules_to_not_convert", "quantized_layers", "global_quant_config", "kv_cache_scheme", "extra_config",
    "nbits_per_codebook",
])  # fmt: skip
METHODS = st.sampled_from([
    "fp8", "gptq", "awq", "auto-round", "bitsandbytes", "hqq", "aqlm", "compressed-tensors", "modelopt", "quark",
    "torchao", "quanto", "exl2", "mxfp4", "other", "",
])  # fmt: skip


@given(METHODS, st.dictionaries(KEYS, ODD, max_size=4))
def test_odd_values_give_bytes_or_a_sentence(method: str, config: dict[str, Any]) -> None:
    """Whatever the values, the outcome is a size or a PlannerError."""
    try:
        arch = quantized(quant_method=method, **config)
        assert checkpoint_bytes(arch) > 0
        assert describe_quantization(arch)
    except PlannerError as error:
        assert len(str(error)) > 20


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"exclude_modules": 5}, "exclude_modules of the quantization config is 5"),
        ({"exclude_modules": ["lm_head", 7]}, "expected a list of module names"),
        ({"quantized_layers": ["model.layers.0.mlp.up_proj"]}, "expected an object that gives each module"),
        ({"quantized_layers": {"model.layers.0.mlp.up_proj": "FP8"}}, "expected an object with quant_algo"),
        ({"quant_algo": "MIXED_PRECISION"}, "quantized_layers, which gives each module its type, is missing"),
        ({"quant_algo": "MIXED_PRECISION", "quantized_layers": {"lm_head": {"quant_algo": "FP3"}}}, '"FP3"'),
    ],
)  # fmt: skip
@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside a config that names the method"])
def test_a_malformed_side_file_is_one_sentence(keys: dict[str, Any], said: str, beside: bool) -> None:
    """What the side file says about modules is understood or refused, never passed over."""
    side = {"quantization": {"quant_algo": "FP8", **keys}}
    own = {"quantization_config": {"quant_method": "modelopt", **side["quantization"]}} if beside else {}
    with pytest.raises(ConfigError, match=said) as caught:
        checkpoint_bytes(read_config({**SHAPE, **own}, hf_quant_config=side))
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)


@pytest.mark.parametrize("value", ["FP5", 8, ["FP8"], {"num_bits": 5}], ids=str)
@pytest.mark.parametrize("place", ["config", "side file", "both"])
def test_an_unknown_kv_cache_type_is_said(place: str, value: Any) -> None:
    """The KV cache counts at 16 bit and a sentence says which value was not understood."""
    side = {"quantization": {"quant_algo": "FP8", "kv_cache_quant_algo": value}}
    plain = {"quant_method": "modelopt", "quant_algo": "FP8"}
    if place == "side file":
        arch = read_config(SHAPE, hf_quant_config=side)
    elif place == "config":
        arch = read_config({**SHAPE, "quantization_config": {**plain, "kv_cache_scheme": value}})
    else:
        arch = read_config({**SHAPE, "quantization_config": plain}, hf_quant_config=side)
    told = describe_quantization(arch)
    assert told is not None and checkpoint_kv(arch) is None
    assert ["which the planner does not know" in w for w in told["warnings"]] == [True]


@pytest.mark.parametrize("value", [None, "auto", "BF16", {}, {"num_bits": 16, "type": "float"}], ids=str)
def test_a_kv_cache_left_alone_needs_no_words(value: Any) -> None:
    """Null and names of 16-bit types mean what they say."""
    told = describe_quantization(quantized(quant_method="modelopt", quant_algo="FP8", kv_cache_quant_algo=value))
    assert told is not None and (told["kv"], told["warnings"]) == (None, [])
