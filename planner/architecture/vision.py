"""Towers that turn images or sound into tokens, as lists of matrices, from the nested section that describes them.

Shapes and absent-key meanings: transformers 5.24 classes of the same names. Names are those of the checkpoints.
Positions are lookups, patch projections convolutions (quantizers leave both alone).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planner.architecture.builders import linear, norm, outer, table, vector
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix, Part, Role


class Names(NamedTuple):
    """How a tower calls the matrices of a layer; two attention names: one fused for q, k, v and one for the output."""

    attention: Sequence[str]
    mlp: Sequence[str]
    norms: Sequence[str]


CLIP = Names(
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"), ("mlp.fc1", "mlp.fc2"),
    ("layer_norm1", "layer_norm2"),
)  # fmt: skip
LLAMA = Names(
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj"), ("mlp.fc1", "mlp.fc2"),
    ("input_layernorm", "post_attention_layernorm"),
)  # fmt: skip
QWEN = Names(("attn.qkv", "attn.proj"), ("mlp.fc1", "mlp.fc2"), ("norm1", "norm2"))
QWEN_GATED = Names(("attn.qkv", "attn.proj"), ("mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"), ("norm1", "norm2"))
QWEN3 = Names(("attn.qkv", "attn.proj"), ("mlp.linear_fc1", "mlp.linear_fc2"), ("norm1", "norm2"))
PIXTRAL = Names(
    ("attention.q_proj", "attention.k_proj", "attention.v_proj", "attention.o_proj"),
    ("feed_forward.gate_proj", "feed_forward.up_proj", "feed_forward.down_proj"), ("attention_norm", "ffn_norm"),
)  # fmt: skip
INTERNVL = Names(
    ("attention.q_proj", "attention.k_proj", "attention.v_proj", "attention.projection_layer"), ("mlp.fc1", "mlp.fc2"),
    ("layernorm_before", "layernorm_after"),
)  # fmt: skip
MOON = Names(("wqkv", "wo"), ("mlp.fc0", "mlp.fc1"), ("norm0", "norm1"))
WHISPER = Names(
    ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.out_proj"), ("fc1", "fc2"),
    ("self_attn_layer_norm", "final_layer_norm"),
)  # fmt: skip
GEMMA4 = Names(
    tuple(f"self_attn.{n}_proj.linear" for n in "qkvo"), tuple(f"mlp.{n}_proj.linear" for n in ("gate", "up", "down")),
    ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"),
)  # fmt: skip


def layer(hidden: int, width: int, names: Names, *, bias: bool = True, qkv_bias: bool | None = None,
          out_bias: bool | None = None, key_bias: bool | None = None, mlp_bias: bool | None = None,
          norm_bias: bool = True, inner: int | None = None, role: Role = "vision",
          extra: Sequence[Matrix] = ()) -> tuple[Matrix, ...]:  # fmt: skip
    """One encoder layer: full attention, an MLP (gated with three names), norms.

    inner  width of all heads together (default: hidden); extra  further vectors such as layer scales
    """
    inner = hidden if inner is None else inner
    qkv_bias = bias if qkv_bias is None else qkv_bias
    key_bias = qkv_bias if key_bias is None else key_bias
    mlp_bias = bias if mlp_bias is None else mlp_bias
    *ins, out = names.attention
    if len(ins) == 1:
        first = [linear(ins[0], 3 * inner, hidden, role, bias=qkv_bias)]
    else:
        first = [linear(n, inner, hidden, role, bias=key_bias if i == 1 else qkv_bias) for i, n in enumerate(ins)]
    *ups, down = names.mlp
    return (
        *first,
        linear(out, hidden, inner, role, bias=bias if out_bias is None else out_bias),
        *(linear(n, width, hidden, role, bias=mlp_bias) for n in ups),
        linear(down, hidden, width, role, bias=mlp_bias),
        *(norm(n, hidden, bias=norm_bias) for n in names.norms),
        *extra,
    )


def tower(prefix: str, layers: int, matrices: tuple[Matrix, ...], outside: Sequence[Matrix], root: str,
          part: Part = "vision") -> list[Block]:  # fmt: skip
    """Blocks of `layers` alike layers and what stands outside them."""
    return [outer(*outside, prefix=root, part=part), Block(prefix, tuple(range(layers)), matrices, part=part)]


def patches(name: str, hidden: int, channels: int, *sides: int, bias: bool) -> Matrix:
    """The convolution that turns each patch of the image into a vector."""
    cols = channels
    for side in sides:
        cols *= side
    return Matrix(name, hidden, cols, "vision", "conv", hidden if bias else 0)


def positions(name: str, rows: int, hidden: int, role: Role = "vision") -> Matrix:
    """A learnt (or stored) table of positions."""
    return table(name, rows, hidden, role)


def side(k: Keys, name: str, default: int) -> int:
    """An image or patch size, written as a number or as a [height, width] pair of equal numbers."""
    value = k.raw(name, default)
    if isinstance(value, list) and len(value) == 2 and value[0] == value[1]:
        inner = Keys({name: value[0]}, k.where)
        return inner.integer(name, most=100_000)
    return k.integer(name, default, most=100_000)


def depth(k: Keys, default: int) -> int:
    """Number of layers under Qwen-VL's name for it."""
    return k.integer("depth", default, most=1000)


def channels(k: Keys) -> int:
    """Colour channels under either of Qwen-VL's names for them."""
    return k.integer("in_chans", 3) if k.has("in_chans") else k.integer("in_channels", 3)


def grid(k: Keys, image: int, patch: int) -> int:
    """Patches of a square image."""
    count = (side(k, "image_size", image) // side(k, "patch_size", patch)) ** 2
    if not count:
        raise k.refuse(f"{k.path}.image_size is smaller than its patch_size. Correct one of the two.")
    return count


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
