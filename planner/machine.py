"""Measure the machine that this program runs on: memory bandwidth and matrix products, by numpy alone.

Copy and triad are those of STREAM (McCalpin, https://www.cs.virginia.edu/stream/ref.html): bytes are counted once for
each array read or written, without the extra read that most caches do before a write.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.errors import MeasurementError
from planner.hostinfo import available_memory, cpu_name, last_level_cache, total_memory, usable_cpus
from planner.units import rounded

Progress = Callable[[float, str], None]

Array = npt.NDArray[Any]

_GB, _GIB, _MIB = 1e9, 2**30, 2**20
_NAME_LENGTH = 60  # longest name of a typed-in device
_MEMORY_SHARE = 0.25
_MEMORY_CAP = 2**30
_SMALLEST_BUFFER = 8 * _MIB
_LARGEST_BUFFER = 256 * _MIB
# STREAM asks for arrays of at least four times the last cache.
_CACHE_MULTIPLE = 4
# Elements of one block of the triad: its two passes must meet in the first or second cache (128 KiB an array).
_BLOCK = 16_384
_SECONDS_EACH = 2.0
_FEWEST_REPEATS, _MOST_REPEATS = 3, 15
_SIDES = (512, 1024, 2048)
_PRODUCT_SECONDS = 0.25


@dataclass(frozen=True)
class Rate:
    """Repeated timing: median, and the 10th and 90th percentile, all per second."""

    median: float
    low: float
    high: float
    repeats: int

    @property
    def spread(self) -> float:
        """(p90 - p10) / median: 0 where every repeat took the same time."""
        return (self.high - self.low) / self.median


@dataclass(frozen=True)
class Machine:
    """What numpy reaches here: bytes/s by copy and triad, FLOP/s of fp32 matrix products, memory in bytes."""

    cpu: str | None
    threads: int
    total_memory_bytes: int | None
    buffer_bytes: int
    copy_bytes_per_s: Rate
    triad_bytes_per_s: Rate
    flops: Rate
    matrix_side: int
    notes: tuple[str, ...]

    @property
    def bandwidth(self) -> Rate:
        """The faster of copy and triad [bytes/s]: the nearer one to what the memory can do."""
        return max(self.copy_bytes_per_s, self.triad_bytes_per_s, key=lambda rate: rate.median)

    def scenario_choices(self) -> dict[str, str | float]:
        """Choices that make this machine the typed-in device: GiB (2^30), GB/s (1e9) and, from fp32, TFLOP/s.

        Four digits: no measurement repeats better, and they travel in the link.
        """
        choices: dict[str, str | float] = {
            "device": "custom",
            "device_kind": "cpu",
            "device_name": f"This machine ({self.cpu or 'unknown CPU'})"[:_NAME_LENGTH],
            "device_bandwidth_gb_s": rounded(self.bandwidth.median / _GB, 4),
            "device_tflops": rounded(self.flops.median / 1e12, 4),
        }
        if self.total_memory_bytes is not None:
            choices["device_memory_gib"] = rounded(self.total_memory_bytes / _GIB, 4)
        return choices


def measure(progress: Progress | None = None) -> Machine:
    """Measure bandwidth and FLOP/s, in about 5 to 10 seconds and at most 1 GiB of memory.

    Arguments: `progress` is called with the fraction done (0 to 1) and one sentence.
    Raises MeasurementError where too little memory is free.
    """
    tell = progress or _silent
    threads = usable_cpus()
    elements = _buffer_bytes(available_memory()) // 8
    copied, added = _bandwidth(elements, threads, tell)
    side, left, right = _matrices()
    result = np.empty_like(left)

    def product() -> None:
        np.matmul(left, right, out=result)

    flops = _rate(product, 2.0 * side**3, tell, 0.65, 1.0, f"Multiplying {side:,} x {side:,} matrices")
    tell(1.0, "Done.")
    return Machine(
        cpu=cpu_name(),
        threads=threads,
        total_memory_bytes=total_memory(),
        buffer_bytes=8 * elements,
        copy_bytes_per_s=copied,
        triad_bytes_per_s=added,
        flops=flops,
        matrix_side=side,
        notes=tuple(_notes(8 * elements, last_level_cache(), max(copied, added, key=lambda rate: rate.median), flops)),
    )


def _bandwidth(elements: int, threads: int, tell: Progress) -> tuple[Rate, Rate]:
    """Copy and triad [bytes/s] over three buffers of fp64 elements, shared out to the threads."""
    tell(0.0, f"Filling three buffers of {elements * 8 / _MIB:,.0f} MiB.")
    source, other, target = np.ones(elements), np.full(elements, 2.0), np.zeros(elements)
    parts = _parts(elements, threads)
    with ThreadPoolExecutor(threads) as pool:

        def copy() -> None:
            list(pool.map(lambda part: np.copyto(target[part], source[part]), parts))

        def triad() -> None:
            list(pool.map(lambda part: _triad(target[part], source[part], other[part]), parts))

        copied = _rate(copy, 2.0 * source.nbytes, tell, 0.05, 0.35, "Copying memory")
        return copied, _rate(triad, 3.0 * source.nbytes, tell, 0.35, 0.65, "Adding arrays (triad)")


def _silent(fraction: float, sentence: str) -> None:
    return None


def _buffer_bytes(available: int | None) -> int:
    """Bytes of each of the three buffers: a quarter of what is free in all, and at most 1 GiB."""
    allowed = _MEMORY_CAP if available is None else min(_MEMORY_CAP, int(available * _MEMORY_SHARE))
    each = min(allowed // 3, _LARGEST_BUFFER)
    if each < _SMALLEST_BUFFER:
        raise MeasurementError(
            f"Only {(available or 0) / _MIB:,.0f} MiB of memory are free; measuring takes at least "
            f"{3 * _SMALLEST_BUFFER / _MEMORY_SHARE / _MIB:,.0f} MiB. Close other programs and try again."
        )
    return each // (8 * _BLOCK) * (8 * _BLOCK)


def _parts(elements: int, threads: int) -> list[slice]:
    """One contiguous stretch of the buffers a thread."""
    edges = np.linspace(0, elements, threads + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def _triad(target: Array, source: Array, other: Array) -> None:
    """Target = source + 3 x other in blocks, so that the product stays in the cache until the sum takes it."""
    for start in range(0, len(target), _BLOCK):
        block = slice(start, start + _BLOCK)
        np.multiply(other[block], 3.0, out=target[block])
        np.add(target[block], source[block], out=target[block])


def _matrices() -> tuple[int, Array, Array]:
    """The largest pair of fp32 matrices whose product takes a fraction of a second here; the trials warm up."""
    generator = np.random.default_rng(0)
    for side in _SIDES:
        left, right = (generator.standard_normal((side, side), dtype=np.float32) for _ in range(2))
        started = time.perf_counter()
        np.matmul(left, right)
        # The next side takes eight times as long.
        if side == _SIDES[-1] or 8 * (time.perf_counter() - started) > _PRODUCT_SECONDS:
            break
    return side, left, right


def _rate(task: Callable[[], None], amount: float, tell: Progress, start: float, stop: float, words: str) -> Rate:
    """Warm up once, then repeat until enough repeats or the time is used; rate = amount / seconds."""
    tell(start, f"{words}: warm-up.")
    task()
    rates: list[float] = []
    began = time.perf_counter()
    while len(rates) < _MOST_REPEATS:
        before = time.perf_counter()
        task()
        now = time.perf_counter()
        # A clock tick at the least, so that a coarse clock gives a bounded figure.
        rates.append(amount / max(now - before, 1e-6))
        used = max(len(rates) / _MOST_REPEATS, (now - began) / _SECONDS_EACH)
        tell(min(start + (stop - start) * min(used, 1.0), 1.0), f"{words}: repeat {len(rates)}.")
        if len(rates) >= _FEWEST_REPEATS and now - began > _SECONDS_EACH:
            break
    low, high = np.percentile(rates, [10, 90])
    return Rate(statistics.median(rates), float(low), float(high), len(rates))


def _notes(buffer: int, cache: int | None, bandwidth: Rate, flops: Rate) -> list[str]:
    notes = [
        "This measures the machine the app runs on, which is not your own computer when the app is on a server.",
        "A timing in Python by numpy ranks no GPU framework: it shows what this CPU and its memory reach, "
        "and an engine with its own kernels may be somewhat faster.",
        "Matrix products are in fp32; a CPU with bf16 or int8 units is faster in those.",
    ]
    if cache is not None and buffer < _CACHE_MULTIPLE * cache:
        notes.append(
            f"The buffers ({buffer / _MIB:,.0f} MiB) are less than {_CACHE_MULTIPLE} times the cache "
            f"({cache / _MIB:,.0f} MiB), so the bandwidth may be too high."
        )
    if max(bandwidth.spread, flops.spread) > 0.3:
        notes.append("The repeats differ by more than 30 %: other programs were running, so measure again.")
    return notes
