"""Matrices and caches that many families share: embeddings, attention, MLPs, experts, norms.

A family composes these; a new variant is an argument here only where several families use it, and a list of
its own in the family otherwise. H hidden, A query heads, K KV heads, D head dimension, F MLP width, E experts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from planner.architecture.ledger import Block, Cache, Matrix, Mixing, Part, Role

Layer = tuple[tuple[Matrix, ...], tuple[Cache, ...], tuple[Mixing, ...]]


def linear(name: str, rows: int, cols: int, role: Role, *, bias: bool = False, units: int | None = None,
           copies: int = 1, used: float | None = None) -> Matrix:  # fmt: skip
    """A matrix product `rows` x `cols`; `units` pieces for tensor parallelism (default: its rows)."""
    return Matrix(name, rows, cols, role, "linear", rows if bias else 0, copies, used, rows if units is None else units)


def norm(name: str, size: int, *, bias: bool = False, copies: int = 1) -> Matrix:
    """A norm's weight (and bias); size 0 for a norm without parameters."""
    return Matrix(name, size, 1, "norm", "vector", size if bias else 0, copies)


def vector(name: str, size: int, role: Role = "other", *, units: int = 1, copies: int = 1) -> Matrix:
    """Element-wise weights such as gates, sinks, scales."""
    return Matrix(name, size, 1, role, "vector", 0, copies, None, units)


def table(name: str, rows: int, cols: int, role: Role = "embedding", *, units: int | None = None) -> Matrix:
    """A lookup table: stored whole, one row read per token."""
    return Matrix(name, rows, cols, role, "lookup", units=rows if units is None else units)


def convolution(name: str, channels: int, width: int, role: Role = "mixer", *, bias: bool = False,
                units: int = 1) -> Matrix:  # fmt: skip
    """A depthwise convolution of `channels` with kernel `width`."""
    return Matrix(name, channels, width, role, "conv", channels if bias else 0, units=units)


def head(vocab: int, hidden: int, *, tied: bool, bias: bool = False, name: str = "lm_head") -> Matrix:
    """The output head; tied: the embedding table again."""
    return Matrix(name, vocab, hidden, "head", "linear", vocab if bias else 0, units=vocab, tied=tied)


def attention(hidden: int, heads: int, kv_heads: int, dim: int, *, v_dim: int | None = None, bias: bool = False,
              out_bias: bool | None = None, fused: bool = False, qk_norm: int = 0, k_norm: int | None = None,
              window: int | None = None, kind: str | None = None, shared_kv: bool = False, v_proj: bool = True,
              gate: bool = False, prefix: str = "self_attn.",
              names: Sequence[str] = ("q_proj", "k_proj", "v_proj", "o_proj"),
              input_dim: int | None = None, norm_bias: bool = False,
              norm_names: Sequence[str] = ("q_norm", "k_norm")) -> Layer:  # fmt: skip
    """Multi-head, grouped-query or multi-query attention of one layer.

    names    of the query, key, value and output projections; two names: one fused projection, and the output
    qk_norm  size of the query norm's weight (0: none) and of the key norm's unless `k_norm` says otherwise
    window   tokens visible at most; `kind` "window" (default with a window) or "chunk"
    shared_kv  no key and value projections: reads another layer's cache
    gate     the query projection also yields an output gate (twice the rows)
    """
    v_dim = dim if v_dim is None else v_dim
    out_bias = bias if out_bias is None else out_bias
    wide = hidden if input_dim is None else input_dim
    q_rows = heads * dim * (2 if gate else 1)
    if fused and len(names) == 4:
        names = ("qkv_proj", names[-1])
    *inputs, o = (prefix + n for n in names)
    out: list[Matrix] = []
    if len(inputs) == 1:
        rows = q_rows + kv_heads * (dim + v_dim)
        # Query heads are dealt out even where there are fewer KV heads than devices (those rows are then repeated).
        out.append(linear(inputs[0], rows, wide, "attention", bias=bias, units=heads))
    else:
        q, k, v = inputs
        out.append(linear(q, q_rows, wide, "attention", bias=bias, units=heads))
        if not shared_kv:
            out.append(linear(k, kv_heads * dim, wide, "attention", bias=bias, units=kv_heads))
            if v_proj:
                out.append(linear(v, kv_heads * v_dim, wide, "attention", bias=bias, units=kv_heads))
    out.append(linear(o, hidden, heads * v_dim, "attention", bias=out_bias, units=heads))
    if qk_norm:
        out.append(norm(prefix + norm_names[0], qk_norm, bias=norm_bias))
        if not shared_kv:
            out.append(norm(prefix + norm_names[1], qk_norm if k_norm is None else k_norm, bias=norm_bias))
    elements = kv_heads * (dim + v_dim)
    cache_kind = kind or ("window" if window else "full")
    if shared_kv:
        cache = Cache("none", window=window, units=kv_heads, reads=elements)
    else:
        cache = Cache(cache_kind, elements, window, units=kv_heads)  # type: ignore[arg-type]
    return tuple(out), (cache,), (Mixing(2 * heads * (dim + v_dim), window=window),)


