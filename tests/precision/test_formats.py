"""Storage formats: true bits, seed figures, laws."""

from __future__ import annotations

import csv
import statistics
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Architecture, read_config
from planner.architecture.builders import linear
from planner.architecture.ledger import Block
from planner.errors import PlannerError
from planner.precision import FORMATS, KV_FORMATS, find_format, find_kv_format, weight_rows
from planner.precision.gguf import BLOCKS, more_bits
from tests import corpus

GGUF_FROM_MORE_BITS = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K")
LINEARS_FROM_MORE_BITS = ("fp32", "bf16", "fp8", "nvfp4", "int4")


def model(file: str) -> Architecture:
    return read_config((corpus.FOLDER / file).read_text())


def llama(**changes: int | bool) -> Architecture:
    shape = {
        "model_type": "llama", "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "tie_word_embeddings": False,
    }  # fmt: skip
    return read_config({**shape, **changes})


def square(params: int) -> Architecture:
    side = Block("", (0,), (linear("w", params, 1, "mlp"),))
    return Architecture("square", "none", (side,), 1, 1, 1, 1, 1, False)


def test_seven_billion_parameters_at_two_bytes_are_14_gb() -> None:
    """7e9 parameters x 2 bytes = 14 GB = 13.0 GiB."""
    total = weight_rows(square(7_000_000_000), "bf16").total_bytes
    assert total == 14_000_000_000
    assert round(total / 2**30, 1) == 13.0


@pytest.mark.parametrize(("name", "bits"), [
    ("fp32", 32), ("bf16", 16), ("fp16", 16), ("mxfp4", 4.25), ("nvfp4", 4.5), ("int4", 4.15625), ("Q8_0", 8.5),
    ("Q6_K", 6.5625), ("Q4_0", 4.5),
])  # fmt: skip
def test_bits_count_scales_and_zero_points(name: str, bits: float) -> None:
    """The stated bits are those of a large matrix divided by its weights."""
    assert FORMATS[name].bits == bits
    layout = FORMATS[name].layout
    if layout is not None:
        assert layout.size(8192, 8192) * 8 / 8192**2 == pytest.approx(bits, rel=1e-6)


@pytest.mark.parametrize("name", GGUF_FROM_MORE_BITS)
def test_stated_bits_of_gguf_mixes_are_those_of_a_real_model(name: str) -> None:
    """The stated average of a mix is within 3 % of the layers of Llama-2-7B in it."""
    rows = weight_rows(model("llama/llama-2-7b-hf.json"), name)
    inside = (rows.kind == "linear") & (rows.role != "head")
    assert rows.stored_bytes[inside].sum() * 8 / rows.params[inside].sum() == pytest.approx(
        FORMATS[name].bits, rel=0.03
    )


def test_gguf_bits_per_weight_equal_the_published_table() -> None:
    """Llama-3.1-8B: bits per weight as in llama.cpp's tools/quantize/README.md, to its four decimals."""
    published = {"Q2_K": 3.1593, "Q4_K_M": 4.8944, "Q5_K_M": 5.7036, "Q6_K": 6.5633, "Q8_0": 8.5008}
    arch = llama()
    for name, bits in published.items():
        assert weight_rows(arch, name).total_bytes * 8 / arch.total_params == pytest.approx(bits, abs=1e-4)


def test_gguf_sizes_equal_published_file_sizes() -> None:
    """Published sizes of GGUF files: median error below 0.1 %, none above 0.2 % (they are rounded to 0.01 GiB)."""
    rows = list(csv.DictReader((Path(corpus.FOLDER).parent / "gguf_sizes.csv").read_text().splitlines()))
    errors = [
        abs(weight_rows(model(r["config"]), r["type"]).total_bytes / 2**30 / float(r["gib"]) - 1) for r in rows
    ]  # fmt: skip
    assert len(errors) > 20
    assert statistics.median(errors) < 0.001
    assert max(errors) < 0.002


def test_half_of_the_layers_get_more_bits() -> None:
    """The M mixes favour first and last eighth and every third layer between: 16 of 32."""
    assert sum(more_bits(i, 32) for i in range(32)) == 16


def test_rows_that_no_block_divides_fall_back() -> None:
    """A matrix of 320 columns is no multiple of 256: Q4_K_M stores it in the 32-weight type Q5_0."""
    arch = llama(hidden_size=320, num_attention_heads=5, num_key_value_heads=5, intermediate_size=1024)
    rows = weight_rows(arch, "Q4_K_M")
    query = next(i for i, n in enumerate(rows.names) if n.endswith("q_proj"))
    assert rows.formats[query] == "Q5_0"
    assert rows.stored_bytes[query] == 320 * 320 * 32 * BLOCKS["Q5_0"][1] / 32


