"""Image towers of models whose code lies beside the checkpoint: Phi-3 Vision, MiniCPM-V, DeepSeek-OCR.

Each takes the whole config and the language model's width. Sources: that code, and the tensor lists of the checkpoints;
`tests/data/published_totals.json` has the totals that these towers complete.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, Final

from planner.architecture.builders import linear, norm, table, vector
from planner.architecture.encoders import clip, siglip
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.projectors import project, unknown
from planner.architecture.sam import sam

# CLIP ViT-L/14: Phi-3 Vision names it, DeepSeek-OCR gives its sizes.
CLIP_LARGE: Final = {
    "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_attention_heads": 16,
    "patch_size": 14, "image_size": 336,
}  # fmt: skip
PHI3_TOWER: Final = "openai/clip-vit-large-patch14-336"


def phi3_v(top: Keys, text: int) -> list[Block]:
    """Phi-3 and 3.5 Vision: CLIP by its name, two projections of four patches side by side, two separators."""
    k, root = top.section("img_processor"), "model.vision_embed_tokens."
    if k.text("model_name", PHI3_TOWER) != PHI3_TOWER:
        return unknown(top, text)
    blocks, wide = clip(Keys(CLIP_LARGE), root + "img_processor.vision_model.")
    merged = 4 * wide
    return [*blocks, project(
        linear("img_projection.0", text, merged, "projector", bias=True),
        linear("img_projection.2", text, text, "projector", bias=True),
        vector("glb_GN", merged, "projector"), vector("sub_GN", merged, "projector"), root=root,
    )]  # fmt: skip


def minicpmv(top: Keys, text: int) -> list[Block]:
    """MiniCPM-V: SigLIP without a head, and learnt queries that ask its patches in one cross-attention."""
    k = top.section("vision_config")
    if top.flag("drop_vision_last_layer"):
        k.data = {**k.data, "num_hidden_layers": k.integer("num_hidden_layers", 12, least=2, most=1000) - 1}
    blocks, wide = siglip(k, "vpm.", has_head=False)
    return [*blocks, project(
        table("query", top.integer("query_num", 64), text, "projector"),
        linear("kv_proj", text, wide, "projector"),
        linear("attn.in_proj", 3 * text, text, "projector", bias=True),
        linear("attn.out_proj", text, text, "projector", bias=True),
        *(norm(name, text, bias=True) for name in ("ln_q", "ln_kv", "ln_post")),
        linear("proj", text, text, "projector"), root="resampler.",
    )]  # fmt: skip


def deepseek_ocr(top: Keys, text: int) -> list[Block]:
    """DeepSeek-OCR: SAM, its map shrunk sixteenfold, CLIP over that, one projection of both; others are not known."""
    widths: Any = top.section("vision_config").data.get("width")
    if not isinstance(widths, Mapping):  # DeepSeek-VL2 gives the width of one tower
        return unknown(top, text)
    k = top.section("vision_config").section("width")
    small, large = k.section("sam_vit_b"), k.section("clip-l-14-224")
    first, out = sam(Keys({
        "hidden_size": small.integer("width", 768), "num_attention_heads": small.integer("heads", 12),
        "num_hidden_layers": small.integer("layers", 12, most=1000), "image_size": 1024,
        "global_attn_indexes": small.items("global_attn_indexes", [2, 5, 8, 11]),
    }, small.where), "model.sam_model.")  # fmt: skip
    steps = [out, *_channels(small)]
    hidden = large.integer("width", 1024)
    then, wide = clip(Keys(CLIP_LARGE | {
        "hidden_size": hidden, "intermediate_size": 4 * hidden,
        "num_hidden_layers": large.integer("layers", 24, most=1000),
        "num_attention_heads": large.integer("heads", 16), "patch_size": large.integer("patch_size", 14),
        "image_size": large.integer("image_size", 224),
    }, large.where), "model.vision_model.")  # fmt: skip
    no_last_norm = Block(then[0].prefix, then[0].layers, tuple(m for m in then[0].matrices if "post_" not in m.name),
                         part="vision")  # fmt: skip
    shrink = tuple(
        Matrix(f"sam_model.net_{n}", rows, 9 * cols, "vision", "conv")
        for n, (cols, rows) in enumerate(pairwise(steps), 2)
    )
    both = top.section("projector_config").integer("input_dim", wide + steps[-1])
    return [
        *first, no_last_norm, *then[1:], Block("model.", (0,), shrink, part="vision"),
        project(linear("projector.layers", text, both, "projector", bias=True),
                vector("image_newline", text, "projector"), vector("view_seperator", text, "projector"), root="model."),
    ]  # fmt: skip


def _channels(k: Keys) -> list[int]:
    """Channels after each of the convolutions that shrink the map."""
    given = k.items("downsample_channels", [512, 1024], most=8) or []
    return [Keys({"downsample_channels": c}, k.where).integer("downsample_channels", most=10**6) for c in given]
