"""The first sentence of “Check my server”: before a paste what to expect, after it what was reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from planner.checking.compare import Comparison
from planner.checking.figures import BEYOND_ASSUMED, Figure, said
from planner.plan import Plan
from planner.units import count, duration, rate
from planner.verdicts import where

# The finding on decode beside its ceiling and band, which the verdict says.
DECODE: Final = ("tune the stack", "within band", "buy hardware")

# Then the ceiling is of something else than what was measured. Another engine only has another band.
OTHER: Final = ("other model", "other weights", "other device", "does not fit")


def outlook(p: Plan) -> tuple[str, str]:
    """What a healthy server of this scenario should measure."""
    if not p.loads:
        return "bad", (
            f"Nothing to measure: {p.architecture.name} cannot hold one request on {where(p)}. See “Does it fit?”, "
            "or paste an output all the same."
        )
    d, f = p.decode, p.prefill
    mine = ", as calibrated on your measurement," if p.expectation.calibrated else ""
    return "good", (
        f"{p.architecture.name} on {where(p)}{mine} should write "
        f"{rate(d.expected.low)} to {rate(d.expected.high)} tokens/s for one conversation and read "
        f"{count(f.tokens)} prompt tokens in "
        f"{duration(f.expected.low)} to {duration(f.expected.high)}. Measure yours with a "
        "command below and paste what it prints."
    )


def verdict(found: Comparison) -> tuple[str, str]:
    """What was reached: impossible figures first, then decode, then the first token."""
    errors = [a for a in found.advice if a.severity == "error"]
    other = [a for a in found.advice if a.code in OTHER]
    if other:
        return (
            "bad" if errors else "warn"
        ), f"Not the same system, so compare again after a change. {other[0].sentence}"
    if errors:
        return "bad", f"These figures cannot be of this system. {errors[0].sentence}"
    parts = [a.sentence for a in found.advice if a.code in DECODE]
    slow = any(a.code == DECODE[0] or a.code == "slow prefill" or a.code.startswith("high TTFT") for a in found.advice)
    prompt, prefill = count(found.conditions.prompt), found.figure("prefill")
    unlike = [f for f in found.figures if f.key in ("decode", "prefill") and f.place == BEYOND_ASSUMED]
    if prefill and prefill.measured and prefill.share and prefill not in unlike:
        parts.append(_prefill(prefill, prefill.measured, prompt))
    if unlike:
        parts.append(_unlike(unlike, prompt))
    if not parts:
        return "warn", "The output holds no speed that can be held against this hardware; see what was read below."
    if calibrated := _calibrated(found):
        parts.append(calibrated)
    odd = any(a.severity == "warning" for a in found.advice)
    return ("warn" if slow or odd or unlike else "good"), " ".join(parts)


def _calibrated(found: Comparison) -> str:
    """What the scenario's own calibration expects, beside which the published measurements are other people's."""
    decode = found.figure("decode")
    if not decode or not decode.planned:
        return ""
    on = "on this measurement" if found.calibration.taken else "on a measurement of yours"
    return f"The planner is calibrated {on} and expects {said(decode, decode.planned)} here."


def _prefill(f: Figure, seconds: float, prompt: str) -> str:
    """What the first token took beside floor and band."""
    beside = (
        f"{_what(f)} takes {duration(seconds)}, at least {duration(f.limit)} is needed and "
        f"{duration(f.expected.low)} to {duration(f.expected.high)} are expected for prefill alone"
    )
    return beside + (f", with the scenario's {prompt} prompt tokens: the output states none." if f.assumed else ".")


def _what(f: Figure) -> str:
    if f.key == "decode":
        return "Decode"
    return "Prefill" if f.name.startswith("Prefill") else "The first token"


def _unlike(figures: Sequence[Figure], prompt: str) -> str:
    """Figures that the scenario's prompt does not allow: nothing is concluded, as the output's was another one."""
    told = " and ".join(
        f"{_what(f)} {'reaches' if f.faster_is_larger else 'takes'} {said(f, f.measured or 0.0)}, "
        f"{'more' if f.faster_is_larger else 'less'} than the {said(f, f.limit)} of the scenario's {prompt} prompt "
        "tokens"
        for f in figures
    )
    return (
        f"{told}: the output does not state how long its prompt was, and it was shorter or came from the prefix cache. "
        "Set the prompt that was sent."
    )
