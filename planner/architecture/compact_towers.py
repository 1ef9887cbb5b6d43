"""Towers and projectors of compact vision, document-reading and listening models: LFM2-VL, Ovis 2, GLM-OCR and others.

Each takes the whole config and the language model's width. Shapes and absent keys: transformers 5.24 classes.
"""

from __future__ import annotations

from planner.architecture.builders import linear, mlp, norm, outer, table, vector
from planner.architecture.encoders import pixtral, siglip, whisper_encoder
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.projectors import project
from planner.architecture.qwen_towers import glm_merger
from planner.architecture.vision import (
    LLAMA,
    QWEN_GATED,
    Names,
    channels,
    depth,
    grid,
    layer,
    patches,
    positions,
    side,
    tower,
)

VISUAL = "model.visual."


def lfm2_vl(top: Keys, text: int) -> list[Block]:
    """LFM2-VL: SigLIP 2 for images of any shape, pixel shuffle, two projections."""
    k = top.section("vision_config")
    blocks, wide = siglip(k, "model.vision_tower.", rows=k.integer("num_patches", 256))
    merged, inner = wide * top.integer("downsample_factor", 2) ** 2, top.integer("projector_hidden_size", 2560)
    bias = top.flag("projector_bias", True)
    return [*blocks, project(
        norm("layer_norm", merged if top.flag("projector_use_layernorm", True) else 0, bias=True),
        linear("linear_1", inner, merged, "projector", bias=bias),
        linear("linear_2", text, inner, "projector", bias=bias), root="model.multi_modal_projector.",
    )]  # fmt: skip


def lighton_ocr(top: Keys, text: int) -> list[Block]:
    """LightOnOCR: Mistral 3's tower and patch merger under other names."""
    blocks, wide = pixtral(top.section("vision_config"), "model.vision_encoder.")
    merge = top.integer("spatial_merge_size", 2)
    return [*blocks, project(
        norm("norm", wide), linear("patch_merger.merging_layer", wide, wide * merge * merge, "projector"),
        linear("linear_1", text, wide, "projector"), linear("linear_2", text, text, "projector"),
        root="model.vision_projection.",
    )]  # fmt: skip


def idefics2(top: Keys, text: int) -> list[Block]:
    """Idefics 2: SigLIP without a head, a gated projection, and a resampler that asks with 64 learnt queries."""
    blocks, wide = siglip(top.section("vision_config"), "model.vision_model.", patch=32, has_head=False)
    p, width = top.section("perceiver_config"), top.section("text_config").integer("intermediate_size", 14336)
    heads, dim, kv = (
        p.integer("resampler_n_heads", 16), p.integer("resampler_head_dim", 96), p.integer("num_key_value_heads", 4),
    )  # fmt: skip
    resampler = (
        linear("self_attn.q_proj", heads * dim, text, "projector"),
        linear("self_attn.k_proj", kv * dim, text, "projector"),
        linear("self_attn.v_proj", kv * dim, text, "projector"),
        linear("self_attn.o_proj", text, heads * dim, "projector"),
        *mlp(text, 4 * text, role="projector"),
        *(norm(name, text) for name in ("input_latents_norm", "input_context_norm", "post_attention_layernorm")),
    )
    count, root = p.integer("resampler_depth", 3, most=1000), "model.connector.perceiver_resampler."
    return [
        *blocks,
        project(linear("gate_proj", width, wide, "projector"), linear("up_proj", width, wide, "projector"),
                linear("down_proj", text, width, "projector"), root="model.connector.modality_projection."),
        project(table("latents", p.integer("resampler_n_latents", 64), text, "projector"), norm("norm", text),
                root=root),
        Block(root + "layers.{i}.", tuple(range(count)), resampler, part="projector"),
    ]  # fmt: skip


def deepseek_vl(top: Keys, text: int) -> list[Block]:
    """DeepSeek-VL: SigLIP and two biased projections."""
    blocks, wide = siglip(top.section("vision_config"), "model.vision_model.")
    return [*blocks, project(linear("linear1", text, wide, "projector", bias=True),
                             linear("linear2", text, text, "projector", bias=True), root="model.aligner.")]  # fmt: skip


