"""Time of one forward pass: the ceiling that arithmetic sets, and the expectation from measured efficiencies.

    step time = max(FLOPs / (compute share x peak), bytes / (memory share x bandwidth)) + per step + layer + all-reduce

The ceiling has shares 1 and overheads 0: no real system beats it. The expectation has the shares and overheads that
published measurements of that device class and engine give (see efficiency.py) and comes as a band.
Sources: Williams et al. 2009 (roofline); Pope et al. 2022, Efficiently Scaling Transformer Inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from planner.devices import Device
from planner.engines import Engine
from planner.layout import Array, Number
from planner.work import Work, total


@dataclass(frozen=True)
class Machine:
    """Bandwidth in bytes/s and dense peaks in FLOP/s by compute type; scalars, or arrays over devices.

    peaks  as vendors print them, with FP32 accumulation: what measured efficiencies are shares of
    best   the fastest that software may use (None: the same): what ceilings and floors are made of
    """

    bandwidth: Number
    peaks: Mapping[str, Number]
    best: Mapping[str, Number] | None = None

    @property
    def bound(self) -> Machine:
        """The machine that ceilings and floors are made of."""
        return self if self.best is None else Machine(self.bandwidth, self.best)

    @staticmethod
    def of(device: Device, work: Work, engine: Engine) -> Machine:
        """The machine that one device is for this work, with the peak that applies to each compute type."""
        peaks = {c: device.peak(c)[0] for c in work.computes}
        return Machine(device.bandwidth, peaks, fastest(device, work, engine))

    @staticmethod
    def stack(machines: Sequence[Machine]) -> Machine:
        """Several machines as one of arrays with a place for each."""
        first = machines[0]
        return Machine(
            np.array([m.bandwidth for m in machines], float),
            {c: np.array([m.peaks[c] for m in machines], float) for c in first.peaks},
            {c: np.array([m.bound.peaks[c] for m in machines], float) for c in first.peaks},
        )


# Compute types whose numbers fit into 16 bits.
WIDENED: Final = ("fp8", "int8", "fp4", "int4")


def fastest(device: Device, work: Work, engine: Engine) -> dict[str, float]:
    """Peaks in FLOP/s by compute type that no software exceeds on this device.

    GeForce cards run FP16 and FP8 with FP16 accumulation at twice the printed FP32-accumulate rates, which llama.cpp
    and others use; llama.cpp multiplies block-quantized weights in 8-bit integers; and narrow numbers can always be
    widened to 16 bit, which some chips multiply faster than 8-bit integers (B300). Source: the device table's
    `fp16_accumulate`; NVIDIA, Ada GPU architecture (FP8 with FP16 accumulate); llama.cpp ggml-cuda (MMQ kernels).
    """
    peaks = {c: device.peak(c)[0] for c in work.computes}
    if "half rate" in device.fp16_accumulate or "fp32 accumulate" in device.notes:
        doubled = [c for c in peaks if c == "fp16" or (c == "fp8" and "fp8" in device.peaks)]
        peaks |= {c: 2 * peaks[c] for c in doubled}
    if "gguf" in engine.formats and work.quantized:
        peaks["fp16"] = max(peaks["fp16"], device.peaks.get("int8", 0.0))
    return {c: max(rate, peaks["fp16"]) if c in WIDENED else rate for c, rate in peaks.items()}


@dataclass(frozen=True)
class Overheads:
    """What keeps a real engine from the ceiling; the defaults are the ceiling itself.

    memory, compute  share of bandwidth and of peak FLOP/s reached
    step_s, layer_s  seconds added to each step, and per layer
    reduce_s         seconds added per layer when tensor parallel
    sequence_s       seconds added per sequence of a decode step (sampling, scheduling)
    """

    memory: Number = 1.0
    compute: Number = 1.0
    step_s: Number = 0.0
    layer_s: Number = 0.0
    reduce_s: Number = 0.0
    sequence_s: Number = 0.0

    def added(self, work: Work) -> Number:
        """Seconds added to a step of this model and layout."""
        reduce = self.reduce_s if work.layout.tensor > 1 else 0.0
        return self.step_s * work.layout.pipeline + (self.layer_s + reduce) * work.arch.n_layers


CEILING: Final = Overheads()


def compute_seconds(flops: Mapping[str, Number], machine: Machine) -> Array:
    """Seconds that these FLOPs take at the peak of their compute types (infinite where there is no peak)."""
    return np.asarray(sum(np.asarray(f, float) / np.asarray(machine.peaks[c], float) for c, f in flops.items()))


def decode_parts(work: Work, machine: Machine, batch: Number, context: Number) -> tuple[Array, Array]:
    """Seconds of compute and of memory traffic of one decode step, at the ceiling.

    batch    sequences in the step, dealt evenly to the groups of attention data parallelism
    context  tokens that each holds; both broadcast. The times are those of the fullest device.
    """
    b = np.asarray(batch, float)
    # A whole sequence at least: with fewer sequences than groups, some groups have one and the others none.
    local = np.maximum(b / work.layout.attention_data, np.minimum(b, 1.0))
    memory = (work.weight_read(b) + local * work.caches.step_read(context)) / np.asarray(machine.bandwidth, float)
    return compute_seconds(work.step_flops(b, local, context), machine), memory


def pipeline_part(work: Work, batch: Number) -> Array:
    """Sequences that pass the pipeline together: the batch is cut into as many parts as there are stages."""
    b = np.asarray(batch, float)
    return np.asarray(b / np.minimum(b, work.layout.pipeline))


def decode_step(work: Work, machine: Machine, batch: Number, context: Number, over: Overheads = CEILING) -> Array:
    """Seconds of one decode step of the whole copy for `batch` sequences at `context` tokens (arrays broadcast).

    With pipeline stages, the batch is cut into as many parts as there are stages, and a token passes all stages.
    """
    micro = pipeline_part(work, batch)
    compute, memory = decode_parts(work, machine, micro, context)
    busy = np.maximum(compute / over.compute, memory / over.memory)
    return busy + over.added(work) + over.sequence_s * micro


def decode_rate(work: Work, machine: Machine, batch: Number, context: Number, over: Overheads = CEILING,
                accepted: float = 1.0) -> Array:  # fmt: skip
    """Output tokens per second of all `batch` sequences of one copy; `accepted` tokens per step and sequence."""
    return accepted * np.asarray(batch, float) / decode_step(work, machine, batch, context, over)


def prefill_parts(work: Work, machine: Machine, tokens: Number, cached: Number = 0) -> tuple[Array, Array]:
    """Seconds of compute and of memory traffic to prefill one prompt, at the ceiling.

    tokens  prompt length; cached: its first tokens that need no work but are read again. The cache of the new ones is
            written, so either way it passes through memory once.
    """
    flops = work.prefill_flops(tokens, cached)
    new = np.maximum(np.asarray(tokens, float) - np.asarray(cached, float), 0)
    memory = work.weight_read(new) + work.caches.prompt_moved(tokens)
    return compute_seconds(flops, machine), memory / np.asarray(machine.bandwidth, float)


def pipelined(tokens: Number, stages: int, chunk: Number) -> Array:
    """Share of a prompt's time that is left when its chunks fill the pipeline: (m + k - 1) / (m k), m chunks, k stages.

    Four layer-split GPUs with llama.cpp's micro-batches of 512 show it: 1.6 times as fast at 1,024 tokens, 2.9 at
    4,096.
    """
    parts = np.maximum(np.ceil(np.asarray(tokens, float) / np.asarray(chunk, float)), 1.0)
    return np.asarray((parts + stages - 1) / (parts * stages))


def prefill_time(work: Work, machine: Machine, tokens: Number, cached: Number = 0, over: Overheads = CEILING,
                 chunk: Number = np.inf) -> Array:  # fmt: skip
    """Seconds to prefill one prompt alone: compute, but not less than reading the weights once.

    chunk  tokens of a step; with pipeline stages, chunks of a longer prompt are worked on at the same time
    """
    compute, memory = prefill_parts(work, machine, tokens, cached)
    compute = compute * pipelined(np.asarray(tokens, float) - np.asarray(cached, float), work.layout.pipeline, chunk)
    return np.maximum(compute / over.compute, memory / over.memory) + over.added(work)


def compute_bound_from(work: Work, machine: Machine, context: Number, limit: int = 65_536) -> int | None:
    """The smallest batch whose decode step takes longer in compute than in memory traffic (None: not up to `limit`)."""
    low, high = 1, limit
    while True:
        grid = np.array(sorted({round(n) for n in np.geomspace(low, high, 64).tolist()}))
        compute, memory = decode_parts(work, machine, pipeline_part(work, grid), context)
        over = np.flatnonzero(compute >= memory)
        if not len(over):
            return None
        first = int(over[0])
        if first == 0 or grid[first] - grid[first - 1] == 1:
            return int(grid[first])
        low, high = int(grid[first - 1]) + 1, int(grid[first])


def textbook_ceiling(bandwidth: npt.ArrayLike, weight_bytes: npt.ArrayLike) -> Array:
    """The textbook form: tokens per second = bandwidth (bytes/s) / bytes of weights, nothing else counted."""
    return np.asarray(np.asarray(bandwidth, float) / np.asarray(weight_bytes, float))


__all__ = ["CEILING", "Machine", "Overheads", "compute_bound_from", "compute_seconds", "decode_parts", "decode_rate",
           "decode_step", "prefill_parts", "prefill_time", "textbook_ceiling", "total"]  # fmt: skip
