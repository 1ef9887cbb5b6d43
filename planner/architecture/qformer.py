"""BLIP-2 and InstructBLIP: a ViT-g, and a small transformer (Q-Former) that asks it with learnt queries.

Shapes and absent keys: transformers 5.24 classes.
"""

from __future__ import annotations

from planner.architecture.builders import linear, norm, outer, table, vector
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.vision import INTERNVL, grid, layer, patches, positions, side, tower

EVA = INTERNVL._replace(attention=("self_attn.qkv", "self_attn.projection"), norms=("layer_norm1", "layer_norm2"))


def blip_vision(k: Keys, root: str) -> tuple[list[Block], int]:
    """The image encoder of BLIP-2."""
    hidden, edge = k.integer("hidden_size", 1408), side(k, "patch_size", 14)
    outside = (
        vector("embeddings.class_embedding", hidden, "vision"),
        patches("embeddings.patch_embedding", hidden, 3, edge, edge, bias=True),
        positions("embeddings.position_embedding", grid(k, 224, 14) + 1, hidden),
        norm("post_layernorm", hidden, bias=True),
    )
    matrices = layer(hidden, k.integer("intermediate_size", 6144), EVA, qkv_bias=k.flag("qkv_bias", True))
    return tower(root + "encoder.layers.{i}.", k.integer("num_hidden_layers", 39, most=1000), matrices, outside,
                 root), hidden  # fmt: skip


def _attention(prefix: str, hidden: int, source: int) -> tuple[Matrix, ...]:
    """BERT's attention, to vectors as wide as `source`, with its norm."""
    names = (("query", hidden), ("key", source), ("value", source))
    return (
        *(linear(f"{prefix}attention.{name}", hidden, cols, "projector", bias=True) for name, cols in names),
        linear(f"{prefix}output.dense", hidden, hidden, "projector", bias=True),
        norm(f"{prefix}output.LayerNorm", hidden, bias=True),
    )


def _feed(kind: str, hidden: int, width: int) -> tuple[Matrix, ...]:
    return (
        linear(f"intermediate{kind}.dense", width, hidden, "projector", bias=True),
        linear(f"output{kind}.dense", hidden, width, "projector", bias=True),
        norm(f"output{kind}.LayerNorm", hidden, bias=True),
    )


def queries(k: Keys, source: int, root: str, words: bool) -> list[Block]:
    """Every n-th layer attends to the image; with `words` it has tables to read the instruction with."""
    hidden, layers = k.integer("hidden_size", 768), k.integer("num_hidden_layers", 12, most=1000)
    width, every = k.integer("intermediate_size", 3072), k.integer("cross_attention_frequency", 2, most=1000)
    own = (*_attention("attention.", hidden, hidden), *_feed("_query", hidden, width))
    own += _feed("", hidden, width) if words or k.flag("use_qformer_text_input") else ()
    tables = (
        table("embeddings.word_embeddings", k.integer("vocab_size", 30522), hidden, "projector"),
        table("embeddings.position_embeddings", k.integer("max_position_embeddings", 512), hidden, "projector"),
    ) if words else ()  # fmt: skip
    looking = (*own, *_attention("crossattention.", hidden, source))
    return [
        outer(*tables, norm("embeddings.layernorm" if words else "layernorm", hidden, bias=True), prefix=root,
              part="projector"),
        Block(root + "encoder.layer.{i}.", tuple(range(0, layers, every)), looking, part="projector"),
        Block(root + "encoder.layer.{i}.", tuple(i for i in range(layers) if i % every), own, part="projector"),
    ]  # fmt: skip


def blip2(top: Keys, text: int, words: bool = False) -> list[Block]:
    """BLIP-2: ViT-g, a Q-Former of 32 queries, one projection."""
    blocks, wide = blip_vision(top.section("vision_config"), "vision_model.")
    k = top.section("qformer_config")
    hidden = k.integer("hidden_size", 768)
    return [
        *blocks, *queries(k, wide, "qformer.", words),
        outer(table("query_tokens", top.integer("num_query_tokens", 32), hidden, "projector"),
              linear("language_projection", text, hidden, "projector", bias=True), part="projector"),
    ]  # fmt: skip


def instructblip(top: Keys, text: int) -> list[Block]:
    """InstructBLIP: its Q-Former reads the instruction too."""
    return blip2(top, text, words=True)
