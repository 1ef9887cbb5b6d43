"""Qwen-VL's towers and those built like them (GLM-V), with their mergers.

Each takes the whole config and the language model's width, and returns the blocks of the tower and of its projector.
Shapes: tensor lists of transformers 5.24 and its config classes (absent keys).
"""

from __future__ import annotations

from planner.architecture.builders import linear, mlp, norm, outer
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.vision import (
    QWEN,
    QWEN3,
    QWEN_GATED,
    WHISPER,
    channels,
    depth,
    grid,
    layer,
    patches,
    positions,
    side,
    tower,
)


def merger(merged: int, out: int, names: tuple[str, str]) -> tuple[Matrix, ...]:
    """Two biased projections of `merged` neighbouring patches, the second to the language model's width."""
    first, second = names
    return (
        linear(first, merged, merged, "projector", bias=True), linear(second, out, merged, "projector", bias=True),
    )  # fmt: skip


def glm_merger(merged: int, out: int, width: int) -> tuple[Matrix, ...]:
    """GLM-V: a convolution that merges patches, a normed projection, a gated MLP of `width`."""
    return (
        Matrix("downsample", out, merged, "projector", "conv", out), linear("merger.proj", out, out, "projector"),
        norm("merger.post_projection_norm", out, bias=True), *mlp(out, width, prefix="merger.", role="projector"),
    )  # fmt: skip


def qwen2_vl(top: Keys, text: int) -> list[Block]:
    """Qwen2-VL: `embed_dim` is the tower's width, `hidden_size` the language model's."""
    k, root = top.section("vision_config"), "visual."
    hidden, edge = k.integer("embed_dim", 1280), side(k, "patch_size", 14)
    merged = hidden * k.integer("spatial_merge_size", 2) ** 2
    out = k.integer("hidden_size", 3584)
    outside = (
        patches("patch_embed.proj", hidden, channels(k), k.integer("temporal_patch_size", 2), edge, edge, bias=False),
    )
    matrices = layer(hidden, round(hidden * k.number("mlp_ratio", 4)), QWEN)
    return [
        *tower(root + "blocks.{i}.", depth(k, 32), matrices, outside, root),
        outer(norm("ln_q", hidden, bias=True), *merger(merged, out, ("mlp.0", "mlp.2")),
              prefix=root + "merger.", part="projector"),
    ]  # fmt: skip


def qwen2_5_vl(top: Keys, text: int, root: str = "visual.") -> list[Block]:
    """Qwen2.5-VL: gated MLP with biases, RMS norms."""
    k = top.section("vision_config")
    hidden, edge = k.integer("hidden_size", 3584), side(k, "patch_size", 14)
    merged, out = hidden * k.integer("spatial_merge_size", 2) ** 2, k.integer("out_hidden_size", 3584)
    outside = (
        patches("patch_embed.proj", hidden, channels(k), k.integer("temporal_patch_size", 2), edge, edge, bias=False),
    )
    matrices = layer(hidden, k.integer("intermediate_size", 3420), QWEN_GATED, norm_bias=False)
    return [
        *tower(root + "blocks.{i}.", depth(k, 32), matrices, outside, root),
        outer(norm("ln_q", hidden), *merger(merged, out, ("mlp.0", "mlp.2")),
              prefix=root + "merger.", part="projector"),
    ]  # fmt: skip


def qwen2_5_thinker(top: Keys, text: int, root: str = "") -> list[Block]:
    """Qwen2.5-Omni's thinker: the Qwen2.5-VL tower and Whisper's encoder without stored positions."""
    k, prefix = top.section("audio_config"), root + "audio_tower."
    hidden, out = k.integer("d_model", 1280), k.integer("output_dim", 3584)
    outside = (
        Matrix("conv1", hidden, 3 * k.integer("num_mel_bins", 128), "audio", "conv", hidden),
        Matrix("conv2", hidden, 3 * hidden, "audio", "conv", hidden),
        positions("audio_bos_eos_token", 2, out, "audio"), norm("ln_post", hidden, bias=True),
        linear("proj", out, hidden, "projector", bias=True),
    )  # fmt: skip
    matrices = layer(hidden, k.integer("encoder_ffn_dim", 5120), WHISPER, key_bias=False, role="audio")
    layers = k.integer("encoder_layers", 32, most=1000)
    return [
        *qwen2_5_vl(top, text, root + "visual."),
        *tower(prefix + "layers.{i}.", layers, matrices, outside, prefix, "audio"),
    ]


def qwen2_5_omni(top: Keys, text: int) -> list[Block]:
    """Qwen2.5-Omni: the thinker; the talker and the waveform decoder are models of their own."""
    top.guess("Of this model only the thinker, which writes the text, is counted; its talker and voice are not.")
    return qwen2_5_thinker(top, text, "thinker.")


def qwen3_vl(top: Keys, text: int, *, deepstack: bool = True, root: str = "model.visual.") -> list[Block]:
    """Qwen3-VL (with one more merger for each deep-stack layer) and Qwen3.5 (without)."""
    k = top.section("vision_config")
    hidden, edge = k.integer("hidden_size", 1152), side(k, "patch_size", 16)
    merged, out = hidden * k.integer("spatial_merge_size", 2) ** 2, k.integer("out_hidden_size", 3584)
    time = k.integer("temporal_patch_size", 2)
    outside = (
        patches("patch_embed.proj", hidden, channels(k), time, edge, edge, bias=True),
        positions("pos_embed", k.integer("num_position_embeddings", 2304), hidden),
    )
    matrices = layer(hidden, k.integer("intermediate_size", 4304), QWEN3)

    joined = merger(merged, out, ("linear_fc1", "linear_fc2"))
    blocks = [
        *tower(root + "blocks.{i}.", depth(k, 27), matrices, outside, root),
        outer(norm("norm", hidden, bias=True), *joined, prefix=root + "merger.", part="projector"),
    ]
    stacked = len(k.items("deepstack_visual_indexes", [8, 16, 24], most=1000) or []) if deepstack else 0
    if stacked:
        prefix = root + "deepstack_merger_list.{i}."
        deep = (norm("norm", merged, bias=True), *joined)
        blocks.append(Block(prefix, tuple(range(stacked)), deep, part="projector"))
    return blocks


def qwen3_5(top: Keys, text: int) -> list[Block]:
    """Qwen3.5: the Qwen3-VL tower without deep-stack mergers."""
    return qwen3_vl(top, text, deepstack=False)


def glm4v(top: Keys, text: int) -> list[Block]:
    """GLM-4.1V, 4.5V and 4.6V: gated blocks as wide as the output, a gated merger of `intermediate_size`."""
    k, root = top.section("vision_config"), "model.visual."
    hidden, edge = k.integer("hidden_size", 1536), side(k, "patch_size", 14)
    merge, out = k.integer("spatial_merge_size", 2), k.integer("out_hidden_size", 4096)
    width = k.integer("intermediate_size", 13696)
    outside = (
        positions("embeddings.position_embedding", grid(k, 336, 14), hidden),
        patches("patch_embed.proj", hidden, channels(k), k.integer("temporal_patch_size", 2), edge, edge, bias=True),
        norm("post_conv_layernorm", hidden),
        norm("post_layernorm", hidden),
    )
    bias = k.flag("attention_bias")
    matrices = layer(hidden, out, QWEN_GATED, bias=False, qkv_bias=bias, norm_bias=False)
    return [
        *tower(root + "blocks.{i}.", depth(k, 24), matrices, outside, root),
        outer(*glm_merger(hidden * merge * merge, out, width), prefix=root, part="projector"),
    ]  # fmt: skip