@given(
    st.sampled_from([256, 512, 768, 4096]), st.integers(1, 90), st.sampled_from([1, 2, 4, 8]), st.booleans(),
    st.integers(1, 300), st.sampled_from([GGUF_FROM_MORE_BITS, LINEARS_FROM_MORE_BITS]),
)  # fmt: skip
def test_more_bits_never_need_fewer_bytes(hidden: int, layers: int, kv: int, tied: bool, vocab: int,
                                          names: tuple[str, ...]) -> None:  # fmt: skip
    """Within a family of formats, bytes fall with the bits."""
    arch = llama(hidden_size=hidden, num_hidden_layers=layers, num_attention_heads=8, num_key_value_heads=kv,
                 intermediate_size=hidden * 3, vocab_size=vocab * 100, tie_word_embeddings=tied)  # fmt: skip
    sizes = [weight_rows(arch, name).total_bytes for name in names]
    assert sizes == sorted(sizes, reverse=True)


@pytest.mark.parametrize("name", list(FORMATS))
def test_parts_sum_to_the_whole(name: str) -> None:
    """Bytes by role, by part and by storage each sum to all bytes, and parameters to the model's."""
    arch = model("mixtral/Mixtral-8x7B-Instruct-v0.1.json")
    rows = weight_rows(arch, name)
    assert sum(rows.bytes_by(rows.role).values()) == rows.total_bytes
    assert sum(rows.bytes_by(rows.part).values()) == rows.total_bytes
    assert sum(rows.bytes_by(rows.formats).values()) == rows.total_bytes
    assert rows.params.sum() == arch.total_params


@pytest.mark.parametrize("name", list(FORMATS))
def test_flops_do_not_depend_on_the_format(name: str) -> None:
    """Two FLOPs per active weight of a matrix product, whatever its storage."""
    arch = llama()
    expected = 2 * (arch.text_params - arch.embedding_params - (2 * 32 + 1) * 4096)
    assert weight_rows(arch, name).flops.sum() == expected


def test_a_tied_head_costs_no_memory_but_is_read() -> None:
    """The head of a tied model stores nothing and is read whole; the embedding is stored and looked up."""
    for name in FORMATS:
        rows = weight_rows(llama(tie_word_embeddings=True), name)
        head, embedding = (rows.role == "head"), (rows.role == "embedding")
        assert rows.stored_bytes[head].sum() == 0
        assert rows.read_bytes_one[head].sum() == rows.stored_bytes[embedding].sum()
        assert rows.read_bytes_one[embedding].sum() == 0


def test_self_made_quantization_leaves_the_sensitive_parts_alone() -> None:
    """Embeddings, head, norms and router stay at 16 bit; MXFP4 takes just the experts of a mixture."""
    rows = weight_rows(model("mixtral/Mixtral-8x7B-Instruct-v0.1.json"), "int4")
    for role in ("embedding", "head", "norm", "router"):
        assert set(rows.formats[rows.role == role]) == {"bf16"}
    assert set(rows.formats[rows.role == "attention"]) == {"awq 4-bit"}
    micro = weight_rows(model("mixtral/Mixtral-8x7B-Instruct-v0.1.json"), "mxfp4")
    assert set(micro.role[micro.formats == "mxfp4"]) == {"experts"}


def test_asking_again_gives_the_same_arrays() -> None:
    """The arrays are kept with the architecture."""
    arch = llama()
    assert weight_rows(arch, "awq") is weight_rows(arch, "INT4")


def test_kv_formats_count_their_block_scales() -> None:
    """q8_0 stores 34 bytes and q4_0 18 bytes per 32 elements."""
    assert KV_FORMATS["q8_0"].bytes_per_element == 34 / 32
    assert KV_FORMATS["q4_0"].bytes_per_element == 18 / 32
    assert find_kv_format("FP16").bytes_per_element == 2


@pytest.mark.parametrize("find", [find_format, find_kv_format])
def test_an_unknown_format_is_named_with_the_known_ones(find: object) -> None:
    """The sentence names the value found and what was expected."""
    with pytest.raises(PlannerError, match="'int7'; expected"):
        find("int7")  # type: ignore[operator]


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_says_its_risk_and_source(name: str) -> None:
    """Each format has a label, what it keeps, its risk with a source, and who runs it."""
    one = FORMATS[name]
    assert find_format(name.upper()) is one
    assert all((one.label, one.kept, one.risk, one.risk_source, one.kernels, one.source))
    assert one.needs in (None, "fp8_tflops", "int8_tops", "fp4_tflops")
