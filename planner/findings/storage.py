"""Findings where engines store the same model differently: both answers, and which one this engine gives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from planner.findings.draft import Draft
from planner.plan import Plan
from planner.resolve import budget_of
from planner.units import count, gib

# Two ways of storing differ much from this ratio of what is held on. A judgement: well beyond the 5 % by which a budget
# errs in most start logs (see Evidence), so that the engine decides the answer and not the estimate.
MUCH: Final = 1.3


def storage(p: Plan) -> Iterator[Draft]:
    """Window pages freed or kept, recurrent state in 32 or 16 bit, where the choice changes much."""
    if p.fits == "cannot load":
        return
    s = p.scenario
    if p.work.caches.windowed:
        freed, kept = (budget_of(s.change(window_pages=way)).pool_tokens for way in ("freed", "kept"))
        if freed > MUCH * max(kept, 1):
            does = "frees" if p.work.store.frees_windows else "keeps"
            yield Draft(
                "info",
                "windows-by-engine",
                f"What fits depends on the engine: {count(kept)} or {count(freed)} tokens of such conversations, as"
                " pages that slid out of a layer's window are kept (vLLM before 0.21) or freed (vLLM 0.21 and later,"
                f" llama.cpp); here {p.engine.name} {does} them.",
            )
    if p.architecture.recurrent_state_elements_per_sequence:
        wide, narrow = (budget_of(s.change(state=way)).request for way in ("fp32", "bf16"))
        if wide > MUCH * narrow:
            yield Draft(
                "info",
                "state-by-engine",
                f"One conversation takes {gib(wide)} or {gib(narrow)} on each device, as the engine keeps recurrent"
                " state in 32 or 16 bit.",
            )
