"""Towers that listen: GLM-ASR, Qwen3-ASR, Granite Speech, and Qwen's encoder over the spectrum.

Each takes the whole config and the language model's width. Shapes and absent keys: transformers 5.24 classes.
"""

from __future__ import annotations

from planner.architecture.builders import linear, norm, outer, table
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.projectors import project
from planner.architecture.qformer import queries
from planner.architecture.qwen_towers import qwen3_vl
from planner.architecture.vision import CLIP, LLAMA, layer, positions, tower

AUDIO_NAMES = CLIP._replace(mlp=("fc1", "fc2"), norms=("self_attn_layer_norm", "final_layer_norm"))


def spectrum_encoder(k: Keys, root: str, *after: Matrix, hidden: int = 1280, layers: int = 32,
                     width: int = 5120) -> list[Block]:  # fmt: skip
    """Qwen3's sound encoder: three convolutions over the spectrum, then plain layers.

    after  matrices behind the last layer; hidden, layers, width: of the class, where the keys are absent
    """
    hidden, small = k.integer("d_model", hidden), k.integer("downsample_hidden_size", 480)
    mels = k.integer("num_mel_bins", 128)
    for _ in range(3):  # each halves the spectrum
        mels = (mels + 1) // 2
    outside = (
        *(Matrix(f"conv2d{n}", small, 9 * into, "audio", "conv", small)
          for n, into in ((1, 1), (2, small), (3, small))),
        linear("conv_out", hidden, small * mels, "audio"), norm("ln_post", hidden, bias=True), *after,
    )  # fmt: skip
    matrices = layer(hidden, k.integer("encoder_ffn_dim", width), AUDIO_NAMES, role="audio")
    count = k.integer("encoder_layers", layers, most=1000)
    return tower(root + "layers.{i}.", count, matrices, outside, root, "audio")


def qwen3_asr(top: Keys, text: int) -> list[Block]:
    """Qwen3-ASR: the encoder and two biased projections."""
    k = top.section("audio_config")
    hidden, out = k.integer("d_model", 1024), k.integer("output_dim", 3584)
    return [
        *spectrum_encoder(k, "model.audio_tower.", hidden=1024, layers=24, width=4096),
        project(linear("linear_1", hidden, hidden, "projector", bias=True),
                linear("linear_2", out, hidden, "projector", bias=True), root="model.multi_modal_projector."),
    ]  # fmt: skip


def qwen3_omni(top: Keys, text: int) -> list[Block]:
    """Qwen3-Omni's thinker: the Qwen3-VL tower and this encoder; talker and waveform decoder are other models."""
    k, root = top.section("audio_config"), "thinker."
    hidden, out = k.integer("d_model", 1280), k.integer("output_dim", text)
    after = (linear("proj1", hidden, hidden, "audio", bias=True), linear("proj2", out, hidden, "audio", bias=True))
    return [*qwen3_vl(top, text, root=root + "visual."), *spectrum_encoder(k, root + "audio_tower.", *after)]


def glmasr(top: Keys, text: int) -> list[Block]:
    """GLM-ASR: Whisper's convolutions, rotary positions, four frames beside each other, two projections."""
    k, root = top.section("audio_config"), "model.audio_tower."
    hidden, width = k.integer("hidden_size", 1280), k.integer("intermediate_size", 5120)
    outside = (
        Matrix("conv1", hidden, 3 * k.integer("num_mel_bins", 128), "audio", "conv", hidden),
        Matrix("conv2", hidden, 3 * hidden, "audio", "conv", hidden), norm("norm", hidden, bias=True),
    )  # fmt: skip
    heads = k.integer("num_attention_heads", 20)
    kv = k.integer("num_key_value_heads", heads, null=heads) * (hidden // heads)
    matrices = layer(hidden, width, LLAMA, key_bias=False, kv=kv, role="audio")
    return [
        *tower(root + "layers.{i}.", k.integer("num_hidden_layers", 32, most=1000), matrices, outside, root, "audio"),
        project(linear("linear_1", 2 * text, width, "projector", bias=True),
                linear("linear_2", text, 2 * text, "projector", bias=True), root="model.multi_modal_projector."),
    ]  # fmt: skip


def granite_speech(top: Keys, text: int) -> list[Block]:
    """Granite Speech: a conformer, a Q-Former with a few queries per window, one projection."""
    k, root = top.section("encoder_config"), "encoder."
    hidden, kernel = k.integer("hidden_dim", 1024), k.integer("conv_kernel_size", 15, most=10_000)
    inner = k.integer("num_heads", 8) * k.integer("dim_head", 128)
    wide, inside = hidden * k.integer("feedforward_mult", 4), hidden * k.integer("conv_expansion_factor", 2)
    words = k.integer("output_dim", 42)
    halves = (
        (norm(f"{name}.pre_norm", hidden, bias=True), linear(f"{name}.up_proj", wide, hidden, "audio", bias=True),
         linear(f"{name}.down_proj", hidden, wide, "audio", bias=True))
        for name in ("ff1", "ff2")
    )  # fmt: skip
    matrices = (
        *(m for half in halves for m in half),
        norm("attn.pre_norm", hidden, bias=True), linear("attn.to_q", inner, hidden, "audio"),
        linear("attn.to_kv", 2 * inner, hidden, "audio"), linear("attn.to_out", hidden, inner, "audio", bias=True),
        positions("attn.rel_pos_emb", 2 * k.integer("max_pos_emb", 512) + 1, k.integer("dim_head", 128), "audio"),
        norm("conv.norm", hidden, bias=True), Matrix("conv.up_conv", 2 * inside, hidden, "audio", "conv", 2 * inside),
        Matrix("conv.depth_conv.conv", inside, kernel, "audio", "conv"), norm("conv.batch_norm", inside, bias=True),
        Matrix("conv.down_conv", hidden, inside, "audio", "conv", hidden), norm("post_norm", hidden, bias=True),
    )  # fmt: skip
    outside = (
        linear("input_linear", hidden, k.integer("input_dim", 160), "audio", bias=True),
        linear("out", words, hidden, "audio", bias=True), linear("out_mid", hidden, words, "audio", bias=True),
    )  # fmt: skip
    p = top.section("projector_config")
    width = p.integer("hidden_size", 768)
    rows = top.integer("window_size", 15) // top.integer("downsample_rate", 5)
    return [
        *tower(root + "layers.{i}.", k.integer("num_layers", 10, most=1000), matrices, outside, root, "audio"),
        *queries(p, p.integer("encoder_hidden_size", 1408), "projector.qformer.", False),
        outer(table("query", rows, width, "projector"), linear("linear", text, width, "projector", bias=True),
              prefix="projector.", part="projector"),
    ]  # fmt: skip
