"""What a tool measured, with units and denominators made equal: seconds, tokens, tokens/s, fractions of one."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Kind = Literal["single", "serving", "metrics"]
Loop = Literal["closed", "open", "burst"]
Bracket = tuple[float, float | None]
"""Lower and upper bound [s]; an upper bound of None is open (the last bucket of a histogram)."""


@dataclass(frozen=True)
class Stat:
    """One distribution of times [s]; None where the tool does not print the figure.

    A bracket holds the bucket bounds when the figure was interpolated in a histogram.
    """

    mean: float | None = None
    median: float | None = None
    p90: float | None = None
    p95: float | None = None
    p99: float | None = None
    median_bracket: Bracket | None = None
    p90_bracket: Bracket | None = None
    p99_bracket: Bracket | None = None

    @property
    def typical(self) -> float | None:
        """The median where there is one, else the mean [s]."""
        return self.median if self.median is not None else self.mean

    @property
    def centre(self) -> float | None:
        """The mean where there is one, else the median [s]: for sums and Little's law."""
        return self.mean if self.mean is not None else self.median

    @property
    def empty(self) -> bool:
        """True where no figure is known."""
        return all(getattr(self, item.name) is None for item in fields(self))


@dataclass(frozen=True)
class BenchRow:
    """One row of llama-bench: a prompt test (`pp`), a generation test (`tg`) or both in one (`pg`)."""

    test: Literal["pp", "tg", "pg"]
    prompt_tokens: int
    output_tokens: int
    depth: int
    tok_per_s: float
    stddev_tok_per_s: float | None = None
    model: str | None = None
    device: str | None = None
    backend: str | None = None
    weight_bytes: float | None = None
    params: float | None = None
    gpu_layers: int | None = None


@dataclass(frozen=True)
class Measured:
    """Figures read from the output of one tool; None where the tool does not say.

    TPOT is (end-to-end - TTFT) / (output tokens - 1) for every tool; `decode_tok_per_s` is one sequence alone and is
    the inverse of the mean TPOT, `reported_decode_tok_per_s` is the rate as the tool itself divides it.
    `output_tok_per_s` is all sequences together. `prompt_tokens` and `output_tokens` are means per request.
    """

    tool: str
    label: str
    kind: Kind
    version: str | None = None
    model: str | None = None
    device: str | None = None
    prompt_tokens: float | None = None
    output_tokens: float | None = None
    concurrency: float | None = None
    max_concurrency: float | None = None
    in_flight: float | None = None
    request_rate: float | None = None
    loop: Loop | None = None
    sent: int | None = None
    completed: int | None = None
    failed: int | None = None
    duration_s: float | None = None
    load_s: float | None = None
    prefill_s: float | None = None
    ttft_s: Stat = Stat()
    tpot_s: Stat = Stat()
    itl_s: Stat = Stat()
    e2e_s: Stat = Stat()
    queue_s: Stat = Stat()
    prefill_tok_per_s: float | None = None
    implied_prefill_tok_per_s: float | None = None
    decode_tok_per_s: float | None = None
    reported_decode_tok_per_s: float | None = None
    output_tok_per_s: float | None = None
    total_tok_per_s: float | None = None
    request_per_s: float | None = None
    goodput_per_s: float | None = None
    accept_length: float | None = None
    kv_usage: float | None = None
    running: float | None = None
    waiting: float | None = None
    prefix_hit_rate: float | None = None
    preemptions: float | None = None
    peak_memory_bytes: float | None = None
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    rows: tuple[BenchRow, ...] = ()
    runs: tuple[Measured, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Plain dict for JSON, in the order of the fields."""
        return asdict(self)

    @property
    def attainment(self) -> float | None:
        """Share of all requests sent that met every limit: failed ones count as missed."""
        if self.goodput_per_s is None or not self.duration_s or not (self.sent or self.completed):
            return None
        return min(self.goodput_per_s * self.duration_s / float(self.sent or self.completed or 1), 1.0)

    @property
    def any_figure(self) -> bool:
        """True where at least one time, rate or level was read."""
        times = (self.ttft_s, self.tpot_s, self.itl_s, self.e2e_s, self.queue_s)
        levels = (
            self.prefill_tok_per_s,
            self.decode_tok_per_s,
            self.output_tok_per_s,
            self.request_per_s,
            self.kv_usage,
            self.running,
            self.waiting,
        )
        return any(not stat.empty for stat in times) or any(level is not None for level in levels) or bool(self.rows)
