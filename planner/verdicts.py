"""The first sentence of each page: the answer with its number, unit and comparison."""

from __future__ import annotations

from typing import Final

from planner import promises, service
from planner.band import Band
from planner.findings import Change, Finding
from planner.headline import copy_on, past_capacity, scenario, version, where
from planner.people_verdict import inside, often, people
from planner.plan import Plan
from planner.promises import Tone
from planner.resolve import budget_of
from planner.units import both, count, duration, gib, rate, span

__all__ = ["fit", "inside", "often", "past_capacity", "people", "scenario", "speed", "where"]

# A token takes so many times as long with others' prompts in between before both are said. A judgement: less is lost in
# the band of what is expected.
CLEARLY: Final = 1.1


def _people(n: int) -> str:
    return f"{count(n)} conversation{'' if n == 1 else 's'}"


def fit(p: Plan, found: tuple[Finding, ...]) -> tuple[Tone, str]:
    """Whether it fits."""
    m = p.memory
    per = " per device" if p.layout.devices > 1 else ""
    tokens = p.scenario.prompt + p.scenario.output
    for finding in found:
        change = _smallest(p, finding.change) if finding.change else ""
        if finding.code in ("cannot-load", "cannot-hold-one"):
            return "bad", f"Does not fit{version(p)}. {finding.sentence}{change}"
        if finding.code == "no-steady-state" and p.loads:
            return "bad", f"Fits{version(p)}, but cannot keep up. {finding.sentence}{change}"
        if finding.code in ("holds-fewer", "admits-fewer"):
            return "warn", f"Fits{version(p)}, but not for everyone. {finding.sentence}{change}"
    asked = p.asked * p.scenario.copies if p.scenario.load == "open" else p.scenario.users
    return "good", (
        f"Fits: the weights take {both(m.weights)}{per} and {_people(asked)} of {count(tokens)} tokens "
        f"{gib(m.held(p.asked_per_device))}, within the "
        f"{gib(m.usable - m.outside)} that {p.engine.name} may take of "
        f"{gib(m.usable)} on {where(p)}{version(p)}. There is room for {count(m.concurrent * p.scenario.copies)} such "
        "conversations."
    )


def _smallest(p: Plan, change: Change) -> str:
    """The smallest change; where it is a smaller reserve of the engine, why it helps and what comes of it."""
    if set(change.choices) != {"max_num_seqs"} or p.memory.activations <= 0:
        return f" Smallest change: {change.sentence}."
    after = budget_of(p.scenario.change(**change.choices))
    if after.activations >= p.memory.activations:
        return f" Smallest change: {change.sentence}."
    return (
        f" {p.engine.name} sets {gib(p.memory.activations)} aside to be ready for up to {count(p.seqs)} requests at "
        f"once. Smallest change: told to admit at most {count(change.choices['max_num_seqs'])}, it sets "
        f"{gib(after.activations)} aside and holds {count(after.concurrent * p.scenario.copies)}."
    )


def speed(p: Plan) -> tuple[Tone, str]:
    """How fast it is; first what stands in the way: a queue, users who wait, limits that are not kept."""
    if not p.loads:
        name = p.architecture.name
        return "bad", f"No speed to show: {name} cannot hold one request on {where(p)}. See “Does it fit?”."
    d, f = p.decode, p.prefill
    alone = (
        f"One conversation of {p.architecture.name} on {copy_on(p)} gets at most {rate(d.ceiling)} tokens/s; "
        f"expect {rate(d.expected.low)} to {rate(d.expected.high)}. "
        f"Its first token takes {duration(f.floor)} at least; "
        f"expect {duration(f.expected.low)} to {duration(f.expected.high)}."
    )
    queue, lead = _queue(p)
    limits, missed = promises.faults(p)
    said = (lead, missed, alone, promises.kept(p))
    return promises.worse(queue, limits), " ".join(part for part in said if part)


def _queue(p: Plan) -> tuple[Tone, str]:
    """Whether someone waits for a seat, and that the first token waits with them."""
    if past_capacity(p):
        return "bad", "Cannot keep up: the queue grows, and the first token waits in it as well."
    first = service.first_token(p)
    if not service.waiting(p) or first is None:
        return "good", ""
    held, users = count(p.load.holds), count(p.scenario.users)
    return "warn", (
        f"Not everyone at once: {held} of {users} users fit, the others wait their turn. So the first token is "
        f"expected after {span(first.low, first.high)}, that wait included."
    )


def each(p: Plan) -> str:
    """What each conversation gets with all that are in flight: at most, expected, and with others' prompts between."""
    one, all_ = p.decode.batch, service.together(p)
    if one is None or all_ is None or one.size < 2 or not p.loads:
        return ""
    fit_ = ", all that fit," if past_capacity(p) else ""
    low, high = rate(one.expected.low / one.size), rate(one.expected.high / one.size)
    start = (
        f"With {_people(all_.size)} at once{per_copy(p)}{fit_} each gets at most {rate(one.ceiling_per_user)} "
        f"tokens/s; expect {low} to {high}"
    )
    slower = between_prompts(p)
    if slower is None:
        return f"{start}."
    whole = f"{rate(slower.low)} to {rate(slower.high)}"
    return f"{start} while no prompt is read, and {whole} over the whole answer, with others' prompts in between."


def per_copy(p: Plan) -> str:
    """How the conversations at once are dealt to several copies: " (100 in each of 4 copies)"; empty for one copy."""
    all_, copies = service.together(p), p.scenario.copies
    if all_ is None or copies == 1:
        return ""
    each, more = divmod(all_.size, copies)
    return f" ({f'{count(each)} or {count(each + 1)}' if more else count(each)} in each of {count(copies)} copies)"


def between_prompts(p: Plan) -> Band | None:
    """Tokens/s of each conversation over its whole answer, where others' prompts make that clearly slower (else None).

    Clearly: see `CLEARLY`.
    """
    each, time = p.decode.batch, service.token_time(p)
    if each is None or time is None or each.size < 2 or time.mid * each.expected.mid / each.size < CLEARLY:
        return None
    return Band(1 / time.high, 1 / time.mid, 1 / time.low)


def ends(p: Plan) -> str:
    """What ends the number of conversations at once in one copy: its memory or the engine."""
    per = " in each copy" if p.scenario.copies > 1 else ""
    most = service.held_per_copy(p)
    if p.memory.concurrent > most:
        return f"The engine admits {count(most)}{per} (memory would hold {count(p.memory.concurrent)})"
    return f"Memory is full at {count(most)}{per}"
