"""One request that the engine timed itself: what Ollama and llama.cpp print after an answer."""

from __future__ import annotations

from typing import Any

from planner.measurements.measured import Measured, Stat
from planner.measurements.numbers import positive, ratio


def one_request(*, prompt: float | None, output: float | None, prefill: float | None, decode: float | None,
                steps: float | None, counted: float | None, **more: Any) -> Measured:  # fmt: skip
    """The figures of one request alone; the first token comes out of prefill, so TTFT is prefill unless told otherwise.

    prompt, output    tokens; prompt: those that were computed
    prefill, decode   seconds of each part
    steps             decode steps in that time: rate and TPOT here
    counted           tokens that the tool divides by that time: the rate that it prints
    more              further fields of Measured, such as tool, label, model and notes
    """
    tpot = ratio(decode, steps) or None
    whole = prefill + decode if prefill is not None and decode is not None else None
    usual = {"ttft_s": Stat(mean=prefill), "e2e_s": Stat(mean=whole)}
    return Measured(
        kind="single", prompt_tokens=prompt, output_tokens=output, in_flight=1.0, completed=1, prefill_s=prefill,
        tpot_s=Stat(mean=tpot), prefill_tok_per_s=ratio(prompt, positive(prefill)), decode_tok_per_s=ratio(1.0, tpot),
        reported_decode_tok_per_s=ratio(counted, positive(decode)), **(usual | more),
    )  # fmt: skip
