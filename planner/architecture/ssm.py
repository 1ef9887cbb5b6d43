"""State-space and linear-attention layers: matrices, the state that a sequence leaves, and the work on it.

Such a layer keeps a state of fixed size instead of one entry per token. Two parts of it are kept apart, since engines
store them differently: the recurrent state (often in fp32) and the last inputs of a short convolution (counted here at
the full kernel width; an engine may keep one column less).

Work on a state of n elements is counted in multiply-adds, two FLOPs each, like every matrix product of the ledger
(decays and gates are element-wise and are not counted):
    write the outer product of key and value, read with the query             2 x n   (Mamba, lightning, RWKV, xLSTM)
    the delta rule also reads what the key already holds before it writes     3 x n   (DeltaNet, KDA, RWKV-7)

Prefill does that once per chunk instead of once per token, in matrix products of the same size per token, and adds
attention within the chunk: the price for using matrix units.

Sources: Mamba (arXiv 2312.00752), algorithm 2; Mamba-2 (arXiv 2405.21060), sections 5 and 6; Gated DeltaNet
(arXiv 2412.06464), equation 10 and section 3.3; the checkpoints' tensor lists.
"""

from __future__ import annotations

from math import ceil
from typing import Final

from planner.architecture.builders import Layer, convolution, join, linear, norm, vector
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Mixing

OUTER_PRODUCT: Final = 2  # multiply-adds per state element: write, read
DELTA_RULE: Final = 3  # multiply-adds per state element: read, write, read


def recurrence(elements: int, products: int, *, units: int = 1) -> Layer:
    """A recurrent state of `elements` per sequence, on which a token does `products` multiply-adds per element."""
    state = Cache("state", fixed=elements, units=units, role="ssm")
    return (), (state,), (Mixing(token=2 * products * elements),)


def within_chunk(pair: float, chunk: int) -> Mixing:
    """Attention within the chunks of a prefill, `pair` FLOPs per pair of tokens; decode has none."""
    return Mixing(pair, decode=0, window=chunk, chunked=True)


def conv_state(channels: int, kernel: int, *, units: int = 1) -> Cache:
    """The last `kernel` inputs of a short convolution over `channels`."""
    return Cache("state", fixed=channels * kernel, units=units, role="conv", kernel=kernel)


def mamba1(hidden: int, inner: int, state: int, kernel: int, rank: int, *, bias: bool = False, conv_bias: bool = True,
           norms: bool = False, prefix: str = "mixer.") -> Layer:  # fmt: skip
    """A Mamba layer: `inner` channels I, each with a state of N; time steps come from a projection of rank R.

    bias   biases of the input and output projections
    norms  norms of time step, B and C (Jamba)
    """
    return join(
        linear(f"{prefix}in_proj", 2 * inner, hidden, "mixer", bias=bias, units=inner),
        convolution(f"{prefix}conv1d", inner, kernel, bias=conv_bias, units=inner),
        linear(f"{prefix}x_proj", rank + 2 * state, inner, "mixer", units=inner),
        linear(f"{prefix}dt_proj", inner, rank, "mixer", bias=True, units=inner),
        vector(f"{prefix}A_log", inner * state, "mixer", units=inner),
        vector(f"{prefix}D", inner, "mixer", units=inner),
        linear(f"{prefix}out_proj", hidden, inner, "mixer", bias=bias, units=inner),
        [norm(f"{prefix}dt_layernorm", rank), norm(f"{prefix}b_layernorm", state),
         norm(f"{prefix}c_layernorm", state)] if norms else (),
        recurrence(inner * state, OUTER_PRODUCT, units=inner),
        conv_state(inner, kernel, units=inner),
    )  # fmt: skip


def time_step_rank(k: Keys, name: str, hidden: int) -> int:
    """Rank of Mamba's time-step projection; "auto" is a sixteenth of the hidden size."""
    value = k.raw(name, "auto")
    return ceil(hidden / 16) if value in ("auto", None) else k.integer(name)


def mamba2(hidden: int, heads: int, dim: int, state: int, groups: int, kernel: int, chunk: int, *, bias: bool = False,
           out_bias: bool | None = None, conv_bias: bool = True, gated_norm: bool = True,
           prefix: str = "mixer.") -> Layer:  # fmt: skip
    """A Mamba-2 layer: heads of `dim` channels, each channel with a state of N; `groups` share B and C.

    One projection yields gate and input (heads x dim each), B and C (groups x N each) and a time step per head; the
    convolution runs over input, B and C. `bias` is on the input projection, and on the output's unless `out_bias` says.
    Prefill goes by `chunk` tokens.
    """
    inner = heads * dim
    channels = inner + 2 * groups * state
    return join(
        linear(f"{prefix}in_proj", inner + channels + heads, hidden, "mixer", bias=bias, units=heads),
        convolution(f"{prefix}conv1d", channels, kernel, bias=conv_bias, units=heads),
        vector(f"{prefix}dt_bias", heads, "mixer", units=heads),
        vector(f"{prefix}A_log", heads, "mixer", units=heads),
        vector(f"{prefix}D", heads, "mixer", units=heads),
        norm(f"{prefix}norm", inner if gated_norm else 0),
        linear(f"{prefix}out_proj", hidden, inner, "mixer", bias=bias if out_bias is None else out_bias, units=heads),
        recurrence(inner * state, OUTER_PRODUCT, units=heads), within_chunk(2 * heads * (state + dim), chunk),
        conv_state(channels, kernel, units=heads),
    )  # fmt: skip


def mamba2_of(k: Keys, hidden: int, *, inner: int | None = None, gated_norm: bool = True,
              out_bias: bool | None = None) -> Layer:  # fmt: skip
    """The Mamba-2 layer of Bamba, Granite 4 and Falcon-H1, whose configs share the keys `mamba_*`.

    inner  channels (default: mamba_expand x hidden)
    """
    heads = k.integer("mamba_n_heads", 128)
    wide = k.integer("mamba_expand", 2) * hidden if inner is None else inner
    dim = wide // heads if k.raw("mamba_d_head", "auto") in ("auto", None) else k.integer("mamba_d_head")
    if heads * dim != wide and not k.log.missing:
        raise k.refuse(
            f"mamba_n_heads x mamba_d_head is {heads} x {dim} = {heads * dim}; expected the {wide} channels of the "
            "state-space layer (mamba_d_ssm, or mamba_expand x hidden_size). Correct one of these keys."
        )
    return mamba2(
        hidden, heads, dim, k.integer("mamba_d_state", 256), k.integer("mamba_n_groups", 1),
        k.integer("mamba_d_conv", 4), k.integer("mamba_chunk_size", 256),
        bias=k.flag("mamba_proj_bias"), out_bias=out_bias, conv_bias=k.flag("mamba_conv_bias", True),
        gated_norm=gated_norm, prefix="mamba.",
    )  # fmt: skip


def lightning(hidden: int, heads: int, dim: int, chunk: int, *, prefix: str = "self_attn.") -> Layer:
    """Lightning attention of MiniMax-Text-01: linear attention with a fixed decay per head, and an output gate."""
    inner = heads * dim
    return join(
        linear(f"{prefix}qkv_proj", 3 * inner, hidden, "mixer", units=heads),
        linear(f"{prefix}output_gate", inner, hidden, "mixer", units=heads),
        linear(f"{prefix}out_proj", hidden, inner, "mixer", units=heads),
        norm(f"{prefix}norm", inner),
        recurrence(heads * dim * dim, OUTER_PRODUCT, units=heads), within_chunk(4 * heads * dim, chunk),
    )  # fmt: skip
