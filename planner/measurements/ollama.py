"""Ollama: the last object of /api/generate and /api/chat (streamed or not), and `ollama run --verbose`.

Field meanings: https://github.com/ollama/ollama/blob/main/docs/api.md. Durations are nanoseconds in JSON and Go
durations on the console. The generation clock of the runner starts when the first token is sampled, so
`eval_duration` spans `eval_count` - 1 decode steps, while Ollama divides all `eval_count` tokens by it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from planner.measurements.documents import Pasted
from planner.measurements.measured import Measured, Stat
from planner.measurements.numbers import go_duration, number, scaled, text
from planner.measurements.single import one_request
from planner.units import digits, duration

_NANO = 1e-9
_CONSOLE = re.compile(
    r"^[\s>*-]*(total duration|load duration|prompt eval count|prompt eval duration|prompt eval rate"
    r"|eval count|eval duration|eval rate):\s+(\S+)"
)
# Above this share of the total, loading the weights is what was measured.
_LOAD_SHARE = 0.05


def read(pasted: Pasted) -> Measured | None:
    """The figures of the last finished answer, None where the text is not from Ollama."""
    final = [item for item in pasted.objects if _is_answer(item)]
    if final:
        return _measured(_from_json(final[-1]), text(final[-1].get("model")))
    console: dict[str, str] = {}
    for line in pasted.lines:
        if found := _CONSOLE.match(line):
            console[found.group(1)] = found.group(2)
    if "eval count" in console or "eval duration" in console:
        return _measured(_from_console(console), None)
    return None


def _is_answer(item: Mapping[str, Any]) -> bool:
    return "eval_duration" in item and "eval_count" in item


def _from_json(item: Mapping[str, Any]) -> dict[str, float | None]:
    return {
        "total": scaled(item.get("total_duration"), _NANO),
        "load": scaled(item.get("load_duration"), _NANO),
        "prompt_tokens": number(item.get("prompt_eval_count")),
        "prefill": scaled(item.get("prompt_eval_duration"), _NANO),
        "output_tokens": number(item.get("eval_count")),
        "decode": scaled(item.get("eval_duration"), _NANO),
    }


def _from_console(console: Mapping[str, str]) -> dict[str, float | None]:
    return {
        "total": go_duration(console.get("total duration", "")),
        "load": go_duration(console.get("load duration", "")),
        "prompt_tokens": number(console.get("prompt eval count")),
        "prefill": go_duration(console.get("prompt eval duration", "")),
        "output_tokens": number(console.get("eval count")),
        "decode": go_duration(console.get("eval duration", "")),
    }


def _measured(figures: Mapping[str, float | None], model: str | None) -> Measured:
    total, load, prefill, decode = (figures[key] for key in ("total", "load", "prefill", "decode"))
    prompt, output = figures["prompt_tokens"], figures["output_tokens"]
    ttft, e2e = _warm_times(total, load, prefill, decode)
    steps = output - 1 if output and output > 1 else None
    measured = one_request(
        tool="ollama", label="Ollama", model=model, prompt=prompt, output=output, prefill=prefill, decode=decode,
        steps=steps, counted=output, load_s=load, ttft_s=Stat(mean=ttft), e2e_s=Stat(mean=e2e),
    )  # fmt: skip
    return replace(measured, notes=tuple(_notes(figures, measured)))


def _warm_times(
    total: float | None, load: float | None, prefill: float | None, decode: float | None
) -> tuple[float | None, float | None]:
    """TTFT and end-to-end time without loading [s]: everything before the first token but the load is TTFT."""
    if total is None or decode is None or total - (load or 0.0) < decode:
        return prefill, None
    warm = total - (load or 0.0)
    return max(warm - decode, prefill or 0.0), warm


def _notes(figures: Mapping[str, float | None], measured: Measured) -> list[str]:
    reported, tpot = measured.reported_decode_tok_per_s, measured.tpot_s.mean
    notes = ["One request alone, timed inside Ollama: network and client are excluded."]
    load, total = figures["load"], figures["total"]
    if total is not None and total < (load or 0.0) + (figures["decode"] or 0.0):
        notes.append(
            f"The total of {duration(total)} is less than loading and answering together "
            f"({duration((load or 0.0) + (figures['decode'] or 0.0))}): one of them is wrong, so the whole is left out."
        )
    elif load and total and load > _LOAD_SHARE * total:
        notes.append(
            f"Loading the weights took {duration(load)} of {duration(total)} and is left out of TTFT; "
            "a second call shows the warm figures."
        )
    if reported and tpot:
        notes.append(
            f"Ollama divides all {figures['output_tokens']:.0f} tokens by the time after the first one "
            f"({digits(reported, 4)} tokens/s); TPOT here divides by one token less ({digits(1 / tpot, 4)} tokens/s)."
        )
    if not figures["prompt_tokens"]:
        notes.append("No prompt_eval_count: the prompt came whole from the cache, so prefill was not measured.")
    else:
        notes.append(
            "Ollama counts the whole prompt in prompt_eval_count even where a cached prefix was skipped: "
            "use a prompt that was not sent before."
        )
    return notes