def aria(top: Keys, text: int) -> list[Block]:
    """Aria: SigLIP without a head, and cross-attention from learnt queries to the image."""
    blocks, wide = siglip(top.section("vision_config"), "vision_tower.", size=1152, patch=32, has_head=False)
    asked = top.raw("projector_patch_to_query_dict", {"1225": 128, "4900": 256})
    if not isinstance(asked, dict) or not all(isinstance(v, int) and 0 < v < 100_000 for v in asked.values()):
        raise top.refuse(
            "projector_patch_to_query_dict holds something else than numbers of queries. Correct it and paste again."
        )
    return [*blocks, project(
        table("query", max(asked.values(), default=0), wide, "projector"),
        *(linear(f"cross_attn.{name}_proj", wide, wide, "projector") for name in "qkv"),
        linear("cross_attn.multihead_attn.in_proj", 3 * wide, wide, "projector", bias=True),
        linear("cross_attn.multihead_attn.out_proj", wide, wide, "projector", bias=True),
        linear("cross_attn.linear", wide, wide, "projector", bias=True),
        norm("cross_attn.layer_norm", wide, bias=True), norm("cross_attn.layer_norm_kv", wide, bias=True),
        norm("layer_norm", wide, bias=True), linear("feed_forward.linear_in", text, wide, "projector"),
        linear("feed_forward.linear_out", text, text, "projector"),
    )]  # fmt: skip