def mlp(hidden: int, width: int, *, gated: bool = True, bias: bool = False, fused: bool = False, prefix: str = "mlp.",
        role: Role = "mlp",
        names: Sequence[str] = ("gate_proj", "up_proj", "down_proj")) -> tuple[Matrix, ...]:  # fmt: skip
    """A feed-forward layer: gated (3 matrices) or not (2).

    names  of the gate, up and down projections; two names: gate and up fused where it is gated, and down
    """
    if fused and gated and len(names) == 3:
        names = ("gate_up_proj", names[-1])
    *inputs, down = (prefix + n for n in names)
    if gated and len(inputs) == 1:
        inner = [linear(inputs[0], 2 * width, hidden, role, bias=bias, units=width)]
    else:
        used = inputs if gated else inputs[-1:]
        inner = [linear(name, width, hidden, role, bias=bias, units=width) for name in used]
    return (*inner, linear(down, hidden, width, role, bias=bias, units=width))


def experts(hidden: int, width: int, count: int, used: int, *, gated: bool = True, bias: bool = False,
            prefix: str = "mlp.experts.{e}.",
            names: Sequence[str] = ("gate_proj", "up_proj", "down_proj")) -> tuple[Matrix, ...]:  # fmt: skip
    """`count` routed experts of which each token passes through `used`."""
    gate, up, down = (prefix + n for n in names)
    ways = [gate, up] if gated else [up]
    inner = [linear(n, width, hidden, "experts", bias=bias, units=width, copies=count, used=used) for n in ways]
    return (*inner, linear(down, hidden, width, "experts", bias=bias, units=width, copies=count, used=used))


def router(hidden: int, count: int, *, bias: bool = False, name: str = "mlp.gate") -> Matrix:
    """The routing matrix of a mixture of experts, whole on every device."""
    return linear(name, count, hidden, "router", bias=bias, units=1)


def join(*parts: Layer | Iterable[Matrix] | Matrix | Cache | Mixing) -> Layer:
    """One layer made of layers, matrices, caches and mixing."""
    matrices: list[Matrix] = []
    caches: list[Cache] = []
    mixing: list[Mixing] = []
    for part in parts:
        if isinstance(part, Matrix):
            matrices.append(part)
        elif isinstance(part, Cache):
            caches.append(part)
        elif isinstance(part, Mixing):
            mixing.append(part)
        else:
            items = tuple(part)
            if len(items) == 3 and all(isinstance(i, tuple) for i in items):
                matrices += items[0]  # type: ignore[arg-type]
                caches += items[1]  # type: ignore[arg-type]
                mixing += items[2]  # type: ignore[arg-type]
            else:
                matrices += items  # type: ignore[arg-type]
    return tuple(m for m in matrices if m.rows), tuple(caches), tuple(mixing)


def stack(layers: Sequence[Layer], prefix: str = "model.layers.{i}.", part: Part = "text") -> list[Block]:
    """Blocks from a list of layers: alike layers share a block, so that sums stay short."""
    alike: dict[Layer, list[int]] = {}
    for number, layer in enumerate(layers):
        alike.setdefault(layer, []).append(number)
    return [Block(prefix, tuple(numbers), *layer, part=part) for layer, numbers in alike.items()]


def outer(*matrices: Matrix, prefix: str = "", part: Part = "text") -> Block:
    """Matrices that stand once, outside the layers (embedding, final norm, head)."""
    return Block(prefix, (0,), tuple(m for m in matrices if m.rows), part=part)


def run_lengths(kinds: Sequence[str]) -> list[tuple[str, int]]:
    """Consecutive equal entries counted: for printing layer patterns."""
    return [(kind, len(list(group))) for kind, group in groupby(kinds)]
