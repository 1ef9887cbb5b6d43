"""What a scenario is, in words: its hardware, its load and limits in one line, and which findings concern a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from planner import promises
from planner.findings import Finding
from planner.plan import Plan
from planner.precision import FORMATS
from planner.promises import Tone
from planner.units import count

# What each page says below its verdict, where it concerns the page: codes of findings.
CONCERNS: Final = {
    "fit": ("engine-not-on-device", "heads-not-divisible", "more-stages-than-layers"),
    "speed": (
        "engine-not-on-device", "heads-not-divisible", "more-stages-than-layers", "layer-split", "slow-link",
        "beyond-node", "kv-replicated", "latent-replicated", "no-fast-path", "narrow-is-slower", "device-announced",
        "engine-needs-newer", "format-not-on-device", "calibrated-elsewhere", "ttft-impossible", "tpot-impossible",
        "ttft-missed", "tpot-missed", "ttft-at-risk",
        "tpot-at-risk",
    ),
    "bits": (
        "engine-not-on-device", "no-fast-path", "narrow-is-slower", "format-needs-engine", "kv-needs-engine",
        "format-not-on-device", "engine-needs-newer", "quantization-guessed",
    ),
    "people": (
        "engine-not-on-device",
        "no-steady-state", "near-capacity", "holds-fewer", "admits-fewer", "ttft-impossible", "tpot-impossible",
        "ttft-missed", "tpot-missed", "ttft-at-risk", "tpot-at-risk", "cannot-load", "cannot-hold-one",
    ),
}  # fmt: skip
_TONES: Final[dict[str, Tone]] = {"error": "bad", "warning": "warn", "info": "good"}
# What the verdicts of speed and people say in their own words.
_SAID: Final = ("no-steady-state", "ttft-", "tpot-")


def concerning(page: str, found: Iterable[Finding]) -> tuple[list[Finding], str]:
    """The findings that a page repeats, and the sentences among them that its verdict has said in its own words."""
    mine = [f for f in found if f.code in CONCERNS[page]]
    return mine, " ".join(f.sentence for f in mine if f.code.startswith(_SAID))


def minding(page: str, answer: tuple[Tone, str], found: Iterable[Finding]) -> tuple[Tone, str]:
    """A page's verdict, which is no better news than the findings that concern the page, and then points at them."""
    tone, sentence = answer
    worst = promises.worse("good", *(_TONES[f.severity] for f in concerning(page, found)[0]))
    if promises.worse(tone, worst) == tone:
        return answer
    return worst, f"{sentence} But mind what stands below: {'an error' if worst == 'bad' else 'a warning'}."


def copy_on(p: Plan) -> str:
    """The hardware of one copy: "2 x H100 80GB SXM", "2 stages of 8 x H100 80GB SXM"."""
    layout, label = p.layout, p.device.label
    if layout.pipeline > 1 and p.engine.tensor_parallel:
        return f"{layout.pipeline} stages of {layout.tensor} x {label}"
    return f"{layout.devices} x {label}" if layout.devices > 1 else label


def where(p: Plan) -> str:
    """The hardware of one copy, and how many copies: "2 x H100 80GB SXM, 3 copies"."""
    return f"{copy_on(p)}, {p.scenario.copies} copies" if p.scenario.copies > 1 else copy_on(p)


def version(p: Plan) -> str:
    """Which size is counted where a device is sold with several: " (64 GiB version)"; else empty."""
    d = p.device
    size = f"{d.memory_gb:g}"
    if d.custom or not d.memory_options or f"{size}GB" in d.label:
        return ""
    return f" ({size} {d.memory_unit} version)"


def scenario(p: Plan) -> str:
    """The scenario in one line, for the head of each page."""
    s = p.scenario
    guessed = "" if p.architecture.recognised == "exact" else " (guessed from its config)"
    weights = "as published" if s.weights == "checkpoint" else f"as {FORMATS[s.weights].label}"
    people = f"{count(s.users)} user{'' if s.users == 1 else 's'} at once" if s.load == "closed" else (
        f"{requests(s.rate)} per second"
    )
    cached = f" ({count(s.shared_prefix)} of it cached)" if s.shared_prefix else ""
    calibrated = ", calibrated on your measurement" if p.expectation.calibrated else ""
    limits = promises.allowed(p)
    return (
        f"{p.architecture.name}{guessed} {weights} on {where(p)}{version(p)}, {p.engine.name}{calibrated}: {people}, "
        f"prompt {count(s.prompt)}{cached}, answer {count(s.output)} token{'' if s.output == 1 else 's'}"
        f"{f'; allowed: {limits}' if limits else ''}."
    )


def requests(per_second: float) -> str:
    """A rate as it was typed: "1 request", "0.5 requests"."""
    return f"{per_second:,.10g} request{'' if per_second == 1 else 's'}"


def past_capacity(p: Plan) -> bool:
    """Whether requests arrive faster than they are expected to be served, so that the queue grows without end."""
    return p.loads and p.scenario.load == "open" and not p.load.steady_state
