"""Encoders of images and sound that many models share: CLIP, SigLIP, Pixtral, InternViT, DINOv2, Whisper.

Each gives its blocks and its width. Shapes and absent-key meanings: transformers 5.24 classes of the same names.
"""

from __future__ import annotations

from planner.architecture.builders import linear, norm, vector
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix, Part, Role
from planner.architecture.vision import (
    CLIP,
    INTERNVL,
    PIXTRAL,
    QWEN,
    WHISPER,
    Names,
    grid,
    layer,
    patches,
    positions,
    side,
    tower,
)


def clip(k: Keys, root: str = "vision_tower.vision_model.", patch: int = 32) -> tuple[list[Block], int]:
    """CLIP's image encoder; all layers are stored, also those behind the one whose features are used."""
    hidden, layers = k.integer("hidden_size", 768), k.integer("num_hidden_layers", 12, most=1000)
    count, edge = grid(k, 224, patch), side(k, "patch_size", patch)
    outside = (
        vector("embeddings.class_embedding", hidden, "vision"),
        patches("embeddings.patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=False),
        positions("embeddings.position_embedding", count + 1, hidden),
        norm("pre_layrnorm", hidden, bias=True),
        norm("post_layernorm", hidden, bias=True),
    )
    matrices = layer(hidden, k.integer("intermediate_size", 3072), CLIP)
    return tower(root + "encoder.layers.{i}.", layers, matrices, outside, root), hidden


def siglip(k: Keys, root: str = "vision_tower.vision_model.", *, size: int = 768, image: int = 224, patch: int = 16,
           has_head: bool = True, rows: int | None = None) -> tuple[list[Block], int]:  # fmt: skip
    """SigLIP's image encoder, with an attention pooling head where `vision_use_head` says so.

    rows  entries of the position table (default: patches of a square image)
    """
    hidden, layers = k.integer("hidden_size", size), k.integer("num_hidden_layers", 12, most=1000)
    width, edge = k.integer("intermediate_size", 3072), side(k, "patch_size", patch)
    count = grid(k, image, patch) if rows is None else rows
    outside = [
        patches("embeddings.patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=True),
        positions("embeddings.position_embedding", count, hidden),
        norm("post_layernorm", hidden, bias=True),
    ]
    if k.flag("vision_use_head", True) if has_head else False:
        outside += [
            vector("head.probe", hidden, "vision"),
            linear("head.attention.in_proj", 3 * hidden, hidden, "vision", bias=True),
            linear("head.attention.out_proj", hidden, hidden, "vision", bias=True),
            norm("head.layernorm", hidden, bias=True),
            linear("head.mlp.fc1", width, hidden, "vision", bias=True),
            linear("head.mlp.fc2", hidden, width, "vision", bias=True),
        ]
    return tower(root + "encoder.layers.{i}.", layers, layer(hidden, width, CLIP), outside, root), hidden


def pixtral(k: Keys, root: str = "vision_tower.") -> tuple[list[Block], int]:
    """Pixtral's image encoder: rotary positions, gated MLP, no biases."""
    hidden, layers = k.integer("hidden_size", 1024), k.integer("num_hidden_layers", 24, most=1000)
    edge = side(k, "patch_size", 16)
    outside = (
        patches("patch_conv", hidden, k.integer("num_channels", 3), edge, edge, bias=False),
        norm("ln_pre", hidden),
    )
    matrices = layer(hidden, k.integer("intermediate_size", 4096), PIXTRAL, bias=False, norm_bias=False)
    return tower(root + "transformer.layers.{i}.", layers, matrices, outside, root), hidden


def internvl(k: Keys, root: str = "vision_tower.") -> tuple[list[Block], int]:
    """InternViT: layer scales, biases on outputs and MLPs."""
    hidden, layers = k.integer("hidden_size", 1024), k.integer("num_hidden_layers", 24, most=1000)
    edge, count = side(k, "patch_size", 14), grid(k, 448, 14)
    outside = [
        vector("embeddings.cls_token", hidden, "vision"),
        patches("embeddings.patch_embeddings.projection", hidden, k.integer("num_channels", 3), edge, edge, bias=True),
    ]
    if k.flag("use_absolute_position_embeddings", True):
        outside.append(positions("embeddings.position_embeddings", count + 1, hidden))
    if k.flag("use_mask_token"):
        outside.append(vector("embeddings.mask_token", hidden, "vision"))
    if not k.flag("use_mean_pooling", True):
        outside.append(norm("layernorm", hidden, bias=True))
    scales = [vector(f"lambda_{n}", hidden, "vision") for n in (1, 2)]
    if k.flag("use_qk_norm"):
        scales += [norm(f"attention.{n}_norm", hidden) for n in "qk"]
    matrices = layer(
        hidden, k.integer("intermediate_size", 4096), INTERNVL, extra=scales,
        qkv_bias=k.flag("attention_bias", k.data.get("model_type") == "qianfan_ocr_vision"),
        norm_bias=k.text("norm_type", "layer_norm") == "layer_norm",
    )  # fmt: skip
    return tower(root + "encoder.layer.{i}.", layers, matrices, outside, root), hidden


def intern_vit(k: Keys, root: str = "vision_model.") -> tuple[list[Block], int]:
    """InternViT as first published: 300M (LayerNorm, biases) and 6B (RMS norms, norms of queries and keys)."""
    hidden, layers = k.integer("hidden_size", 3200), k.integer("num_hidden_layers", 48, most=1000)
    edge, count = side(k, "patch_size", 14), grid(k, 224, 14)
    outside = (
        vector("embeddings.class_embedding", hidden, "vision"),
        patches("embeddings.patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=True),
        positions("embeddings.position_embedding", count + 1, hidden),
    )
    extra = [vector(f"ls{n}", hidden, "vision") for n in (1, 2)]
    if k.flag("qk_normalization", True):
        extra += [norm(f"attn.{n}_norm", hidden) for n in "qk"]
    matrices = layer(
        hidden, k.integer("intermediate_size", 12800), QWEN, qkv_bias=k.flag("qkv_bias"), extra=extra,
        norm_bias=k.text("norm_type", "rms_norm") == "layer_norm",
    )  # fmt: skip
    return tower(root + "encoder.layers.{i}.", layers, matrices, outside, root), hidden


def dinov2(k: Keys, root: str = "vision_tower.") -> tuple[list[Block], int]:
    """DINOv2: class and mask tokens, layer scales, biases."""
    hidden, layers = k.integer("hidden_size", 768), k.integer("num_hidden_layers", 12, most=1000)
    edge, count = side(k, "patch_size", 14), grid(k, 224, 14)
    if k.flag("use_swiglu_ffn"):
        raise k.refuse("A DINOv2 tower with use_swiglu_ffn is not known to the planner.")
    outside = (
        vector("embeddings.cls_token", hidden, "vision"),
        vector("embeddings.mask_token", hidden if k.flag("use_mask_token", True) else 0, "vision"),
        patches("embeddings.patch_embeddings.projection", hidden, k.integer("num_channels", 3), edge, edge, bias=True),
        positions("embeddings.position_embeddings", count + 1, hidden),
        norm("layernorm", hidden, bias=True),
    )
    names = Names(
        (*(f"attention.attention.{n}" for n in ("query", "key", "value")), "attention.output.dense"),
        ("mlp.fc1", "mlp.fc2"), ("norm1", "norm2"),
    )  # fmt: skip
    matrices = layer(
        hidden, k.integer("mlp_ratio", 4) * hidden, names, qkv_bias=k.flag("qkv_bias", True),
        extra=[vector(f"layer_scale{n}.lambda1", hidden, "vision") for n in (1, 2)],
    )  # fmt: skip
    return tower(root + "encoder.layer.{i}.", layers, matrices, outside, root), hidden


def whisper_encoder(k: Keys, root: str, part: Part = "audio", role: Role = "audio") -> tuple[list[Block], int]:
    """Whisper's sound encoder: two convolutions, stored sinusoidal positions, no bias on keys."""
    hidden = k.integer("hidden_size", 1280)
    # The usual names also answer to `decoder_layers` and `decoder_ffn_dim`, which say nothing of the encoder.
    plain = "encoder_layers" not in k.data and "num_hidden_layers" in k.data
    layers = k.integer("num_hidden_layers" if plain else "encoder_layers", 32, most=1000)
    plain = "encoder_ffn_dim" not in k.data and "intermediate_size" in k.data
    width = k.integer("intermediate_size" if plain else "encoder_ffn_dim", 5120)
    outside = (
        Matrix("conv1", hidden, 3 * k.integer("num_mel_bins", 128), role, "conv", hidden),
        Matrix("conv2", hidden, 3 * hidden, role, "conv", hidden),
        positions("embed_positions", k.integer("max_source_positions", 1500), hidden, role),
        norm("layer_norm", hidden, bias=True),
    )
    matrices = layer(hidden, width, WHISPER, key_bias=False, role=role)
    return tower(root + "layers.{i}.", layers, matrices, outside, root, part), hidden
