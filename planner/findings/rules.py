"""The rules behind the findings: what is wrong or worth knowing with a plan, and changes worth trying."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Final

from planner.findings.capacity import BARELY
from planner.findings.changes import Change, fewer_users
from planner.findings.draft import Draft
from planner.findings.hardware import formats, parallel
from planner.findings.limits import limits
from planner.findings.storage import storage
from planner.plan import Plan, load_of
from planner.precision import describe_quantization
from planner.scenario import LONGEST_NAME
from planner.units import count, duration, gib, rate

# Waits grow without measure near capacity; from this share of it on the planner warns. A judgement after the queue of
# one server, whose wait is r / (1 - r) service times: 4 at 0.8 and 8 at 0.89, which no estimate tells apart.
NEAR: Final = 0.8
# Admitting more requests is offered where they are served so many times as fast at least. A judgement: less is within
# what a run differs from the next, and each request would stay longer in the engine for it.
GAIN: Final = 1.05
# A ceiling so many times the expected speed. By definition: a step at the ceiling is all memory traffic, so when the
# expected one takes more than twice as long, what else it holds takes longer than the traffic.
OVERHEAD: Final = 2.0


def _where(p: Plan) -> str:
    return f"{p.layout.devices} x {p.device.label}" if p.layout.devices > 1 else p.device.label


def _requests(n: int) -> str:
    return f"{count(n)} request{'' if n == 1 else 's'}"


def _fit(p: Plan) -> Iterator[Draft]:
    m, name, where = p.memory, p.architecture.name, _where(p)
    tokens = count(p.scenario.prompt + p.scenario.output)
    if p.fits == "cannot load":
        yield Draft(
            "error", "cannot-load",
            f"{name} cannot load on {where}: {'each device' if p.layout.devices > 1 else 'it'} needs {gib(m.taken)} "
            "before "
            f"the first conversation (weights {gib(m.weights)}), and the engine may take "
            f"{gib(m.usable * p.utilization)} of "
            f"{gib(m.usable)}; {gib(m.short)} are missing.", memory=True,
        )  # fmt: skip
    elif p.fits == "cannot hold one request":
        yield Draft(
            "error", "cannot-hold-one",
            f"{name} loads on {where} but cannot hold one request of {tokens} tokens: it needs {gib(m.request)} of "
            f"conversation memory (KV cache) and {gib(m.pool)} are left.", memory=True,
        )  # fmt: skip
    elif p.fits == "holds fewer than asked":
        room = f"{gib(m.pool)} of conversation memory (KV cache), {m.each(p.asked_per_device)}"
        if p.scenario.load == "open" and not p.load.steady_state:
            return  # the load's own finding says it
        if p.scenario.load == "open":
            yield Draft(
                "warning", "holds-fewer",
                f"{where} holds {_requests(p.load.holds // p.scenario.copies)} of {tokens} tokens at once, and "
                "arrivals keep "
                f"more than that waiting: {room}.", keep_up=BARELY,
            )  # fmt: skip
        else:
            yield Draft(
                "warning", "holds-fewer",
                f"{where} holds {_requests(m.concurrent)} of {tokens} tokens at once, fewer than "
                f"the {count(p.asked)} asked {'for' if p.scenario.copies == 1 else 'of each copy'}: {room}. The others "
                "wait.", memory=True,
            )  # fmt: skip
    elif p.decode.batch and p.scenario.load == "closed" and p.asked > p.decode.batch.memory_full_at:
        yield _admits_fewer(p)


def _admits_fewer(p: Plan) -> Draft:
    """More are asked than the engine admits, and memory would hold them: worth admitting where more are served then."""
    s, groups = p.scenario, p.layout.attention_data
    admitted, needed = p.seqs * groups, math.ceil(p.asked / groups)
    served = load_of(s, p.work, p.machine, p.expectation, p.asked).arrivals_per_s or 0.0
    gains = served >= GAIN * (p.load.arrivals_per_s or 0.0)
    idle = "" if gains else " Admitting them all would hardly serve more: the same device works on them either way."
    admit = (Change({"max_num_seqs": needed}, f"let it admit {count(needed)}"),) if gains else ()
    copies = -(-s.users // admitted)
    return Draft(
        "warning", "admits-fewer",
        f"The engine admits {_requests(admitted)} at once, fewer than the {count(p.asked)} asked of each copy, "
        f"although memory holds them.{idle}",
        (*admit, Change({"copies": copies}, f"{count(copies)} copies of the model"),
         fewer_users(admitted * s.copies)), most=3,
    )  # fmt: skip


def _load(p: Plan) -> Iterator[Draft]:
    flow = p.load
    if flow.mode == "open" and not flow.steady_state and flow.utilization is not None:
        yield Draft(
            "error", "no-steady-state",
            f"No steady state: {p.scenario.rate:,.10g} requests arrive per second and "
            f"{rate(flow.capacity_per_s)} are expected to be served, so the queue grows by {rate(flow.backlog_per_s)} "
            "each second.", keep_up=BARELY,
        )  # fmt: skip
    elif flow.mode == "open" and (flow.utilization or 0) > NEAR:
        yield Draft(
            "warning", "near-capacity",
            f"Arrivals are {flow.utilization:.0%} of what can be served: waits become long and erratic.",
            keep_up=NEAR,
        )


def _context(p: Plan) -> Iterator[Draft]:
    most, tokens = p.architecture.max_positions, p.scenario.prompt + p.scenario.output
    if most and tokens > most:
        left, rest = most - p.scenario.output, most - p.scenario.prompt
        yield Draft(
            "warning", "context-too-long",
            f"Prompt and answer together are {count(tokens)} tokens; the model was made for {count(most)}.",
            (Change({"prompt": left}, f"only prompts of {count(left)} tokens"),
             Change({"output": rest}, f"only answers of {count(rest)} tokens")), most=2,
        )  # fmt: skip


def _bounds(p: Plan) -> Iterator[Draft]:
    if not p.loads:
        return
    if p.prefill.bound == "compute" and p.prefill.tokens - p.prefill.cached > 1:
        yield Draft(
            "info", "prefill-compute",
            f"The first token waits for compute ({duration(p.prefill.floor)} at least): a wider memory bus would not "
            "shorten it, more FLOP/s or a cached prefix would.",
        )  # fmt: skip
    batch = p.decode.batch
    if batch and batch.bound == "memory":
        until = f" until about {count(batch.compute_bound_from)} conversations" if batch.compute_bound_from else ""
        idle = p.decode.ceiling > OVERHEAD * p.decode.expected.mid
        slow = " Here the engine's own overheads are expected to take longer than that." if idle else ""
        yield Draft(
            "info", "decode-memory",
            f"At the ceiling each further token waits for memory bandwidth{until}: more FLOP/s would not speed it up."
            f"{slow}",
        )
    elif batch:
        yield Draft(
            "info", "decode-compute",
            f"With {count(batch.size)} conversations decode is bound by compute: more bandwidth would not help.",
        )


def _trust(p: Plan) -> Iterator[Draft]:
    arch, device = p.architecture, p.device
    on = p.scenario.calibrated_on or ""
    strange = [what for what in (p.device.label, p.architecture.name) if what not in on]
    # A name that fills its field may have been cut.
    if p.expectation.calibrated and on and strange and len(on) < LONGEST_NAME:
        yield Draft("warning", "calibrated-elsewhere",
                    f"The calibration was measured with “{on}”, which does not name {' or '.join(strange)}: "
                    "it may not hold here. Undo it on “Check my server”, or measure again.")  # fmt: skip
    if arch.recognised == "guessed":
        why = arch.warnings[0] if arch.warnings else "unknown type"
        yield Draft("warning", "config-guessed", f"The model was guessed: {why}")
    told = describe_quantization(arch) if p.scenario.weights == "checkpoint" else None
    if told and told.get("warnings"):
        yield Draft("warning", "quantization-guessed", " ".join(map(str, told["warnings"])))
    if device.announced:
        yield Draft(
            "warning", "device-announced",
            f"{device.label} is announced, not shipped: its figures are the vendor's plans.",
        )  # fmt: skip
    elif device.memory_derived and not device.custom:
        yield Draft(
            "info", "device-derived",
            f"{device.label} is counted with {device.memory_gb:g} {device.memory_unit}, of which "
            f"{gib(device.memory_bytes_usable)} are usable: derived from similar devices, not measured. For another "
            "size choose “custom”.",
        )  # fmt: skip
    if p.expectation.nearest and not p.expectation.calibrated:
        yield Draft(
            "info", "nearest-evidence",
            f"Expected speeds have a wider band: {p.expectation.nearest}; nearest: {p.expectation.basis}.",
        )  # fmt: skip
    if not device.custom and device.price_usd_per_hour is None and p.scenario.price is None:
        yield Draft("info", "price-unknown", f"No hourly price of {device.label} is known.")


RULES: Final[tuple[Callable[[Plan], Iterator[Draft]], ...]] = (
    _fit, _load, limits, parallel, formats, _context, storage, _trust, _bounds,
)  # fmt: skip
# Those of them that say whether a plan fits, keeps up and runs; what they do not look at is no error.
RUNNING: Final = (_fit, _load, parallel, formats)
