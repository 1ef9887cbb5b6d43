"""Towers that one vendor uses, with their projector: Llama 4, Mllama, Kimi, MiniMax, Step, ERNIE.

Each takes the whole config and the language model's width, and returns the blocks of the tower and of its projector.
Shapes: tensor lists of transformers 5.24 and its config classes (absent keys).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from planner.architecture.builders import linear, norm, outer, vector
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.vision import (
    CLIP,
    INTERNVL,
    LLAMA,
    MOON,
    QWEN,
    channels,
    depth,
    grid,
    layer,
    patches,
    positions,
    side,
    tower,
)  # fmt: skip


def llama4(top: Keys, text: int) -> list[Block]:
    """Llama 4: CLIP-like blocks, a pixel shuffle and two projections."""
    k, root = top.section("vision_config"), "vision_model."
    hidden, edge, width = k.integer("hidden_size", 768), side(k, "patch_size", 14), k.integer("intermediate_size", 5632)
    inside, out = k.integer("projector_input_dim", 4096), k.integer("projector_output_dim", 4096)
    outside = (
        vector("class_embedding", hidden, "vision"),
        positions("positional_embedding_vlm", grid(k, 448, 14) + 1, hidden),
        Matrix("patch_embedding.linear", hidden, k.integer("num_channels", 3) * edge * edge, "vision"),
        norm("layernorm_pre", hidden, bias=True),
        norm("layernorm_post", hidden, bias=True),
        linear("vision_adapter.mlp.fc1", inside, width, "projector"),
        linear("vision_adapter.mlp.fc2", out, inside, "projector"),
    )
    layers = k.integer("num_hidden_layers", 34, most=1000)
    projector = linear("linear_1", text, k.integer("vision_output_dim", 7680), "projector")
    return [
        *tower(root + "model.layers.{i}.", layers, layer(hidden, width, LLAMA), outside, root),
        outer(projector, prefix="multi_modal_projector.", part="projector"),
    ]


def mllama(top: Keys, text: int) -> list[Block]:
    """Llama 3.2 Vision: a local and a gated global encoder over tiles, with gated position tables."""
    k, root = top.section("vision_config"), "vision_model."
    hidden, edge, width = (
        k.integer("hidden_size", 1280),
        side(k, "patch_size", 14),
        k.integer("intermediate_size", 5120),
    )
    count, tiles = grid(k, 448, 14) + 1, k.integer("max_num_tiles", 4)
    # One row per aspect ratio of up to `tiles` tiles, and one for "none"; 8 ratios for 4 tiles.
    ratios = len(k.items("supported_aspect_ratios") or range(8)) + 1
    outside = (
        vector("class_embedding", hidden, "vision"),
        patches("patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=False),
        vector("gated_positional_embedding.gate", 1, "vision"),
        positions("gated_positional_embedding.embedding", count, hidden),
        positions("gated_positional_embedding.tile_embedding", ratios, tiles * count * hidden),
        vector("pre_tile_positional_embedding.gate", 1, "vision"),
        positions("pre_tile_positional_embedding.embedding", ratios, tiles * hidden),
        vector("post_tile_positional_embedding.gate", 1, "vision"),
        positions("post_tile_positional_embedding.embedding", ratios, tiles * hidden),
        norm("layernorm_pre", hidden, bias=True),
        norm("layernorm_post", hidden, bias=True),
    )
    local = layer(hidden, width, LLAMA, qkv_bias=False, out_bias=False)
    gated = (*local, vector("gate_attn", 1, "vision"), vector("gate_ffn", 1, "vision"))
    far = tuple(range(k.integer("num_global_layers", 8, most=1000)))
    projector = linear("multi_modal_projector", text, k.integer("vision_output_dim", 7680), "projector", bias=True)
    return [
        *tower(root + "transformer.layers.{i}.", k.integer("num_hidden_layers", 32, most=1000), local, outside, root),
        Block(root + "global_transformer.layers.{i}.", far, gated, part="vision"),
        outer(projector, part="projector"),
    ]


def kimi_vl(top: Keys, text: int) -> list[Block]:
    """Kimi-VL: MoonViT and a projector under other names than those of Kimi K2.5."""
    return kimi(top, text, ("linear_1", "linear_2"), "multi_modal_projector.")


def kimi(top: Keys, text: int, names: Sequence[str] = ("proj.0", "proj.2"),
         projector: str = "mm_projector.") -> list[Block]:  # fmt: skip
    """MoonViT of Kimi K2.5: biases, a square position table, a patch merger as projector."""
    k, root = top.section("vision_config"), "vision_tower."
    old = k.has("vt_hidden_size")  # the published files prefix the tower's keys with vt_
    hidden = k.integer("vt_hidden_size" if old else "hidden_size", 1152)
    layers = k.integer("vt_num_hidden_layers" if old else "num_hidden_layers", 27, most=1000)
    width = k.integer("vt_intermediate_size" if old else "intermediate_size", 4304)
    rows = k.integer("init_pos_emb_height", 64) * k.integer("init_pos_emb_width", 64)
    edge = side(k, "patch_size", 14)
    kernel = k.items("merge_kernel_size", [2, 2], most=2) or [2, 2]
    merged = hidden * Keys({"merge": kernel[0]}).integer("merge") * Keys({"merge": kernel[-1]}).integer("merge")
    outside = (
        patches("patch_embed.proj", hidden, 3, edge, edge, bias=True),
        positions("patch_embed.pos_emb", rows, hidden),
        norm("encoder.final_layernorm", hidden, bias=True),
    )
    return [
        *tower(root + "encoder.blocks.{i}.", layers, layer(hidden, width, MOON), outside, root),
        outer(norm("pre_norm", hidden, bias=True), linear(names[0], merged, merged, "projector", bias=True),
              linear(names[1], text, merged, "projector", bias=True), prefix=projector, part="projector"),
    ]  # fmt: skip


def minimax_m3(top: Keys, text: int) -> list[Block]:
    """MiniMax-M3: CLIP-like blocks with rotary positions, a projector before and after the patch merge."""
    k, root = top.section("vision_config"), "vision_tower.vision_model."
    hidden, edge = k.integer("hidden_size", 1280), side(k, "patch_size", 14)
    nested = k.section("img_token_compression_config")
    merge = (nested if nested.has("spatial_merge_size") else k).integer("spatial_merge_size", 2)
    time = (nested if nested.has("temporal_patch_size") else k).integer("temporal_patch_size", 2)
    wide = top.integer("projector_hidden_size", text)
    outside = (
        patches("embeddings.proj", hidden, k.integer("num_channels", 3), time, edge, edge, bias=False),
        norm("pre_layrnorm", hidden, bias=True),
    )
    layers = k.integer("num_hidden_layers", 32, most=1000)
    return [
        *tower(root + "encoder.layers.{i}.", layers, layer(hidden, k.integer("intermediate_size", 5120), CLIP),
               outside, root),
        outer(linear("linear_1", wide, hidden, "projector", bias=True),
              linear("linear_2", text, wide, "projector", bias=True),
              linear("merge_linear_1", wide, text * merge * merge, "projector", bias=True),
              linear("merge_linear_2", text, wide, "projector", bias=True),
              prefix="multi_modal_projector.", part="projector"),
    ]  # fmt: skip


def step3p7(top: Keys, text: int) -> list[Block]:
    """Step-3.7: perception encoder with layer scales, two strided convolutions, one projection."""
    k, root = top.section("vision_config"), "vision_model."
    hidden, layers = _any(k, ("width", "hidden_size"), 1536), _any(k, ("layers", "num_hidden_layers"), 47)
    edge = side(k, "patch_size", 14)
    width = round(hidden * k.number("mlp_ratio", 8960 / 1536, least=1 / 64, most=64))
    outside = (
        patches("embeddings.patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=False),
        positions("embeddings.position_embedding", grid(k, 728, 14), hidden),
        norm("pre_layernorm", hidden, bias=True),
        Matrix("downsampler1", 2 * hidden, 9 * hidden, "vision", "conv", 2 * hidden),
        Matrix("downsampler2", 4 * hidden, 18 * hidden, "vision", "conv", 4 * hidden),
    )
    names = CLIP._replace(norms=INTERNVL.norms)
    matrices = layer(hidden, width, names, extra=[vector(f"lambda_{n}", hidden, "vision") for n in (1, 2)])
    projector = linear("multi_modal_projector", text, 4 * hidden, "projector", bias=top.flag("projector_bias"))
    return [*tower(root + "layers.{i}.", layers, matrices, outside, root), outer(projector, part="projector")]


def _any(k: Keys, names: tuple[str, str], default: int) -> int:
    name = next((n for n in names if n in k.data), names[0])
    return k.integer(name, default, most=100_000)


def ernie4_5_vl(top: Keys, text: int) -> list[Block]:
    """ERNIE 4.5-VL: Qwen2-VL-like blocks and a resampler over space and time.

    The resampler counts as part of the language model, as its parameters do in the model's published split; text tokens
    do not pass through it, so its matrices are no matrix products of theirs.
    """
    k, root = top.section("vision_config"), "model.vision_tower."
    hidden, edge = k.integer("hidden_size", 1280), side(k, "patch_size", 14)
    space = hidden * k.integer("spatial_merge_size", 2) ** 2
    moments = space * k.integer("temporal_merge_size", 2)
    outside = (
        Matrix("patch_embed.proj", hidden, channels(k) * edge * edge, "vision"),
        norm("ln", hidden, bias=True),
    )
    matrices = layer(hidden, k.integer("intermediate_size", 4 * hidden), QWEN)
    resampler = [
        *(linear(f"spatial_linear.{n}", space, space, "projector", bias=True) for n in ("fc1", "fc2")),
        linear("temporal_linear.fc1", space, moments, "projector", bias=True),
        linear("temporal_linear.fc2", space, space, "projector", bias=True),
        linear("mlp", text, space, "projector", bias=True),
    ]
    return [
        *tower(root + "blocks.{i}.", depth(k, 32), matrices, outside, root),
        outer(
            *(replace(m, kind="vector") for m in resampler),
            norm("spatial_linear.ln", space, bias=True), norm("temporal_linear.ln", space, bias=True),
            norm("after_norm", text), prefix="model.resampler_model.",
        ),
    ]  # fmt: skip
