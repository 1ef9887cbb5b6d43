"""Which tool wrote a pasted text, and its figures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from planner.errors import MeasurementError
from planner.measurements import aiperf, curl, guidellm, llama_bench, llama_cpp, ollama, serving_bench, vllm_metrics
from planner.measurements.checks import checked
from planner.measurements.documents import Pasted, prepare
from planner.measurements.measured import Measured

# Most telling first: curl last, since its words may stand beside any other output.
_READERS: tuple[Callable[[Pasted], Measured | None], ...] = (
    ollama.read,
    llama_bench.read,
    serving_bench.read,
    guidellm.read,
    aiperf.read,
    llama_cpp.read,
    curl.read,
)
LOOKED_FOR = (
    "Ollama (JSON with eval_count, or --verbose)",
    "llama-bench (table, CSV, JSON, SQL)",
    "llama.cpp timings (predicted_ms, eval time)",
    "vllm bench serve and SGLang bench_serving (Serving Benchmark Result, or JSON)",
    "vLLM /metrics (vllm:...)",
    "GuideLLM (tables, or JSON with benchmarks)",
    "AIPerf and genai-perf (table, CSV, JSON)",
    "curl -w (starttransfer)",
)
"""What the recogniser knows, as the error message names it."""


def read(text: str, second: str | None = None, seconds: float | None = None) -> Measured:
    """Figures of a pasted tool output, in seconds, tokens and tokens/s.

    Arguments: `text` the output; `second` a later scrape of the same vLLM /metrics; `seconds` between the two [s].
    Raises MeasurementError where nothing is recognised, no figure can be read, or a text is over 2,000,000 characters.
    """
    pasted = prepare(text)
    later = prepare(second) if second is not None and second.strip() else None
    measured = vllm_metrics.read(pasted, later, seconds)
    if measured is None:
        measured = next((found for reader in _READERS if (found := reader(pasted)) is not None), None)
        if measured is not None and later is not None:
            note = "A second text was given and not used: only two scrapes of vLLM /metrics are compared."
            measured = replace(measured, notes=(*measured.notes, note))
    if measured is None:
        raise MeasurementError(
            f"The output was not recognised. Looked for: {'; '.join(LOOKED_FOR)}. "
            "Paste the whole output, with its header lines."
        )
    if not measured.any_figure:
        raise MeasurementError(
            f"This looks like the output of {measured.label}, but it holds no time or rate that can be used. "
            "Paste the whole output of a run that finished."
        )
    return checked(measured)
