"""What a copy keeps, reads and computes on each device, against hand arithmetic and laws."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.architecture import Architecture, read_config
from planner.layout import share
from planner.mixing import visible_pairs
from planner.scenario import example, model_names
from planner.work import total
from tests.making import job, model

GIB = 2**30

KINDS = ("Llama 3.1 8B", "Gemma 3 4B", "DeepSeek-V2-Lite 16B", "Qwen3-Next 80B A3B", "Mamba 2.8B", "gpt-oss 20B",
         "Jamba 52B", "Mixtral 8x7B")  # fmt: skip

# Hand arithmetic ---------------------------------------------------------------------------------------------------


def test_weights_of_seven_billion_at_two_bytes() -> None:
    """7e9 parameters x 2 bytes are 14 GB, which are 13.0 GiB."""
    arch = model(layers=1, hidden=1000, heads=10, kv_heads=10, head_dim=100, mlp_width=1000, vocab=1000)
    per_parameter = job(arch).weights_bytes / arch.total_params
    assert per_parameter == 2
    assert per_parameter * 7e9 == 14e9
    assert round(per_parameter * 7e9 / GIB, 1) == 13.0


def test_cache_of_a_grouped_query_model() -> None:
    """32 layers x 8 KV heads x 128 at 16 bit: 131,072 B per token, 2 GiB for four conversations of 4,096 tokens."""
    w = job(model())
    assert w.caches.slope_bytes() == 131_072 == 128 * 1024
    assert 4 * float(w.caches.sequence_bytes(4096)) == 2 * GIB


def test_published_weights_of_llama() -> None:
    """Llama 3.1 8B has 8,030,261,248 parameters: 14.957 GiB at 16 bit; 1.000 GiB of cache for 8,192 tokens."""
    w = job("Llama 3.1 8B")
    assert w.weights_bytes == 8_030_261_248 * 2
    assert round(w.weights_bytes / GIB, 3) == 14.958
    assert float(w.caches.sequence_bytes(8192)) == GIB


def test_gpt_oss_with_full_and_with_freed_pages() -> None:
    """gpt-oss 20B, 32 conversations of 8,192 tokens: 12.00 GiB with whole pages, about 6.09 with freed ones."""
    kept, freed = (job("gpt-oss 20B", "checkpoint", window=w) for w in ("kept", "freed"))
    assert 32 * float(kept.caches.sequence_bytes(8192)) == 12 * GIB
    assert kept.caches.slope_bytes() == 49_152
    assert round(32 * float(freed.caches.sequence_bytes(8192)) / GIB, 2) == 6.09
    assert freed.caches.slope_bytes() == 49_152 / 2


def test_window_layers_of_gemma() -> None:
    """Gemma 3 27B at 32,768 tokens: 15.50 GiB with whole pages, 2.91 with freed ones; Gemma 3 1B 139 MiB."""
    shape = {"model_type": "gemma3_text", "vocab_size": 262144, "sliding_window_pattern": 6}
    big = read_config(shape | {
        "num_hidden_layers": 62, "hidden_size": 5376, "num_attention_heads": 32, "num_key_value_heads": 16,
        "head_dim": 128, "intermediate_size": 21504, "sliding_window": 1024,
    })  # fmt: skip
    small = read_config(shape | {
        "num_hidden_layers": 26, "hidden_size": 1152, "num_attention_heads": 4, "num_key_value_heads": 1,
        "head_dim": 256, "intermediate_size": 6912, "sliding_window": 512,
    })  # fmt: skip
    assert float(job(big, window="kept").caches.sequence_bytes(32_768)) / GIB == 15.5
    assert round(float(job(big, window="freed").caches.sequence_bytes(32_768)) / GIB, 2) == 2.91
    assert round(float(job(small, window="freed").caches.sequence_bytes(32_768)) / 2**20) == 139


def test_latent_cache_of_deepseek() -> None:
    """DeepSeek-V3 keeps 61 x 576 elements per token: 2.145 GiB for 32,768 tokens at 16 bit."""
    w = job("DeepSeek-R1 671B", "checkpoint")
    assert w.caches.slope_bytes() == 61 * 576 * 2
    assert round(float(w.caches.sequence_bytes(32_768)) / GIB, 3) == 2.145


def test_hybrid_cache_of_qwen3_next() -> None:
    """Qwen3-Next keeps 12 of 48 layers, 2 heads x 256: 0.75 GiB for 32,768 tokens, and a fixed state beside it."""
    w = job("Qwen3-Next 80B A3B")
    assert w.caches.slope_bytes() * 32_768 == 0.75 * GIB
    assert float(w.caches.sequence_bytes(32_768)) - w.caches.fixed_bytes() == 0.75 * GIB
    # 36 layers: 32 value heads x 128 x 128 at 4 bytes, and 3 inputs of (2 x 16 + 32) x 128 channels at 2 bytes.
    assert w.caches.fixed_bytes() == 36 * (32 * 128 * 128 * 4 + 8192 * 3 * 2)


def test_state_of_a_state_space_model() -> None:
    """Mamba 2.8B keeps 64 layers x (5,120 x 16 at 4 bytes and 5,120 x 3 inputs at 2 bytes), whatever the length."""
    w = job("Mamba 2.8B")
    assert w.caches.slope_bytes() == 0
    assert float(w.caches.sequence_bytes(10)) == float(w.caches.sequence_bytes(10**6)) == 64 * 5120 * (16 * 4 + 3 * 2)
    assert job("Mamba 2.8B", state="bf16").caches.fixed_bytes() == 64 * 5120 * (16 * 2 + 3 * 2)


def test_read_is_not_stored() -> None:
    """The embedding table is looked up, not read: Llama 3.1 8B reads its weights less 128,256 x 4,096 elements."""
    w = job("Llama 3.1 8B")
    assert float(w.weight_read(1)) == (8_030_261_248 - 128_256 * 4096) * 2
    assert float(w.caches.step_read(1152)) == 1152 * 131_072


def test_a_tied_head_is_stored_once_and_read() -> None:
    """With a tied head the table costs memory once and is read in every step as the head."""
    tied, own = job(model(tied=True)), job(model())
    table = 128_256 * 4096 * 2
    assert own.weights_bytes - tied.weights_bytes == table
    assert float(own.weight_read(1)) == float(tied.weight_read(1))


def test_a_tied_head_in_gguf_is_read_as_the_table_is_stored() -> None:
    """In a GGUF file the tied head is the quantized table: reads are the file less the blocks nobody multiplies."""
    w = job(model(tied=True), "Q8_0", engine="llama.cpp")
    assert float(w.weight_read(1)) == w.weights_bytes


def test_vision_parts_are_kept_but_not_read() -> None:
    """A vision tower counts in memory; a step of text does not read it nor compute with it."""
    arch = example(next(n for n in model_names() if "VL" in n))
    w = job(arch)
    assert arch.nontext_params > 0
    assert w.weights_bytes == arch.total_params * 2
    assert float(w.weight_read(1)) <= (arch.text_params) * 2
    assert sum(w.linear_flops.values()) <= 2 * arch.text_params


def test_prediction_layers_are_left_out() -> None:
    """Multi-token-prediction layers are no part of the weights."""
    arch = example("DeepSeek-R1 671B")
    assert arch.mtp_params > 0
    assert job(arch).weights_bytes == arch.total_params * 2


def t5_small() -> Architecture:
    return read_config({
        "model_type": "t5", "d_model": 512, "num_layers": 6, "num_decoder_layers": 6, "num_heads": 8, "d_kv": 64,
        "d_ff": 2048, "vocab_size": 32128,
    })  # fmt: skip


# 6 decoder layers x keys and values x 8 heads x 64 at 16 bit, in each of the two caches of an encoder-decoder.
T5_ENTRY = 6 * 2 * 8 * 64 * 2


def test_a_decoder_behind_an_encoder_keeps_the_prompt_once() -> None:
    """The prompt of T5 fills the cross-attention cache and the answer the decoder's own, whichever is the longer."""
    w = job(t5_small()).reading(1600)
    assert float(w.caches.sequence_bytes(1600 + 32)) == (1600 + 32) * T5_ENTRY
    assert w.caches.fixed_bytes() == 1600 * T5_ENTRY
    assert w.caches.slope_bytes() == T5_ENTRY
    assert float(w.caches.step_read(1600 + 10)) == (1600 + 10) * T5_ENTRY
    # Each cache in whole blocks of 16.
    assert float(w.reading(17).caches.sequence_bytes(17 + 17)) == 2 * 32 * T5_ENTRY


