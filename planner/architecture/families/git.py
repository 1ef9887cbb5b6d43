"""GIT (GenerativeImage2Text): BERT-like decoder layers after a CLIP tower. Source: transformers 5.24 tensor list."""

from __future__ import annotations

from planner.architecture.builders import attention, head, join, mlp, norm, outer, stack, table, vector
from planner.architecture.encoders import clip
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix


@family("git")
def git(k: Keys) -> Body:
    """Learnt positions, biases everywhere, an output head with bias."""
    hidden, heads, layers, vocab = (
        k.integer("hidden_size", 768), k.integer("num_attention_heads", 12),
        k.integer("num_hidden_layers", 6, most=1000), k.integer("vocab_size", 30522),
    )  # fmt: skip
    dim = k.head_dim(hidden, heads)
    width = k.integer("intermediate_size", 3072)
    names = ("self.query", "self.key", "self.value", "output.dense")
    one = join(
        attention(hidden, heads, heads, dim, bias=True, prefix="attention.", names=names),
        norm("attention.output.LayerNorm", hidden, bias=True),
        mlp(hidden, width, gated=False, bias=True, prefix="", names=("", "intermediate.dense", "output.dense")),
        norm("output.LayerNorm", hidden, bias=True),
    )
    section = k.section("vision_config")
    # This tower's class has patches of 16 where CLIP's has 32.
    tower, wide = clip(section, "git.image_encoder.vision_model.", patch=16)
    tied = k.tied()
    own_bias = [vector("output.bias", vocab)] if tied else []  # a tied head's bias is a tensor of its own
    projection = (
        Matrix("visual_projection.0", hidden, wide, "projector", bias=hidden),
        norm("visual_projection.1", hidden, bias=True),
    )
    frames = k.integer("num_image_with_embedding", 0, null=0, least=0, most=10_000)  # of a video, each marked
    return Body(
        blocks=[
            outer(
                table("git.embeddings.word_embeddings", vocab, hidden),
                table("git.embeddings.position_embeddings", k.integer("max_position_embeddings", 1024), hidden,
                      "positions"),
                norm("git.embeddings.LayerNorm", hidden, bias=True),
            ),
            *stack([one] * layers, "git.encoder.layer.{i}."),
            outer(head(vocab, hidden, tied=tied, bias=True, name="output"), *own_bias),
            outer(*(vector(f"git.img_temporal_embedding.{i}", wide, "projector") for i in range(frames)),
                  part="projector"),
            *tower,
            outer(*projection, prefix="git.visual_projection.", part="projector"),
        ],
        n_layers=layers, hidden=hidden, vocab=vocab, heads=heads, kv_heads=heads, tied=tied,
    )  # fmt: skip
