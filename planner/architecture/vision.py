"""What towers for images and sound are made of: names of their matrices, a layer, patches, positions, sizes.

Shapes and absent-key meanings: transformers 5.24 classes of the same names. Names are those of the checkpoints.
Positions are lookups, patch projections convolutions (quantizers leave both alone).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planner.architecture.builders import linear, norm, outer, table
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
          norm_bias: bool = True, inner: int | None = None, kv: int | None = None,
          role: Role = "vision", extra: Sequence[Matrix] = ()) -> tuple[Matrix, ...]:  # fmt: skip
    """One encoder layer: full attention, an MLP (gated with three names), norms.

    inner  width of all heads together (default: hidden); kv  that of keys, and of values (default: inner)
    extra  further vectors such as layer scales
    """
    inner = hidden if inner is None else inner
    qkv_bias = bias if qkv_bias is None else qkv_bias
    key_bias = qkv_bias if key_bias is None else key_bias
    mlp_bias = bias if mlp_bias is None else mlp_bias
    *ins, out = names.attention
    if len(ins) == 1:
        first = [linear(ins[0], 3 * inner, hidden, role, bias=qkv_bias)]
    else:
        widths = (inner, inner if kv is None else kv, inner if kv is None else kv)
        first = [
            linear(name, rows, hidden, role, bias=key_bias if place == 1 else qkv_bias)
            for place, (name, rows) in enumerate(zip(ins, widths, strict=True))
        ]
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