def test_a_speech_encoder_gives_the_same_entries_whatever_was_said() -> None:
    """Whisper keeps 1,500 entries of the encoder in each decoder layer, and one for each token that it writes."""
    whisper = read_config({
        "model_type": "whisper", "d_model": 384, "encoder_layers": 4, "decoder_layers": 4, "max_source_positions": 1500,
        "decoder_attention_heads": 6, "encoder_attention_heads": 6, "vocab_size": 51865,
    })  # fmt: skip
    entry = 4 * 2 * 384 * 2
    for prompt in (1, 1500):
        w = job(whisper).reading(prompt)
        assert w.caches.fixed_bytes() == 1504 * entry  # 94 blocks of 16
        assert float(w.caches.sequence_bytes(prompt + 64)) == (1504 + 64) * entry


def test_a_longer_prompt_leaves_decoder_only_work_as_it_is() -> None:
    """Without an encoder the Work of any prompt is the same object."""
    w = job("Llama 3.1 8B")
    assert w.reading(5) is w.reading(50_000) is w


def test_an_encoder_reads_the_prompt_and_a_decoder_writes() -> None:
    """Of T5 a step of the answer reads the decoder only, and the prompt passes the encoder only."""
    t5 = t5_small()
    w = job(t5)
    encoder = sum(m.params * b.count for b, m in t5.matrices("text") if b.prefix.startswith("encoder."))
    assert encoder > 10_000_000
    # All but the encoder, with the tied head read as a matrix and the tables looked up.
    assert float(w.weight_read(1)) < (t5.text_params - encoder) * 2
    long, short = (float(total(w.prefill_flops(n))) for n in (20, 10))
    assert (long - short) / 10 == pytest.approx(2 * encoder, rel=0.01)


