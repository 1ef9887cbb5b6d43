"""Each formula with a scenario's own numbers filled in and its source, and the words of the field in plain ones."""

from __future__ import annotations

from typing import Final

from planner.method import load, memory, speed
from planner.method.glossary import GLOSSARY
from planner.method.step import Step
from planner.plan import Plan
from planner.promises import Tone
from planner.roofline import textbook_ceiling
from planner.units import duration, rate

__all__ = ["GLOSSARY", "TEXTBOOK", "Step", "steps", "textbook", "verdict"]

# 16 GB of weights (8e9 parameters x 2 bytes) on six bandwidths in GB/s: the textbook table.
TEXTBOOK: Final = (90, 600, 864, 1008, 2039, 3350)


def textbook() -> list[dict[str, float]]:
    """Bandwidth / bytes of weights for 16 GB, in tokens/s: 6, 38, 54, 63, 127, 209."""
    rates = textbook_ceiling([b * 1e9 for b in TEXTBOOK], 8e9 * 2)
    return [{"Bandwidth, GB/s": b, "Tokens/s": round(float(r))} for b, r in zip(TEXTBOOK, rates, strict=True)]


def steps(p: Plan) -> list[Step]:
    """The formulas of a plan in the order in which they are used; none for speed where not one request is held."""
    return [*memory.steps(p), *speed.decode(p), *speed.prefill(p), *load.steps(p)] if p.loads else memory.steps(p)


def verdict(p: Plan) -> tuple[Tone, str]:
    """What binds the next token and the first one, or why there is no speed."""
    d, f = p.decode, p.prefill
    if not p.loads:
        return ("bad", f"Here the answer ends with memory ({p.fits}), so there is no speed to compute. The formulas "
                       "below say why.")  # fmt: skip
    both = "the same thing binds both" if d.bound == f.bound else "different things bind the two"
    return ("good", f"Here a further token is bound by {d.bound} ({rate(d.ceiling)} tokens/s at most) and the first "
                    f"one by {f.bound} ({duration(f.floor)} at least): {both}. Each figure of the planner is one of "
                    "the formulas below.")  # fmt: skip
