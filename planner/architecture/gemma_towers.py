"""What Gemma 3n and Gemma 4 see and hear with.

Each takes the whole config and the language model's width. Shapes: tensor lists of transformers 5.24 and its config
classes (absent keys).
"""

from __future__ import annotations

from planner.architecture import conformer, mobilenet
from planner.architecture.builders import linear, norm, outer, table
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.projectors import unknown
from planner.architecture.vision import GEMMA4, layer, positions, side, tower


def gemma3n(top: Keys, text: int) -> list[Block]:
    """Gemma 3n: MobileNet V5 for images, a Conformer for sound, and for each a small vocabulary of its own."""
    seen, heard = top.section("vision_config"), top.section("audio_config")
    if top.data.get("audio_config") is None or seen.text("architecture", mobilenet.NAME) != mobilenet.NAME:
        return unknown(top, text)
    pictures, wide = mobilenet.mobilenet_v5("model.vision_tower.timm_model.")
    sounds, deep = conformer.gemma3n(heard, "model.audio_tower.")
    return [*pictures, *sounds, *(
        outer(
            table("embedding", k.integer("vocab_size", 128), width, "projector"),
            norm("hard_embedding_norm", width), norm("soft_embedding_norm", width),
            linear("embedding_projection", text, width, "projector"), prefix=f"model.{name}.", part="projector",
        )
        for k, width, name in ((seen, wide, "embed_vision"), (heard, deep, "embed_audio"))
    )]  # fmt: skip


def gemma4(top: Keys, text: int) -> list[Block]:
    """Gemma 4: a tower for images, and in the small models a Conformer for sound."""
    return [*_gemma4_sight(top, text), *_gemma4_hearing(top, text)]


def _gemma4_hearing(top: Keys, text: int) -> list[Block]:
    if top.data.get("audio_config") is None:
        return []
    blocks, wide = conformer.gemma4(top.section("audio_config"), "model.audio_tower.")
    projector = linear("embedding_projection", text, wide, "projector")
    return [*blocks, outer(projector, prefix="model.embed_audio.", part="projector")]


def _gemma4_sight(top: Keys, text: int) -> list[Block]:
    """Gated blocks with four norms and query and key norms, a two-dimensional position table."""
    if top.data.get("vision_config") is None:
        return []
    k, root = top.section("vision_config"), "model.vision_tower."
    hidden, edge = k.integer("hidden_size", 768), side(k, "patch_size", 16)
    heads, dim = k.integer("num_attention_heads", 12), k.integer("head_dim", 64)
    outside = (
        positions("patch_embedder.position_embedding_table", 2 * k.integer("position_embedding_size", 10240), hidden),
        Matrix("patch_embedder.input_proj", hidden, 3 * edge * edge, "vision"),
    )
    matrices = layer(
        hidden, k.integer("intermediate_size", 3072), GEMMA4, bias=False, norm_bias=False, inner=heads * dim,
        kv=k.integer("num_key_value_heads", heads, null=heads) * dim,
        extra=[norm(f"self_attn.{n}_norm", dim) for n in "qk"],
    )  # fmt: skip
    layers = k.integer("num_hidden_layers", 16, most=1000)
    projector = linear("embedding_projection", text, hidden, "projector")
    return [
        *tower(root + "encoder.layers.{i}.", layers, matrices, outside, root),
        outer(projector, prefix="model.embed_vision.", part="projector"),
    ]