# Devices -----------------------------------------------------------------------------------------------------------


def test_shares_are_whole_pieces() -> None:
    """Pieces cannot be cut: 8 heads on 3 devices leave 3/8 on the fullest, on 16 devices 1/8; one piece stays whole."""
    assert share(8, 3) == 3 / 8
    assert share(8, 16) == 1 / 8
    assert share(1, 64) == 1


def test_heads_are_replicated_past_their_number() -> None:
    """Llama 3.1 8B with 8 KV heads on 16 devices keeps 1/8 of the cache on each, not 1/16."""
    assert job("Llama 3.1 8B", tensor=8).caches.slope_bytes() == 131_072 / 8
    assert job("Llama 3.1 8B", tensor=16).caches.slope_bytes() == 131_072 / 8


@pytest.mark.parametrize("tensor", [1, 2, 4, 8, 16])
def test_tensor_parallelism_never_shrinks_a_latent(tensor: int) -> None:
    """The latent cache is whole on every device."""
    assert job("DeepSeek-R1 671B", "checkpoint", tensor=tensor).caches.slope_bytes() == 61 * 576 * 2


def test_attention_data_parallelism_keeps_attention_whole() -> None:
    """With a group per device, attention weights are whole on each device and a sequence's cache is not cut."""
    whole, groups = job("Llama 3.1 8B"), job("Llama 3.1 8B", tensor=8, attention_data=8)
    cut = job("Llama 3.1 8B", tensor=8)
    attention = 32 * (2 * 4096 * 4096 + 2 * 4096 * 1024) * 2
    assert groups.caches.slope_bytes() == whole.caches.slope_bytes()
    assert groups.weights_bytes - cut.weights_bytes == pytest.approx(attention * 7 / 8, rel=1e-9)


