"""Changes of one choice that are worth trying: settings, bits, more devices, fewer users; none is tried here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from planner.errors import PlannerError
from planner.findings.support import formats_lack, stored_formats
from planner.plan import Plan
from planner.precision import FORMATS, KV_FORMATS
from planner.resolve import budget_of, work_of
from planner.scenario import Scenario
from planner.units import count
from planner.work import Work

# Devices of one copy that are tried at most. A judgement: eight machines of eight, beyond which a copy is a cluster of
# its own; it also bounds the search.
MOST_DEVICES: Final = 64

# Requests admitted at once that are tried: 256 and 128 are defaults of vLLM (EngineArgs.get_batch_defaults,
# DEFAULT_MAX_NUM_SEQS); each further step halves the room that the sampler needs.
SEATS: Final = (256, 128, 64, 32)

# Weights of another format must take at most this share of the present ones. A judgement: formats of equal bits differ
# by their scales alone, a few per cent, and a step to fewer bits saves an eighth at least (Q6_K to Q5_K_M: 5.7 of 6.56
# bits), so a tenth tells the two apart.
LIGHTER: Final = 0.9

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


def changed(s: Scenario, change: Change) -> Scenario | None:
    """The scenario with a change made; None where the change cannot be."""
    try:
        return s.change(**change.choices)
    except PlannerError:
        return None


def bought(s: Scenario, change: Change) -> int:
    """Devices in all once the change is made."""
    after = changed(s, change) or s
    return after.devices * after.pipeline * after.copies


def fewer_seats(p: Plan) -> Iterator[Change]:
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
        if work is not None and work.rows.stored_bytes.sum() < LIGHTER * now and runs_here(p, work):
            yield change


def runs_here(p: Plan, work: Work) -> bool:
    """Whether nothing is known against these weights on the plan's device that is not known against its own."""
    reason = formats_lack(p.device, p.engine, stored_formats(work))
    return reason is None or reason == formats_lack(p.device, p.engine, stored_formats(p.work))


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
