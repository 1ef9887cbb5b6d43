"""SAM's image encoder, for documents and fine print: GOT-OCR 2 and DeepSeek-VL's larger model.

Attention works in windows with relative positions; a few layers see the whole image. A neck of convolutions narrows
the result. Shapes and absent keys: transformers 5.24 classes.
"""

from __future__ import annotations

from planner.architecture.builders import linear, norm, outer, vector
from planner.architecture.encoders import siglip
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.projectors import project
from planner.architecture.vision import QWEN, layer, patches, positions, side

SAM = QWEN._replace(mlp=("mlp.lin1", "mlp.lin2"), norms=("layer_norm1", "layer_norm2"))


def sam(k: Keys, root: str) -> tuple[list[Block], int]:
    """The encoder with its neck, and how many channels that gives."""
    hidden, heads = k.integer("hidden_size", 768), k.integer("num_attention_heads", 12)
    across = max(side(k, "image_size", 1024) // side(k, "patch_size", 16), 1)
    edge, out = side(k, "patch_size", 16), k.integer("output_channels", 256)
    layers, window = k.integer("num_hidden_layers", 12, most=1000), k.integer("window_size", 14, least=0)
    width = k.integer("mlp_dim", 4 * hidden, null=4 * hidden)
    whole = k.items("global_attn_indexes", [2, 5, 8, 11]) or []
    wide = window if window else across
    outside = [patches("patch_embed.projection", hidden, k.integer("num_channels", 3), edge, edge, bias=True)]
    if k.flag("use_abs_pos", True):
        outside.append(positions("pos_embed", across * across, hidden))
    relative = k.flag("use_rel_pos", True)

    def matrices(rows: int) -> tuple[Matrix, ...]:
        tables = [
            positions(f"attn.rel_pos_{way}", 2 * rows - 1, hidden // heads) for way in "hw"
        ] if relative else []  # fmt: skip
        return layer(hidden, width, SAM, qkv_bias=k.flag("qkv_bias", True), extra=tables)

    blocks = [
        Block(root + "layers.{i}.", numbers, matrices(rows), part="vision")
        for rows, numbers in (
            (wide, tuple(i for i in range(layers) if i not in whole)),
            (across, tuple(i for i in range(layers) if i in whole)),
        )
    ]  # fmt: skip
    return [outer(*outside, *neck(hidden, out), prefix=root, part="vision"), *blocks], out


def neck(hidden: int, out: int, prefix: str = "neck.") -> tuple[Matrix, ...]:
    """Two convolutions with norms, from the encoder's width to its channels."""
    return (
        Matrix(f"{prefix}conv1", out, hidden, "vision", "conv"), norm(f"{prefix}layer_norm1", out, bias=True),
        Matrix(f"{prefix}conv2", out, 9 * out, "vision", "conv"), norm(f"{prefix}layer_norm2", out, bias=True),
    )  # fmt: skip


def got_ocr2(top: Keys, text: int) -> list[Block]:
    """GOT-OCR 2: SAM and two convolutions that shrink its map sixteenfold."""
    blocks, out = sam(top.section("vision_config"), "model.vision_tower.")
    return [*blocks, project(
        Matrix("conv_upsampler1", 2 * out, 9 * out, "projector", "conv"),
        Matrix("conv_upsampler2", text, 9 * 2 * out, "projector", "conv"),
        linear("multimodal_projector", text, text, "projector", bias=True), root="model.multi_modal_projector.",
    )]  # fmt: skip


def deepseek_vl_hybrid(top: Keys, text: int) -> list[Block]:
    """DeepSeek-VL 7B: SigLIP for the whole image beside SAM for its detail, each half of what the model reads."""
    small, wide = siglip(top.section("vision_config"), "model.vision_model.")
    k = top.section("high_res_vision_config")
    large, out = sam(k, "model.high_res_vision_model.")
    half = text // 2
    return [
        *small, *large,
        outer(*neck(k.integer("hidden_size", 768), out, "high_res_vision_neck."),
              vector("high_res_vision_alpha", 1, "vision"),
              Matrix("high_res_vision_proj.conv1", 2 * out, 9 * out, "projector", "conv"),
              Matrix("high_res_vision_proj.conv2", 4 * out, 9 * 2 * out, "projector", "conv"),
              linear("aligner.vision_proj", half, wide, "projector", bias=True),
              linear("aligner.high_res_vision_proj", half, 4 * out, "projector", bias=True),
              linear("aligner.proj", text, text, "projector", bias=True), prefix="model.", part="projector"),
    ]  # fmt: skip