def test_expert_parallelism_deals_out_whole_experts() -> None:
    """128 experts on 8 devices are 16 on each: as many bytes as a slice of every expert."""
    sliced, dealt = (job("Qwen3 30B A3B", tensor=8, expert_parallel=e) for e in (False, True))
    assert dealt.weights_bytes == pytest.approx(sliced.weights_bytes)
    odd = job("Qwen3 30B A3B", tensor=3, expert_parallel=True)
    experts = sum(m.params * b.count for b, m in odd.arch.matrices("text") if m.role == "experts") * 2
    assert odd.weights_bytes >= experts * 43 / 128


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("stages", [1, 2, 3, 5])
def test_pipeline_stages_sum_to_the_whole(name: str, stages: int) -> None:
    """Weights and caches of all stages add up to those of the copy, and no stage is empty."""
    whole, cut = job(name), job(name, pipeline=stages)
    assert cut.weights_per_stage.sum() == pytest.approx(whole.weights_bytes)
    for tokens in (1, 1000, 100_000):
        parts = [float(cut.caches.sequence_bytes(tokens, stage)) for stage in range(stages)]
        assert sum(parts) == pytest.approx(float(whole.caches.sequence_bytes(tokens)))
    assert sum(cut.caches.slope_bytes(n) for n in range(stages)) == pytest.approx(whole.caches.slope_bytes())
    assert sum(cut.caches.fixed_bytes(n) for n in range(stages)) == pytest.approx(whole.caches.fixed_bytes())
    assert (cut.weights_per_stage > 0).all()


# Laws --------------------------------------------------------------------------------------------------------------


def brute_pairs(tokens: int, window: float) -> int:
    return sum(min(i, window) for i in range(1, tokens + 1))  # type: ignore[misc]


@given(st.integers(0, 60), st.one_of(st.integers(1, 70), st.just(np.inf)))
def test_visible_pairs_equal_counting(tokens: int, window: float) -> None:
    """The closed form equals the sum over queries of the keys each may see."""
    assert float(visible_pairs(tokens, np.array(float(window)))) == brute_pairs(tokens, window)


@given(st.integers(1, 400), st.lists(st.integers(1, 100), min_size=1, max_size=6), st.sampled_from(KINDS[:3]))
def test_chunks_of_a_prompt_add_up(start: int, chunks: list[int], name: str) -> None:
    """Prefill in chunks costs the FLOPs of prefill at once, whatever is cached before."""
    w = job(name)
    ends = [start, *itertools.accumulate(chunks, initial=start)][1:]
    pieces = [
        float(total(w.prefill_flops(end + size, end, logits=0))) for end, size in zip(ends, chunks, strict=False)
    ]
    whole = float(total(w.prefill_flops(start + sum(chunks), start, logits=0)))
    assert sum(pieces) == pytest.approx(whole, rel=1e-9)


@given(st.integers(0, 5000), st.integers(0, 5000), st.sampled_from(KINDS), st.sampled_from(["vLLM", "vLLM 0.20"]))
def test_more_tokens_never_keep_or_read_less(a: int, b: int, name: str, engine: str) -> None:
    """Bytes kept and read and FLOPs do not fall with more tokens; what is kept is at least what a step reads of it."""
    w = job(name, engine=engine)
    few, many = sorted((a, b))
    assert float(w.caches.sequence_bytes(few)) <= float(w.caches.sequence_bytes(many))
    assert float(w.caches.step_read(few)) <= float(w.caches.step_read(many))
    assert float(w.weight_read(few)) <= float(w.weight_read(many))
    assert float(total(w.decode_flops(few))) <= float(total(w.decode_flops(many)))
    assert float(total(w.prefill_flops(few))) <= float(total(w.prefill_flops(many)))


