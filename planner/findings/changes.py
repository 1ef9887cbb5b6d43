"""Changes that make a scenario hold what is asked: each candidate is held against the memory, not assumed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from planner import memory
from planner.devices import load_devices
from planner.errors import PlannerError
from planner.findings.support import formats_lack, stored_formats, suits
from planner.plan import Plan
from planner.precision import FORMATS, KV_FORMATS
from planner.resolve import asked_per_copy, budget_of, work_of
from planner.scenario import Scenario
from planner.units import count
from planner.work import Work

# Devices of one copy that are tried at most. A judgement: eight machines of eight, beyond which a copy is a cluster of
# its own; it also bounds the search.
MOST_DEVICES: Final = 64

# Devices per copy that are tried together with another device: what a machine usually holds, and two of them.
NODES: Final = (2, 4, 8, 16)

# Requests admitted at once that are tried: 256 and 128 are defaults of vLLM (EngineArgs.get_batch_defaults,
# DEFAULT_MAX_NUM_SEQS); each further step halves the room that the sampler needs.
SEATS: Final = (256, 128, 64, 32)

# Weights of another format must take at most this share of the present ones. A judgement: formats of equal bits differ
# by their scales alone, a few per cent, and a step to fewer bits saves an eighth at least (Q6_K to Q5_K_M: 5.7 of 6.56
# bits), so a tenth tells the two apart.
LIGHTER: Final = 0.9

# Another device is offered from this share of the present bandwidth on. A judgement: decode follows bandwidth, and the
# band of what a device of this kind reaches starts at 0.73 to 0.93 of its middle (data/efficiency.csv), so that a fifth
# less would hardly be told apart, and more would trade a fault of memory for one of speed.
NO_SLOWER: Final = 0.8

# Two changes are offered where they need at most this share of the hardware of more copies alone. A judgement: a second
# change is a second thing that can go wrong, which a few per cent would not pay for.
WORTHWHILE: Final = 0.75

# Prompts and answers are tried in steps of so many tokens. A judgement: whole blocks of every engine (16 tokens), and
# fine enough for the shortest usual prompts.
STEP: Final = 256

# Weight formats tried, in the order of how little they take from quality; the engine decides which set applies.
HF_STEPS: Final = ("fp8", "int8", "int4")
GGUF_STEPS: Final = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q3_K_M", "Q2_K")


@dataclass(frozen=True)
class Change:
    """Scenario keys with the values that flip a finding, and the same in words.

    calm  nothing is left to worry about by it: no long waits, no limit that may still be missed
    """

    choices: dict[str, Any]
    sentence: str
    calm: bool = True


def holds(s: Scenario) -> bool:
    """Whether memory holds the requests asked of one copy (of arrivals: one request, for which a queue can wait)."""
    return memory.verdict(budget_of(s), asked_per_copy(s)) == "fits"


def alternatives(p: Plan) -> list[Change]:
    """Changes after which the scenario fits; where none does alone, two together. Their order is of no meaning."""
    return list(_tried(p)) or list(_pairs(p))


def changed(s: Scenario, change: Change) -> Scenario | None:
    """The scenario with a change made; None where the change cannot be."""
    try:
        return s.change(**change.choices)
    except PlannerError:
        return None


def _works(s: Scenario, change: Change) -> bool:
    try:
        return holds(s.change(**change.choices))
    except PlannerError:
        return False


def _first(s: Scenario, candidates: Iterable[Change]) -> Iterator[Change]:
    for change in candidates:
        if _works(s, change):
            yield change
            return


def _tried(p: Plan) -> Iterator[Change]:
    s, held = p.scenario, p.memory.concurrent
    loads = p.fits != "cannot load"
    yield from _first(s, _fewer_seats(p))
    if loads:
        yield from _first(s, narrower_cache(p))
    lighter = list(_first(s, lighter_weights(p)))
    yield from lighter
    if s.load == "closed" and 0 < held * s.copies < s.users:
        n = min(held * s.copies, p.load.holds)
        yield from _first(s, [fewer_users(n)])
    if loads:
        shorter = next(_shorter(s, "prompt", "prompts"), None) or next(_shorter(s, "output", "answers"), None)
        if shorter:
            yield shorter
    yield from _hardware(p, bool(lighter))


def _pairs(p: Plan) -> Iterator[Change]:
    """Two changes: fewer bits with 8-bit conversation memory or another device; several of another device."""
    s = p.scenario
    for lighter in reversed(list(lighter_weights(p))):
        if less := changed(s, lighter):
            others = [*narrower_cache(p), *_other_devices(p, less, work_of(less))]
            pairs = (Change({**lighter.choices, **c.choices}, f"{lighter.sentence} and {c.sentence}") for c in others)
            yield from _first(s, pairs)
        break
    for more in more_devices(p):
        n = more.choices["devices"]
        several = changed(s, more) if n in NODES else None
        if several is not None:
            fit = _other_devices(p, several, work_of(several))
            pairs = (Change({**c.choices, "devices": n}, f"{n} x {c.choices['device']} per copy") for c in fit)
            if found := list(_first(s, pairs)):
                yield from found
                return


def _hardware(p: Plan, lighter: bool) -> Iterator[Change]:
    """Another device, more of them, more copies; where fewer bits alone do not do, both together."""
    s, held = p.scenario, p.memory.concurrent
    yield from _first(s, _other_devices(p))
    if not lighter:
        yield from _first(s, _lighter_on_more(p))
    yield from _first(s, more_devices(p))
    if s.load == "closed" and held < p.asked:
        yield from _copies(p)


def _copies(p: Plan) -> Iterator[Change]:
    """As many copies as hold all users; with a smaller reserve of the engine too where that needs far fewer."""
    s, held = p.scenario, p.memory.concurrent
    alone = -(-s.users // held) if held > 0 else None
    if alone is not None:
        yield from _first(s, [Change({"copies": alone}, f"{count(alone)} copies of the model")])
    seats, more = best_seats(p)
    copies = -(-s.users // more) if seats and more > 0 else None
    if seats and copies and copies > s.copies and (alone is None or copies <= WORTHWHILE * alone):
        words = f"{seats.sentence}, and {count(copies)} copies of the model"
        yield from _first(s, [Change({**seats.choices, "copies": copies}, words)])


def bought(s: Scenario, change: Change) -> int:
    """Devices in all once the change is made."""
    after = changed(s, change) or s
    return after.devices * after.pipeline * after.copies


def _fewer_seats(p: Plan) -> Iterator[Change]:
    """A smaller reserve of the engine: room for the sampler grows with the requests that it may admit."""
    return (change for change in _seats(p) if p.asked <= change.choices["max_num_seqs"] * p.layout.attention_data)


def _seats(p: Plan) -> Iterator[Change]:
    for n in SEATS:
        if n < p.seqs:
            yield Change({"max_num_seqs": n}, f"let {p.engine.name} admit {n} requests at once, not {count(p.seqs)}")


def best_seats(p: Plan) -> tuple[Change | None, int]:
    """The smaller reserve with which a copy holds most requests, and how many; None where no other helps."""
    best, most = None, min(p.memory.concurrent, p.seqs * p.layout.attention_data)
    for change in _seats(p):
        n = change.choices["max_num_seqs"]
        held = min(budget_of(p.scenario.change(**change.choices), p.device, p.work).concurrent,
                   n * p.layout.attention_data)  # fmt: skip
        if held > most:
            best, most = change, held
    return best, most


def fewer_users(n: int) -> Change:
    """So many users instead of all."""
    return Change({"users": n}, f"only {count(n)} user{'' if n == 1 else 's'} at once")


def narrower_cache(p: Plan) -> Iterator[Change]:
    """Conversation memory in 8 bit, where it is wider now."""
    eight = "q8_0" if p.engine.name == "llama.cpp" else "fp8"
    if KV_FORMATS[eight].bytes_per_element < KV_FORMATS[p.kv].bytes_per_element:
        yield Change({"kv": eight}, "8-bit conversation memory (KV cache)")


def lighter_weights(p: Plan) -> Iterator[Change]:
    """Formats in which the weights are clearly smaller, the gentlest first."""
    now = p.work.rows.stored_bytes.sum()
    for name in GGUF_STEPS if "gguf" in p.engine.formats else HF_STEPS:
        change = Change({"weights": name}, f"{FORMATS[name].label} weights")
        lighter = changed(p.scenario, change)
        work = work_of(lighter) if lighter is not None else None
        if work is not None and work.rows.stored_bytes.sum() < LIGHTER * now and _runs(p, work):
            yield change


def _runs(p: Plan, work: Work) -> bool:
    """Whether nothing is known against these weights on the plan's device that is not known against its own."""
    reason = formats_lack(p.device, p.engine, stored_formats(work))
    return reason is None or reason == formats_lack(p.device, p.engine, stored_formats(p.work))


