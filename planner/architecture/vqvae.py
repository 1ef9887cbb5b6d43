"""Images as words: the tokenizers (VQ-VAE) of Chameleon and Janus, and Janus's towers.

An encoder of convolutions halves the image level by level to a grid of vectors, each replaced by the nearest of a
codebook; Janus has the decoder too, which turns words back into an image. Shapes and absent keys: transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import linear, norm, outer, table
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.vision import INTERNVL, grid, layer, patches, positions, side, tower

JANUS = INTERNVL._replace(
    attention=tuple(f"self_attn.{n}" for n in ("q_proj", "k_proj", "v_proj", "projection_layer")),
    norms=("layer_norm1", "layer_norm2"),
)


def convolved(name: str, out: int, into: int, kernel: int = 3) -> Matrix:
    """A square convolution with a bias."""
    return Matrix(name, out, into * kernel * kernel, "vision", "conv", out)


def _residual(name: str, into: int, out: int) -> list[Matrix]:
    shortcut = [convolved(f"{name}.nin_shortcut", out, into, 1)] if into != out else []
    return [
        norm(f"{name}.norm1", into, bias=True), convolved(f"{name}.conv1", out, into),
        norm(f"{name}.norm2", out, bias=True), convolved(f"{name}.conv2", out, out), *shortcut,
    ]  # fmt: skip


def _attention(name: str, width: int) -> list[Matrix]:
    parts = (convolved(f"{name}.{part}", width, width, 1) for part in ("q", "k", "v", "proj_out"))
    return [norm(f"{name}.norm", width, bias=True), *parts]


def _middle(name: str, width: int, attends: bool) -> list[Matrix]:
    between = _attention(f"{name}.attn_1", width) if attends else []
    return [*_residual(f"{name}.block_1", width, width), *between, *_residual(f"{name}.block_2", width, width)]


def _levels(k: Keys) -> list[int]:
    """Channels of each level, from the whole image to the smallest grid."""
    base, times = k.integer("base_channels", 128), k.items("channel_multiplier", [1, 1, 2, 2, 4], most=16) or [1]
    if not all(isinstance(t, int) and 0 < t < 10_000 for t in times):
        raise k.refuse("channel_multiplier holds something else than whole numbers. Correct it and paste again.")
    return [base * t for t in times]


def vq_encoder(k: Keys, root: str, attending: list[bool], middle: bool = True) -> list[Block]:
    """Encoder and codebook.

    attending  which levels have attention after each residual block
    middle     whether the smallest grid has it once more
    """
    levels, latent, size = _levels(k), k.integer("latent_channels", 256), k.integer("embed_dim", 256)
    blocks, into = k.integer("num_res_blocks", 2, most=100), k.integer("base_channels", 128)
    parts = [convolved("encoder.conv_in", into, k.integer("in_channels", 3))]
    for level, width in enumerate(levels):
        for b in range(blocks):
            parts += _residual(f"encoder.down.{level}.block.{b}", into, width)
            parts += _attention(f"encoder.down.{level}.attn.{b}", width) if attending[level] else []
            into = width
        if level != len(levels) - 1:
            parts.append(convolved(f"encoder.down.{level}.downsample.conv", width, width))
    doubled = 2 * latent if k.flag("double_latent") else latent
    parts += [
        *_middle("encoder.mid", into, middle), norm("encoder.norm_out", into, bias=True),
        convolved("encoder.conv_out", doubled, into),
        table("quantize.embedding", k.integer("num_embeddings", 8192), size, "vision"),
        convolved("quant_conv", size, latent, 1), convolved("post_quant_conv", latent, size, 1),
    ]  # fmt: skip
    return [outer(*parts, prefix=root, part="vision")]


def vq_decoder(k: Keys, root: str) -> list[Block]:
    """The way back, with one residual block more per level and attention at the smallest grid."""
    levels, blocks = _levels(k), k.integer("num_res_blocks", 2, most=100)
    into = levels[-1]
    parts = [convolved("decoder.conv_in", into, k.integer("latent_channels", 256)), *_middle("decoder.mid", into, True)]
    for up, width in enumerate(reversed(levels)):
        for b in range(blocks + 1):
            parts += _residual(f"decoder.up.{up}.block.{b}", into, width)
            parts += _attention(f"decoder.up.{up}.attn.{b}", width) if up == 0 else []
            into = width
        if up != len(levels) - 1:
            parts.append(convolved(f"decoder.up.{up}.upsample.conv", width, width))
    parts += [norm("decoder.norm_out", into, bias=True),
              convolved("decoder.conv_out", k.integer("out_channels", 3), into)]  # fmt: skip
    return [outer(*parts, prefix=root, part="vision")]


def _aligner(k: Keys, name: str, into: int, layers: int) -> list[Matrix]:
    wide = k.integer("projection_dim", 2048)
    return [
        linear(f"{name}.fc1", wide, into, "projector", bias=True),
        *(linear(f"{name}.hidden_layers.{i}", wide, wide, "projector", bias=True) for i in range(layers - 1)),
    ]


def janus(top: Keys, text: int) -> list[Block]:
    """Janus: a tower to see with, and a tokenizer with a head of its own to draw with."""
    k, vq = top.section("vision_config"), top.section("vq_config", {"embed_dim": 8, "num_embeddings": 16384})
    hidden, edge = k.integer("hidden_size", 1024), side(k, "patch_size", 16)
    outside = (
        patches("embeddings.patch_embedding", hidden, k.integer("num_channels", 3), edge, edge, bias=True),
        positions("embeddings.position_embedding", grid(k, 384, 16), hidden), norm("post_layernorm", hidden, bias=True),
    )  # fmt: skip
    bias, qk = k.flag("attention_bias", True), k.flag("use_qk_norm")
    extra = [norm(f"self_attn.{n}_norm", hidden, bias=True) for n in "qk"] if qk else []
    width, root = round(hidden * k.number("mlp_ratio", 4.0)), "model.vision_model."
    matrices = layer(hidden, width, JANUS, qkv_bias=bias, extra=extra)
    size, words = vq.integer("embed_dim", 8), vq.integer("num_embeddings", 16384)
    drawn, wide = vq.integer("image_token_embed_dim", 2048), vq.integer("projection_dim", 2048)
    smallest = [level == len(_levels(vq)) - 1 for level in range(len(_levels(vq)))]
    return [
        *tower(root + "encoder.layers.{i}.", k.integer("num_hidden_layers", 24, most=1000), matrices, outside, root),
        *vq_encoder(vq, "model.vqmodel.", smallest), *vq_decoder(vq, "model.vqmodel."),
        outer(
            *_aligner(k, "aligner", hidden, k.integer("depth", 2, most=100)),
            table("generation_embeddings", words, size, "projector"),
            *_aligner(vq, "generation_aligner", size, vq.integer("num_hidden_layers", 2, most=100)),
            linear("generation_head.proj_out", wide, drawn, "projector", bias=True),
            linear("generation_head.vision_head", words, wide, "projector", bias=True),
            prefix="model.", part="projector",
        ),
    ]  # fmt: skip


def chameleon_tokenizer(k: Keys) -> list[Block]:
    """Chameleon's image tokenizer, the encoder alone."""
    levels, at = _levels(k), k.integer("resolution", 512)
    named = k.items("attn_resolutions", None, most=100) or []
    vanilla = k.text("attn_type", "vanilla") == "vanilla"
    attending = [vanilla and at >> level in named for level in range(len(levels))]
    return vq_encoder(k, "model.vqmodel.", attending, vanilla)