def ovis2(top: Keys, text: int) -> list[Block]:
    """Ovis 2: an image tower that chooses words of a visual vocabulary, whose table the language model reads."""
    k, root = top.section("vision_config"), "model.vision_tower.transformer."
    hidden, edge = k.integer("hidden_size", 1024), side(k, "patch_size", 14)
    words, stride = k.integer("vocab_size", 16384), k.integer("hidden_stride", 1)
    marks = k.integer("num_visual_indicator_tokens", 5)
    outside = (
        patches("embeddings.patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=True),
        positions("embeddings.position_embedding", grid(k, 224, 14), hidden),
        norm("embeddings.rms_norm", hidden), norm("rms_norm", hidden),
    )  # fmt: skip
    bias = k.flag("qkv_bias")
    names = Names(
        tuple(f"attention.{n}" for n in ("q_proj", "k_proj", "v_proj", "out_proj")),
        ("ffn.gate_proj", "ffn.up_proj", "ffn.down_proj"), ("rms_norm1", "rms_norm2"),
    )  # fmt: skip
    matrices = layer(hidden, k.integer("intermediate_size", 2816), names, bias=bias, mlp_bias=k.flag("mlp_bias"),
                     norm_bias=False)  # fmt: skip
    return [
        *tower(root + "encoder.layers.{i}.", k.integer("num_hidden_layers", 24, most=1000), matrices, outside, root),
        project(linear("head_linear", words - marks, hidden * stride**2, "projector"),
                norm("head_norm", words - marks, bias=True), root="model.vision_tower."),
        project(table("visual_embeddings_table", words, top.integer("hidden_size", text), "projector"), root="model."),
    ]  # fmt: skip


def exaone4_5(top: Keys, text: int) -> list[Block]:
    """EXAONE 4.5: Qwen2.5-VL's tower with grouped-query attention."""
    k = top.section("vision_config")
    hidden, edge, heads = k.integer("hidden_size", 3584), side(k, "patch_size", 14), k.integer("num_heads", 16)
    merged, out = hidden * k.integer("spatial_merge_size", 2) ** 2, k.integer("out_hidden_size", 3584)
    kv = k.integer("num_key_value_heads", 8, null=heads)
    width, rows = k.integer("intermediate_size", 3420), hidden + 2 * kv * (hidden // heads)
    matrices = (
        linear("attn.qkv", rows, hidden, "vision", bias=True), linear("attn.proj", hidden, hidden, "vision", bias=True),
        *mlp(hidden, width, bias=True, role="vision"), norm("norm1", hidden), norm("norm2", hidden),
    )  # fmt: skip
    outside = (
        patches("patch_embed.proj", hidden, channels(k), k.integer("temporal_patch_size", 2), edge, edge, bias=False),
    )
    return [
        *tower(VISUAL + "blocks.{i}.", depth(k, 32), matrices, outside, VISUAL),
        project(norm("ln_q", hidden), linear("mlp.0", merged, merged, "projector", bias=True),
                linear("mlp.2", out, merged, "projector", bias=True), root=VISUAL + "merger."),
    ]  # fmt: skip


def glm5_next(top: Keys, text: int) -> list[Block]:
    """GLM-5.3-Flash: GLM-OCR's tower, its merger as wide as `projection_intermediate_size`."""
    return glm_ocr(top, text, 10240)


def glm_ocr(top: Keys, text: int, width: int = 0) -> list[Block]:
    """GLM-OCR: GLM-V's tower with norms of queries and keys, biases, and no table of positions."""
    k = top.section("vision_config")
    hidden, edge, heads = k.integer("hidden_size", 1024), side(k, "patch_size", 14), k.integer("num_heads", 16)
    merge, out = k.integer("spatial_merge_size", 2), k.integer("out_hidden_size", 1536)
    colours, bias = channels(k), k.flag("attention_bias", True)
    width = k.integer("projection_intermediate_size", width or out * colours)
    outside = (
        patches("patch_embed.proj", hidden, colours, k.integer("temporal_patch_size", 2), edge, edge, bias=True),
        norm("post_layernorm", hidden),
    )
    norms = [norm(f"attn.{n}_norm", hidden // heads) for n in "qk"]
    matrices = layer(hidden, k.integer("intermediate_size", 4096), QWEN_GATED, bias=bias, norm_bias=False, extra=norms)
    return [
        *tower(VISUAL + "blocks.{i}.", depth(k, 24), matrices, outside, VISUAL),
        project(*glm_merger(hidden * merge * merge, out, width), root=VISUAL),
    ]  # fmt: skip


def paddleocr_vl(top: Keys, text: int) -> list[Block]:
    """PaddleOCR-VL: SigLIP without a head, and two biased projections of merged patches."""
    k = top.section("vision_config", {"intermediate_size": 4304, "num_hidden_layers": 27})
    blocks, wide = siglip(k, "model.visual.vision_model.", size=1152, image=384, patch=14, has_head=False)
    merged = wide * k.integer("spatial_merge_size", 2) ** 2
    return [*blocks, project(
        norm("pre_norm", wide, bias=True), linear("linear_1", merged, merged, "projector", bias=True),
        linear("linear_2", text, merged, "projector", bias=True), root="model.projector.",
    )]  # fmt: skip


def hy_v4_vl(top: Keys, text: int) -> list[Block]:
    """Hy4-VL: positions up to the largest image, a convolution that merges patches, a vector for the end of a row."""
    k, root = top.section("vision_config"), "model.vision_tower."
    hidden, edge = k.integer("hidden_size", 1536), side(k, "patch_size", 16)
    rows = (k.integer("max_image_size", 2048, most=100_000) // edge) ** 2 + 1
    merge, out = k.integer("spatial_merge_size", 2, most=1000), k.integer("out_hidden_size", 6144)
    merged = hidden * merge * merge
    outside = (
        patches("embeddings.patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=True),
        positions("embeddings.position_embedding", rows, hidden),
    )
    names = LLAMA._replace(norms=("layer_norm1", "layer_norm2"))
    matrices = layer(hidden, k.integer("intermediate_size", 6144), names)
    return [
        *tower(root + "layers.{i}.", k.integer("num_hidden_layers", 40, most=1000), matrices, outside, root),
        project(
            vector("image_newline", out, "projector"), norm("before_rms", hidden),
            Matrix("proj_conv", merged, merged, "projector", "conv", merged),
            Matrix("proj_out", out, merged, "projector", "conv", out), root=root + "patch_merger.",
        ),
    ]  # fmt: skip


def listening(top: Keys, text: int) -> list[Block]:
    """Audio Flamingo 3 and Music Flamingo: Whisper's encoder and two biased projections."""
    blocks, wide = whisper_encoder(top.section("audio_config"), "audio_tower.")
    bias = top.flag("projector_bias", True)
    return [*blocks, outer(linear("linear_1", text, wide, "projector", bias=bias),
                           linear("linear_2", text, text, "projector", bias=bias),
                           prefix="multi_modal_projector.", part="projector")]  # fmt: skip
