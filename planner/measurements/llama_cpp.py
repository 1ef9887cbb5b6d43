"""llama.cpp: `timings` of llama-server and the timing lines that llama-cli and llama-server print.

llama-server starts its generation clock at the first token (`n_decoded == 1`), so `predicted_ms` spans
`predicted_n` - 1 steps; the `eval time ... runs` of llama-cli counts the steps themselves.
Source: tools/server in https://github.com/ggml-org/llama.cpp.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.measurements.documents import Pasted
from planner.measurements.measured import Measured
from planner.measurements.numbers import at, byte_size, number, ratio, scaled, text
from planner.measurements.single import one_request

_LINE = re.compile(
    r"\b(load time|prompt eval time|eval time|total time)\s*=\s*([\d.]{1,18}) ms(?:\s*/\s*(\d{1,9}) (tokens|runs))?"
)
_BUFFER = re.compile(r"\b(\w{1,40})\s{1,20}(model|KV|compute|RS)(?: self)? buffer size\s*=\s*([\d.]{1,12} [KMG]iB)")
_DEVICE = re.compile(r"using device \w+ \((.{1,100}?)\)")
_HOST_BUFFERS = ("CPU", "CUDA_Host", "Vulkan_Host", "ROCm_Host", "SYCL_Host")


def read(pasted: Pasted) -> Measured | None:
    """The figures of the last answer, None where the text has no timings of llama.cpp."""
    answers = [item for item in pasted.objects if at(_timings(item), "predicted_ms") is not None]
    if answers:
        return _from_timings(_timings(answers[-1]), text(answers[-1].get("model")))
    return _from_lines(pasted)


def _timings(item: Mapping[str, Any]) -> Any:
    return item.get("timings", item)


def _from_timings(timings: Any, model: str | None) -> Measured:
    computed, cached = number(at(timings, "prompt_n")), number(at(timings, "cache_n"))
    output, drafted, accepted = (number(at(timings, key)) for key in ("predicted_n", "draft_n", "draft_n_accepted"))
    measured = _measured(
        label="llama.cpp server",
        model=model,
        prompt=computed,
        prefill=scaled(at(timings, "prompt_ms"), 1e-3),
        output=output,
        decode=scaled(at(timings, "predicted_ms"), 1e-3),
        counted=output,
        steps=output - 1 if output and output > 1 else None,
    )
    prompt = computed + (cached or 0.0) if computed is not None else None
    notes = list(measured.notes)
    if cached and prompt:
        notes.append(f"{cached:,.0f} of {prompt:,.0f} prompt tokens came from the cache; prefill counts the others.")
    if drafted:
        share = ratio(accepted, drafted) or 0.0
        notes.append(f"Speculative decoding accepted {share:.0%} of the drafted tokens: one step gives several tokens.")
    return replace(measured, prompt_tokens=prompt, prefix_hit_rate=ratio(cached, prompt), notes=tuple(notes))


def _from_lines(pasted: Pasted) -> Measured | None:
    found: dict[str, tuple[float, float | None, str | None]] = {}
    memory: dict[str, float] = {}
    for line in pasted.lines:
        if match := _LINE.search(line):
            milliseconds = number(match.group(2))
            if milliseconds is not None:
                found[match.group(1)] = (milliseconds * 1e-3, number(match.group(3)), match.group(4))
        buffer = _BUFFER.search(line) if "buffer size" in line else None
        if buffer and not buffer.group(1).startswith(_HOST_BUFFERS):
            memory[" ".join(buffer.groups()[:2])] = byte_size(buffer.group(3)) or 0.0
    if "eval time" not in found:
        return None
    decode, tokens, unit = found["eval time"]
    prefill, computed, _ = found.get("prompt eval time", (None, None, None))
    # `runs` are decode steps; `tokens` (llama-server) are output tokens, the first of which took no step.
    steps = tokens if unit == "runs" else tokens - 1 if tokens and tokens > 1 else None
    measured = _measured(
        label="llama.cpp server log" if unit == "tokens" else "llama.cpp command line",
        model=None,
        prompt=computed,
        prefill=prefill,
        output=tokens + 1 if unit == "runs" and tokens else tokens,
        decode=decode,
        counted=tokens,
        steps=steps,
    )
    device = next((match.group(1) for line in pasted.lines if (match := _DEVICE.search(line))), None)
    load = found.get("load time", (None,))[0]
    return replace(measured, device=device, load_s=load, peak_memory_bytes=sum(memory.values()) or None)


def _measured(*, decode: float | None, counted: float | None, steps: float | None, **more: Any) -> Measured:
    measured = one_request(tool="llama.cpp", decode=decode, counted=counted, steps=steps, **more)
    notes = ["One request, timed inside llama.cpp: network, and the wait for a free slot, are excluded."]
    reported, tpot = measured.reported_decode_tok_per_s, measured.tpot_s.mean
    if reported and tpot and abs(reported * tpot - 1.0) > 1e-9:
        notes.append(f"TPOT is the decode time over {steps:,.0f} steps: the first token comes out of prefill.")
    return replace(measured, notes=tuple(notes))
