"""The ledger: what a checkpoint holds, matrix by matrix, and what a sequence leaves in memory.

Every figure of the planner about a model is a sum over this ledger: parameters, active parameters, bytes
at any precision, FLOPs, KV cache, tensor-parallel shares. A model family is a function that lists its
matrices and caches (see `families/`); no family has a formula of its own for any of those figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

Kind = Literal["linear", "lookup", "vector", "conv"]
Role = Literal[
    "embedding", "positions", "attention", "mixer", "mlp", "experts", "shared", "router", "norm", "head", "indexer",
    "per-layer embedding", "vision", "audio", "projector", "other",
]  # fmt: skip
Part = Literal["text", "vision", "audio", "projector", "mtp"]
CacheKind = Literal["full", "window", "chunk", "latent", "state", "cross", "none"]


@dataclass(frozen=True, slots=True)
class Matrix:
    """One tensor (with its bias) of a block, or `copies` alike ones such as the experts of a layer.

    name    checkpoint path inside the block, without `.weight`; `{e}` stands for the expert number
    rows    output features (for a vector: its length)
    cols    input features (for a vector: 1; for a convolution: input channels per group x kernel)
    role    which part of the model it belongs to
    kind    linear: a matrix product per token; lookup: a table of which one row is read per token;
            vector: norms, scales and other element-wise weights; conv: a convolution, never quantized
    bias    elements of the bias of one copy
    copies  how many are stored
    used    copies one token passes through (None: all)
    units   pieces that tensor parallelism can deal out (heads, rows, experts' width); 1: every device holds it whole
    tied    the tensor is another one's storage (a tied head): it costs no memory, yet is read and multiplied
    """

    name: str
    rows: int
    cols: int = 1
    role: Role = "other"
    kind: Kind = "linear"
    bias: int = 0
    copies: int = 1
    used: float | None = None
    units: int = 1
    tied: bool = False

    @property
    def weights(self) -> int:
        """Elements of one copy, without the bias."""
        return self.rows * self.cols

    @property
    def params(self) -> int:
        """Elements stored, all copies with biases; 0 when tied."""
        return 0 if self.tied else (self.weights + self.bias) * self.copies

    @property
    def active_copies(self) -> float:
        """Copies that one token passes through."""
        return self.copies if self.used is None else self.used

    @property
    def active(self) -> float:
        """Elements stored that one token passes through; 0 when tied."""
        return 0 if self.tied else (self.weights + self.bias) * self.active_copies

    @property
    def flops(self) -> float:
        """Multiply-adds of one token, two FLOPs each (bias additions are not counted)."""
        return 2 * self.weights * self.active_copies if self.kind in ("linear", "conv") else 0


@dataclass(frozen=True, slots=True)
class Cache:
    """What one layer keeps of a sequence.

    kind      full: one entry per token; window, chunk: the last `window` tokens at most; latent: one compressed entry
              per token, whole on every device (MLA); state: a fixed size; cross: entries of the encoder or image;
              none: nothing is stored, another layer's entries are read (KV sharing)
    elements  stored per token
    window    tokens visible at most
    fixed     elements per sequence, whatever its length
    units     pieces that tensor parallelism can deal out (KV heads); 1: every device holds it whole
    reads     elements read per visible token in a decode step (None: `elements`)
    top       tokens read at most by sparse attention, although all are kept
    role      kv; index: keys of a sparse-attention indexer; ssm: recurrent state; conv: the last inputs of a
              convolution
    kernel    width of that convolution: engines may keep kernel - 1 columns instead of kernel
    in_library  elements per token as the transformers library stores them where it stores more than serving engines,
              which store `elements`: KV heads repeated for every query head (Falcon 40B), one vector that is key and
              value at once stored as each (DeepSeek V4)
    """

    kind: CacheKind
    elements: int = 0
    window: int | None = None
    fixed: int = 0
    units: int = 1
    reads: int | None = None
    top: int | None = None
    role: Literal["kv", "index", "ssm", "conv"] = "kv"
    kernel: int | None = None
    in_library: int | None = None

    @property
    def read_elements(self) -> int:
        """Elements a decode step reads for each visible token."""
        return self.elements if self.reads is None else self.reads


@dataclass(frozen=True, slots=True)
class Mixing:
    """Work between tokens that no matrix of the checkpoint accounts for.

    pair    FLOPs per (query, key) pair in prefill: 2 x heads x (key dimension + value dimension)
    decode  the same in decode (None: `pair`); MLA works on the latent there
    window  keys visible at most
    top     keys attended at most by sparse attention
    token   FLOPs per token whatever the context (linear attention, state-space scan)
    cross   the keys are those of an encoder or image, not of the text
    chunked  prefill goes through chunks of `window` tokens and pairs tokens within one (linear attention, state space)
    """

    pair: float = 0
    decode: float | None = None
    window: int | None = None
    top: int | None = None
    token: float = 0
    cross: bool = False
    chunked: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """A group of matrices and caches that repeats over layers.

    prefix  checkpoint path with `{i}` for the layer number, such as `model.layers.{i}.`
    layers  layer numbers that hold it
    runs    times each is passed through per token (a block shared by several layers: more than 1)
    """

    prefix: str
    layers: tuple[int, ...] = (0,)
    matrices: tuple[Matrix, ...] = ()
    caches: tuple[Cache, ...] = ()
    mixing: tuple[Mixing, ...] = ()
    part: Part = "text"
    runs: int = 1

    @property
    def count(self) -> int:
        """Number of layers that hold it."""
        return len(self.layers)


@dataclass(frozen=True, slots=True)
class KeyLog:
    """What the reader did with each key of the config, as dotted paths."""

    used: tuple[str, ...] = ()
    defaulted: dict[str, Any] = field(default_factory=dict)
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Architecture:
    """A model read from its config: the ledger and what was learnt on the way.

    `recognised` is "exact" for a family the planner knows and "guessed" otherwise; `config` holds just the keys
    that were used, so that reading it again gives the identical result (links carry it).
    """

    name: str
    model_type: str
    blocks: tuple[Block, ...]
    n_layers: int
    hidden: int
    vocab: int
    heads: int
    kv_heads: int
    tied: bool
    max_positions: int | None = None
    dtype: str | None = None
    recognised: Literal["exact", "guessed"] = "exact"
    quantization: dict[str, Any] | None = None
    config: dict[str, Any] = field(default_factory=dict)
    keys: KeyLog = field(default_factory=KeyLog)
    warnings: tuple[str, ...] = ()

    def matrices(self, *parts: Part) -> Iterator[tuple[Block, Matrix]]:
        """Each matrix with its block, of the given parts (none given: all but multi-token-prediction layers)."""
        for block in self.blocks:
            if block.part in parts if parts else block.part != "mtp":
                for matrix in block.matrices:
                    yield block, matrix

    def caches(self) -> Iterator[tuple[Block, Cache]]:
        """Each cache with its block, without multi-token-prediction layers."""
        for block in self.blocks:
            if block.part != "mtp":
                for cache in block.caches:
                    yield block, cache

    def _params(self, *parts: Part) -> int:
        return sum(m.params * b.count for b, m in self.matrices(*parts))

    @cached_property
    def total_params(self) -> int:
        """Parameters, each tensor once; without buffers and multi-token-prediction layers."""
        return self._params()

    @cached_property
    def text_params(self) -> int:
        """Parameters of the language model."""
        return self._params("text")

    @cached_property
    def nontext_params(self) -> int:
        """Parameters of vision and audio towers and their projectors."""
        return self.total_params - self.text_params

    @cached_property
    def mtp_params(self) -> int:
        """Parameters of multi-token-prediction layers, apart from the total."""
        return self._params("mtp")

    def _single(self, role: Role) -> int:
        return sum(m.weights * m.copies * b.count for b, m in self.matrices("text") if m.role == role)

    @cached_property
    def embedding_params(self) -> int:
        """Elements of the input-embedding table."""
        return self._single("embedding")

    @cached_property
    def lm_head_params(self) -> int:
        """Elements of the head matrix, also when it is the embedding table again."""
        return self._single("head")

    @cached_property
    def active_params(self) -> int:
        """Parameters of the language model less the routed experts that a token does not pass through."""
        return round(sum(m.active * b.count for b, m in self.matrices("text")))

    @cached_property
    def kv_elements_per_token(self) -> int:
        """Elements that each further token adds without bound (full attention and latents, all layers).

        By the definition of the transformers library, also where it repeats KV heads and serving engines do not.
        """
        return sum(
            (c.elements if c.in_library is None else c.in_library) * b.count
            for b, c in self.caches()
            if c.kind in ("full", "latent") and c.role == "kv"
        )

    @cached_property
    def indexer_elements_per_token(self) -> int:
        """Index keys that each further token adds, all layers."""
        return sum(c.elements * b.count for b, c in self.caches() if c.role == "index")

    @cached_property
    def recurrent_state_elements_per_sequence(self) -> int:
        """Elements of recurrent and convolution state, whatever the length (convolutions at full kernel width)."""
        return sum(c.fixed * b.count for b, c in self.caches() if c.kind == "state")
