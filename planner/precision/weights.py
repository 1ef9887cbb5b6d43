"""The weights of a model as arrays: one entry per distinct matrix and way of storing it.

Memory, reads and FLOPs of a plan are sums over these arrays, with factors for devices and experts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.architecture.ledger import Architecture, Block, Matrix
from planner.precision import gguf, layouts
from planner.precision.checkpoint import checkpoint_scheme, default_layout
from planner.precision.formats import FILE_TYPES, Format, find_format
from planner.precision.layouts import Layout

Floats = npt.NDArray[np.float64]
Texts = npt.NDArray[np.str_]

# More experts than any model has: beyond it a per-expert table is read for the first expert only.
MOST_EXPERTS = 4096

Chooser = Callable[[Block, Matrix, str, int], Layout]


@dataclass(frozen=True)
class Weights:
    """Arrays aligned by entry (a matrix of a block, for the layers that store it alike).

    names           checkpoint paths with `{i}` for the layer and `{e}` for the expert
    formats         how each is stored, such as "fp8 128x128" or "Q6_K"
    layers          layer numbers of each entry
    stored_bytes    all copies in all layers; 0 where the storage is another tensor's (a tied head)
    read_bytes_one  one copy, summed over layers and runs, that a pass through it reads; 0 for lookup tables
    copies, used    stored per layer, and passed through by one token
    units           pieces that tensor parallelism can deal out
    params          elements stored, all copies and layers, biases included
    flops           per token, all layers and runs
    compute         type in which the product runs where the device has it
    role, part, kind  as in the ledger
    """

    names: tuple[str, ...]
    layers: tuple[tuple[int, ...], ...]
    formats: Texts
    stored_bytes: Floats
    read_bytes_one: Floats
    copies: Floats
    used: Floats
    units: Floats
    params: Floats
    flops: Floats
    compute: Texts
    role: Texts
    part: Texts
    kind: Texts

    @property
    def total_bytes(self) -> int:
        """Bytes of all weights."""
        return int(self.stored_bytes.sum())

    def bytes_by(self, field: Texts) -> dict[str, int]:
        """Stored bytes summed by an aligned array such as `role`, `part` or `formats`, largest first."""
        sums = {str(key): int(self.stored_bytes[field == key].sum()) for key in dict.fromkeys(field)}
        return dict(sorted(sums.items(), key=lambda item: -item[1]))


def weight_rows(arch: Architecture, weights: str, *, mtp: bool = False) -> Weights:
    """The weights of `arch` in a format of FORMATS (or an alias), or as the "checkpoint" stores them.

    mtp  with the multi-token-prediction layers, which engines load only for speculative decoding
    Kept with the architecture, so that asking again costs nothing.
    Raises PlannerError for an unknown format, ConfigError where the checkpoint's quantization cannot be sized.
    """
    name = "checkpoint" if weights == "checkpoint" else find_format(weights).name
    kept = vars(arch).setdefault("_weight_rows", {})
    if (name, mtp) not in kept:
        kept[name, mtp] = _build(arch, name, mtp)
    rows: Weights = kept[name, mtp]
    return rows


def _build(arch: Architecture, name: str, mtp: bool) -> Weights:
    choose, spread = _chooser(arch, name)
    entries = [
        (block, matrix, layers, layout, share)
        for block in arch.blocks if mtp or block.part != "mtp"
        for matrix in block.matrices
        for layers, layout, share in _alike(block, matrix, choose, *spread)
    ]  # fmt: skip
    wide = 4 if name == "fp32" else 4 if name in FILE_TYPES or _is_gguf(name) else 2
    if name == "checkpoint":
        wide = 4 if default_layout(arch) is layouts.FP32 else 2

    def each(value: Callable[[Block, Matrix, tuple[int, ...], Layout, float], float]) -> Floats:
        return np.array([value(*entry) for entry in entries], float)

    def texts(value: Callable[[Block, Matrix, Layout], str]) -> Texts:
        return np.array([value(b, m, layout) for b, m, _, layout, _ in entries], np.str_)

    one = each(lambda b, m, layers, layout, _: layout.size(m.rows, m.cols) + m.bias * wide)
    copies = each(lambda b, m, layers, layout, share: m.copies * share)
    count = each(lambda b, m, layers, layout, _: len(layers))
    runs = each(lambda b, m, layers, layout, _: len(layers) * b.runs)
    tied = np.array([m.tied for _, m, _, _, _ in entries], bool)
    looked_up = np.array([m.kind == "lookup" for _, m, _, _, _ in entries], bool)
    return Weights(
        names=tuple(b.prefix + m.name for b, m, _, _, _ in entries),
        layers=tuple(layers for _, _, layers, _, _ in entries),
        formats=texts(lambda b, m, layout: layout.label),
        stored_bytes=np.where(tied, 0, one * copies * count),
        read_bytes_one=np.where(looked_up, 0, one * runs),
        copies=copies,
        used=each(lambda b, m, layers, layout, share: m.active_copies * share),
        units=each(lambda b, m, layers, layout, _: m.units),
        params=np.where(tied, 0, each(lambda b, m, layers, layout, _: m.weights + m.bias) * copies * count),
        flops=each(lambda b, m, layers, layout, share: m.flops * share) * runs,
        compute=texts(lambda b, m, layout: layout.compute),
        role=texts(lambda b, m, layout: m.role),
        part=texts(lambda b, m, layout: b.part),
        kind=texts(lambda b, m, layout: m.kind),
    )


def _alike(block: Block, matrix: Matrix, choose: Chooser, by_layer: bool,
           by_expert: bool) -> Iterator[tuple[tuple[int, ...], Layout, float]]:  # fmt: skip
    """(layers, layout, share of the copies) for each way in which this matrix of the block is stored."""
    template = block.prefix + matrix.name
    experts = range(matrix.copies) if by_expert and "{e}" in template and matrix.copies <= MOST_EXPERTS else range(1)
    layers = block.layers if by_layer else block.layers[:1]
    groups: dict[tuple[tuple[Layout, float], ...], list[int]] = {}
    for layer in layers:
        at = template.replace("{i}", str(layer))
        found: dict[Layout, int] = {}
        for expert in experts:
            layout = choose(block, matrix, at.replace("{e}", str(expert)), layer)
            found[layout] = found.get(layout, 0) + 1
        mixture = tuple((layout, n / len(experts)) for layout, n in found.items())
        groups.setdefault(mixture, []).append(layer)
    for mixture, alike in groups.items():
        for layout, share in mixture:
            yield (tuple(alike) if by_layer else block.layers), layout, share


def _is_gguf(name: str) -> bool:
    return name != "checkpoint" and find_format(name).family == "gguf"


def _chooser(arch: Architecture, name: str) -> tuple[Chooser, tuple[bool, bool]]:
    """The function that gives each matrix its layout, and whether it looks at layer and expert numbers."""
    if name == "checkpoint":
        return _from_checkpoint(arch)
    one = find_format(name)
    if one.family == "gguf":
        return _from_gguf(arch, one), (True, False)
    return _from_format(arch, one), (False, False)


def _from_checkpoint(arch: Architecture) -> tuple[Chooser, tuple[bool, bool]]:
    scheme, wide = checkpoint_scheme(arch), default_layout(arch)
    if scheme is None:
        return lambda block, matrix, path, layer: wide, (False, False)

    def choose(block: Block, matrix: Matrix, path: str, layer: int) -> Layout:
        return scheme.layout(matrix, block.part, path) or wide

    return choose, (scheme.by_layer, scheme.by_expert)


def _from_gguf(arch: Architecture, one: Format) -> Chooser:
    file_type, shape = FILE_TYPES.get(one.name, one.name), gguf.Shape.of(arch)
    embedding = next((m for _, m in arch.matrices("text") if m.role == "embedding"), None)

    def choose(block: Block, matrix: Matrix, path: str, layer: int) -> Layout:
        if block.part in ("vision", "audio", "projector"):
            return layouts.FP16 if matrix.kind == "linear" else layouts.FP32
        if matrix.tied and embedding is not None:
            matrix = embedding
        return gguf.mix_layout(file_type, matrix, path, layer, shape)

    return choose


def _from_format(arch: Architecture, one: Format) -> Chooser:
    layout = one.layout
    assert layout is not None
    if one.family == "plain":
        return lambda block, matrix, path, layer: layout
    mixture = any(m.role == "experts" for _, m in arch.matrices("text"))
    experts_only = one.name == "mxfp4" and mixture
    left = frozenset({"embedding", "positions", "per-layer embedding", "norm", "router", "head"})

    def choose(block: Block, matrix: Matrix, path: str, layer: int) -> Layout:
        if matrix.kind != "linear" or matrix.role in left or block.part != "text":
            return layouts.BF16
        return layouts.BF16 if experts_only and matrix.role != "experts" else layout

    return choose