@given(st.integers(1, 10**6))
def test_blocks_round_up(tokens: int) -> None:
    """A request's last block counts whole: 16 tokens with vLLM, one with llama.cpp."""
    assert float(job(model()).caches.sequence_bytes(tokens)) == -(-tokens // 16) * 16 * 131_072
    assert float(job(model(), engine="llama.cpp").caches.sequence_bytes(tokens)) == tokens * 131_072


def test_doubling_layers_doubles_the_slope() -> None:
    """Twice the layers keep twice the bytes per token."""
    assert job(model(layers=64)).caches.slope_bytes() == 2 * job(model()).caches.slope_bytes()


@given(st.integers(1, 4096))
def test_distinct_experts_lie_between_those_used_and_all(tokens: int) -> None:
    """A step of one token reads exactly the k experts routed to; more tokens read more, at most all."""
    w = job("Qwen3 30B A3B")
    one = float(w.weight_read(1))
    expert = 48 * 3 * 2048 * 768 * 2
    read = float(w.weight_read(tokens)) - one
    assert -1e-3 <= read <= (128 - 8) * expert * (1 + 1e-12)
    expected = 128 * (1 - (1 - 8 / 128) ** tokens) - 8
    assert read == pytest.approx(expected * expert, rel=1e-9, abs=1.0)


FORMATS = ("fp32", "bf16", "fp8", "int8", "nvfp4", "mxfp4", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K")


@pytest.mark.parametrize("name", ["Llama 3.1 8B", "Qwen3 30B A3B"])
def test_fewer_bits_never_need_more(name: str) -> None:
    """Among formats of a kind, the narrower one stores and reads less."""
    for kind in (FORMATS[:5], FORMATS[6:]):
        sizes = [(job(name, f).weights_bytes, float(job(name, f).weight_read(1))) for f in kind if f != "int8"]
        assert sizes == sorted(sizes, reverse=True)


@given(
    st.lists(st.integers(1, 3000), min_size=1, max_size=5), st.sampled_from(KINDS), st.integers(1, 4), st.booleans()
)  # fmt: skip
def test_arrays_are_scalars_in_a_loop(tokens: list[int], name: str, tensor: int, dealt: bool) -> None:
    """Every function of tokens gives for an array what it gives for each of its elements."""
    w = job(name, tensor=tensor, expert_parallel=dealt)
    grid = np.array(tokens, float)
    functions: list[Any] = [
        w.caches.sequence_bytes, w.weight_read, w.caches.step_read, lambda n: total(w.decode_flops(n)),
        lambda n: total(w.prefill_flops(n)), lambda n: total(w.prefill_flops(n, n - 1)),
        lambda n: total(w.step_flops(n, n, 100.0)),
    ]  # fmt: skip
    for function in functions:
        assert function(grid).tolist() == [float(function(float(n))) for n in tokens]


def test_replicated_heads_are_no_work_of_the_model() -> None:
    """The model's FLOPs are those of one device, however many devices repeat some of them."""
    one, many = job("Llama 3.1 8B"), job("Llama 3.1 8B", tensor=16)
    assert many.whole is one
    assert float(total(many.prefill_flops(1000))) * 16 > float(total(one.prefill_flops(1000)))


@given(st.integers(0, 300), st.integers(1, 40))
def test_chunked_pairs_equal_counting(tokens: int, chunk: int) -> None:
    """In chunks, a token sees its own chunk up to itself: the closed form equals counting."""
    counted = sum(t % chunk + 1 for t in range(tokens))
    assert float(visible_pairs(tokens, np.array(float(chunk)), True)) == counted
