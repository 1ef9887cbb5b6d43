"""What encoder-decoders share: attentions, and the cache of the encoder's output.

Both halves count; the decoder's caches are of two kinds: each decoder layer keeps its own keys and values for every
token it writes, and those of the encoder's output once. The second kind is listed in a block of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from planner.architecture.builders import Layer, join, linear
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Cache, Matrix, Mixing

QKVO = ("q_proj", "k_proj", "v_proj", "out_proj")
MOST = 1000  # layers of either half


def attend(hidden: int, heads: int, kv: int, dim: int, prefix: str, names: Sequence[str] = QKVO, *, bias: bool = False,
           key_bias: bool | None = None) -> tuple[Matrix, ...]:  # fmt: skip
    """The four matrices of an attention, without its cache."""
    q, k, v, o = (prefix + n for n in names)
    return (
        linear(q, heads * dim, hidden, "attention", bias=bias, units=heads),
        linear(k, kv * dim, hidden, "attention", bias=bias if key_bias is None else key_bias, units=kv),
        linear(v, kv * dim, hidden, "attention", bias=bias, units=kv),
        linear(o, hidden, heads * dim, "attention", bias=bias, units=heads),
    )


def own(heads: int, kv: int, dim: int) -> tuple[Cache, Mixing]:
    """Cache and work of a decoder's attention to its own tokens."""
    return Cache("full", 2 * kv * dim, units=kv), Mixing(4 * heads * dim)


def crossing(layers: int, prefix: str, matrices: tuple[Matrix, ...], heads: int, kv: int, dim: int,
             source: int | None = None) -> Block:  # fmt: skip
    """The attention of all decoder layers to the encoder's output, of at most `source` entries."""
    cache = Cache("cross", 2 * kv * dim, source, units=kv)
    return Block(
        prefix, tuple(range(layers)), matrices, (cache,), (Mixing(4 * heads * dim, window=source, cross=True),)
    )


def both(parts: Iterable[Matrix], *more: Matrix | Cache | Mixing) -> Layer:
    """One layer of matrices, caches and mixing."""
    return join(tuple(parts), *more)


def split(k: Keys, hidden: int, heads: int) -> int:
    """Dimension of a head where the heads share the width evenly; ConfigError where they cannot."""
    if hidden % heads:
        raise k.refuse(f"The width {hidden} is not divided by {heads} attention heads. Correct one of the two.")
    return hidden // heads


def guess_untied(k: Keys) -> None:
    """Mark the reading as a guess: without a tied head, files do not say whether each half has a table of its own."""
    k.guess(
        "tie_word_embeddings is false, and whether encoder and decoder then have tables of their own depends on the "
        "checkpoint; one shared table and a head are counted. Compare the parameters with the published number."
    )


def decoder_alone(k: Keys) -> bool:
    """Whether the file's class is the decoder without its encoder (`BartForCausalLM`), whose cross-attention idles."""
    names = k.data.get("architectures")
    alone = isinstance(names, list) and bool(names) and str(names[0]).endswith("ForCausalLM")
    if alone:
        k.use("architectures")
    return alone


def idle(block: Block) -> Block:
    """Cross-attention that is stored and never run: no cache and no work between tokens."""
    return replace(block, caches=(), mixing=(), runs=0)