def _lighter_on_more(p: Plan) -> Iterator[Change]:
    """The lightest common format on more devices."""
    name = "Q4_K_M" if "gguf" in p.engine.formats else "int4"
    change = Change({"weights": name}, "")
    lighter = changed(p.scenario, change)
    work = work_of(lighter) if lighter is not None else None
    if work is None or not _runs(p, work):
        return
    if work.rows.stored_bytes.sum() >= LIGHTER * p.work.rows.stored_bytes.sum():
        return
    for more in more_devices(p):
        n = more.choices["devices"]
        yield Change({"weights": name, "devices": n}, f"{FORMATS[name].label} weights on {n} devices per copy")


def _shorter(s: Scenario, field: str, words: str) -> Iterator[Change]:
    """The longest prompt (or answer), in whole steps, with which all asked requests are held."""

    def change(steps: int) -> Change:
        return Change({field: steps * STEP}, f"only {words} of {count(steps * STEP)} tokens")

    low, high = 0, (getattr(s, field) - 1) // STEP
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if _works(s, change(middle)) else (low, middle - 1)
    if low:
        yield change(low)


def more_devices(p: Plan) -> Iterator[Change]:
    """More devices per copy: numbers that the heads can be dealt to, or any for engines that deal layers."""
    heads = p.architecture.heads or 1
    now, groups = p.scenario.devices, p.scenario.attention_data_parallel
    # Layers are dealt out whole: more devices than layers would stand idle.
    layers = p.architecture.n_layers // p.scenario.pipeline
    most = MOST_DEVICES if p.engine.tensor_parallel else min(MOST_DEVICES, layers)
    for n in range(now + 1, most + 1):
        if n % groups == 0 and (not p.engine.tensor_parallel or heads % (n // groups) == 0):
            yield Change({"devices": n}, f"{n} devices per copy instead of {now}")


def _other_devices(p: Plan, s: Scenario | None = None, work: Work | None = None) -> Iterator[Change]:
    """Devices with more memory that hold a scenario (the plan's own): of the same maker first, then least memory first.

    Announced ones are left out, and those that the engine or its kernels for these weights are not made for.
    """
    s, work = s or p.scenario, work or p.work
    larger = (
        d for d in load_devices()
        if suits(d, p.engine, work) and not d.announced and d.kind not in ("cpu", "edge")
        and d.bandwidth >= NO_SLOWER * p.device.bandwidth
        and d.memory_bytes_usable > p.device.memory_bytes_usable
    )  # fmt: skip
    for device in sorted(larger, key=lambda d: (d.vendor != p.device.vendor, d.memory_bytes_usable, -d.bandwidth)):
        if memory.verdict(budget_of(s, device, work), asked_per_copy(s)) == "fits":
            yield Change({"device": device.label}, f"{device.label} instead")
