"""What a buyer must know, worst first: one sentence each with the figures, and the smallest change that flips it.

The change is computed: every candidate is planned and kept only if the fault is gone with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

from planner.changes import Change, alternatives
from planner.plan import Plan
from planner.precision import FORMATS, describe_quantization
from planner.units import count, duration, gib, rate

Severity = Literal["error", "warning", "info"]
ORDER: Final = {"error": 0, "warning": 1, "info": 2}

# The links between devices below which tensor parallelism waits for its sums: PCIe 5.0 x16 has 64 GB/s a direction.
SLOW_LINK: Final = 100e9
# Decode counts as nearly idle of compute below this share of the peak.
IDLE: Final = 0.5


@dataclass(frozen=True)
class Finding:
    """One sentence with its figures; `change` flips it (scenario keys), `others` are larger changes that do too."""

    severity: Severity
    code: str
    sentence: str
    change: Change | None = None
    others: tuple[Change, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """As the command line prints it."""
        return {
            "severity": self.severity, "code": self.code, "sentence": self.sentence,
            "change": dict(self.change.choices) if self.change else None,
            "change_sentence": self.change.sentence if self.change else None,
            "alternatives": [{"change": dict(c.choices), "sentence": c.sentence} for c in self.others],
        }  # fmt: skip


def findings(p: Plan) -> tuple[Finding, ...]:
    """All findings of a plan, worst first."""
    found = [f for rule in RULES for f in rule(p)]
    return tuple(sorted(found, key=lambda f: ORDER[f.severity]))


def _fit(p: Plan) -> Iterator[Finding]:
    m = p.memory
    per = "each device" if p.layout.devices > 1 else "it"
    where = f"{p.layout.devices} x {p.device.label}" if p.layout.devices > 1 else p.device.label
    if p.fits == "cannot load":
        needs = m.taken
        sentence = (
            f"{p.architecture.name} cannot load on {where}: {per} needs {gib(needs)} before the first conversation "
            f"(weights {gib(m.weights)}), and the engine may take {gib(m.usable * p.utilization)} of {gib(m.usable)}; "
            f"{gib(m.short)} are missing."
        )
        yield _with_changes("error", "cannot-load", sentence, p)
    elif p.fits == "cannot hold one request":
        tokens = p.scenario.prompt + p.scenario.output
        sentence = (
            f"{p.architecture.name} loads on {where} but cannot hold one request of {count(tokens)} tokens: it needs "
            f"{gib(m.request)} of conversation memory (KV cache) and {gib(m.pool)} are left."
        )
        yield _with_changes("error", "cannot-hold-one", sentence, p)
    elif p.fits == "holds fewer than asked":
        held = min(m.concurrent, p.decode.batch.memory_full_at if p.decode.batch else m.concurrent)
        sentence = (
            f"{where} holds {count(held)} {_requests(held)} of {count(p.scenario.prompt + p.scenario.output)} tokens at "
            f"once, fewer than the {count(p.asked)} asked of each copy: {gib(m.pool)} of conversation memory (KV cache), "
            f"{gib(m.request)} each. The others wait."
        )
        yield _with_changes("warning", "holds-fewer", sentence, p)
    elif p.decode.batch and p.asked > p.decode.batch.memory_full_at:
        sentence = (
            f"The engine admits {count(p.seqs)} requests at once, fewer than the {count(p.asked)} asked of each copy, "
            "although memory holds them."
        )
        yield Finding("warning", "admits-fewer", sentence, Change({"max_num_seqs": p.asked}, f"let it admit {count(p.asked)}"))


def _requests(n: int) -> str:
    return "request" if n == 1 else "requests"


def _with_changes(severity: Severity, code: str, sentence: str, p: Plan) -> Finding:
    changes = alternatives(p)
    return Finding(severity, code, sentence, changes[0] if changes else None, tuple(changes[1:]))


def _context(p: Plan) -> Iterator[Finding]:
    most, tokens = p.architecture.max_positions, p.scenario.prompt + p.scenario.output
    if most and tokens > most:
        left = most - p.scenario.output
        change = Change({"prompt": left}, f"a prompt of {count(left)} tokens") if left > 0 else None
        yield Finding("warning", "context-too-long",
                      f"Prompt and answer together are {count(tokens)} tokens; the model was made for {count(most)}.",
                      change)  # fmt: skip


def _parallel(p: Plan) -> Iterator[Finding]:
    tensor, arch = p.layout.attention_tensor, p.architecture
    if not p.engine.tensor_parallel and p.scenario.devices > 1:
        yield Finding("info", "layer-split",
                      f"{p.engine.name} deals whole layers to its {p.scenario.devices} devices: memory adds up, "
                      "but one conversation is no faster than on one device.")  # fmt: skip
    if tensor > 1 and arch.heads and arch.heads % tensor:
        fit = max(t for t in range(1, tensor + 1) if arch.heads % t == 0)
        yield Finding("error", "heads-not-divisible",
                      f"{arch.heads} attention heads cannot be dealt evenly to {tensor} devices; engines refuse that.",
                      Change({"devices": fit * p.layout.attention_data}, f"{fit} devices per copy"))  # fmt: skip
    latent = any(c.kind == "latent" and c.units == 1 for _, c in arch.caches())
    if tensor > 1 and latent:
        yield Finding("info", "latent-replicated",
                      f"Each of the {tensor} devices keeps the whole compressed conversation memory (latent attention "
                      "cannot be split); attention data parallelism avoids the copies.")  # fmt: skip
    elif tensor > max(arch.kv_heads, 1) and arch.kv_elements_per_token:
        copies = math.ceil(tensor / arch.kv_heads)
        yield Finding("warning", "kv-replicated",
                      f"The model has {arch.kv_heads} KV heads, fewer than {tensor} devices: each head is kept "
                      f"{copies} times, so conversation memory grows no further past {arch.kv_heads} devices.",
                      Change({"devices": arch.kv_heads * p.layout.attention_data, "copies": p.scenario.copies * copies},
                             f"{copies * p.scenario.copies} copies of {arch.kv_heads} devices"))  # fmt: skip
    link = p.device.interconnect_bytes_per_s
    node = p.device.typical_devices_per_node or 8
    if p.layout.tensor > 1 and not p.device.custom and p.device.kind == "gpu" and (link or 0) < SLOW_LINK:
        speed = f"{rate((link or p.device.pcie_bytes_per_s or 0) / 1e9)} GB/s" if link or p.device.pcie_bytes_per_s else ""
        yield Finding("warning", "slow-link",
                      f"{p.device.label} has no fast link between devices{f' ({speed} over PCIe)' if speed else ''}: tensor parallelism "
                      "waits for its sums at every layer, so expect the low end of the band.",
                      Change({"pipeline": p.scenario.pipeline * p.scenario.devices, "devices": 1},
                             "pipeline stages instead"))  # fmt: skip
    if p.layout.tensor > node:
        yield Finding("warning", "beyond-node",
                      f"{p.layout.tensor} devices share each layer, but a machine usually holds {node} "
                      f"{p.device.label}: tensor parallelism across machines is slow.")  # fmt: skip


def _format(p: Plan) -> Iterator[Finding]:
    for compute in p.work.computes:
        if compute == "fp16":
            continue
        _, runs = p.device.peak(compute)
        if runs != compute:
            yield Finding("info", "no-fast-path",
                          f"{p.device.label} has no {compute.upper()} arithmetic: these weights save memory and "
                          f"bandwidth, but compute runs at {runs.upper()}.")  # fmt: skip
    if not p.engine.runs_on(p.device):
        yield Finding("error", "engine-not-on-device", f"{p.engine.name} does not run on {p.device.label}.",
                      Change({"engine": "llama.cpp"}, "llama.cpp") if _llama_runs(p) else None)  # fmt: skip
    gguf = p.scenario.weights in FORMATS and FORMATS[p.scenario.weights].name[0] == "Q"
    if gguf and "gguf" not in p.engine.formats:
        yield Finding("warning", "format-needs-engine",
                      f"{p.scenario.weights} is a GGUF format of llama.cpp; {p.engine.name} loads Hugging Face "
                      "checkpoints.", Change({"engine": "llama.cpp"}, "llama.cpp"))  # fmt: skip


def _llama_runs(p: Plan) -> bool:
    from planner.engines import ENGINES

    return ENGINES["llama.cpp"].runs_on(p.device)


def _bounds(p: Plan) -> Iterator[Finding]:
    if not p.loads:
        return
    if p.prefill.bound == "compute" and p.prefill.tokens - p.prefill.cached > 1:
        yield Finding("info", "prefill-compute",
                      f"The first token waits for compute ({duration(p.prefill.floor)} at least): "
                      "a wider memory bus would not shorten it, more FLOP/s or a cached prefix would.")  # fmt: skip
    batch = p.decode.batch
    if batch and batch.bound == "memory":
        until = f" until about {count(batch.compute_bound_from)} conversations" if batch.compute_bound_from else ""
        yield Finding("info", "decode-memory",
                      f"Each further token waits for memory bandwidth{until}: more FLOP/s would not speed it up.")  # fmt: skip
    elif batch:
        yield Finding("info", "decode-compute",
                      f"With {count(batch.size)} conversations decode is bound by compute: more bandwidth would not help.")  # fmt: skip


def _load(p: Plan) -> Iterator[Finding]:
    flow = p.load
    if flow.mode == "open" and not flow.steady_state and flow.utilization is not None:
        copies = math.ceil(p.scenario.copies * flow.utilization * 1.0001)
        copies = max(copies, p.scenario.copies + 1)
        yield Finding("error", "no-steady-state",
                      f"No steady state: {rate(p.scenario.rate)} requests arrive per second and at most "
                      f"{rate(flow.capacity_per_s)} are expected to be served, so the queue grows by "
                      f"{rate(flow.backlog_per_s)} each second.",
                      Change({"copies": copies}, f"{copies} copies"))  # fmt: skip
    elif flow.mode == "open" and (flow.utilization or 0) > 0.8:
        yield Finding("warning", "near-capacity",
                      f"Arrivals are {flow.utilization:.0%} of what can be served: waits become long and erratic.")  # fmt: skip
    ttft, tpot = p.scenario.max_ttft, p.scenario.max_tpot
    if ttft and p.loads and p.prefill.floor > ttft:
        yield Finding("error", "ttft-impossible",
                      f"The first token cannot come within {duration(ttft)}: prefill alone takes at least "
                      f"{duration(p.prefill.floor)}.")  # fmt: skip
    batch = p.decode.batch
    if tpot and batch and batch.size / batch.ceiling > tpot:
        yield Finding("error", "tpot-impossible",
                      f"A token every {duration(tpot)} is out of reach with {count(batch.size)} conversations: "
                      f"at least {duration(batch.size / batch.ceiling)} each.")  # fmt: skip


def _trust(p: Plan) -> Iterator[Finding]:
    if p.architecture.recognised == "guessed":
        yield Finding("warning", "config-guessed",
                      f"The model was guessed: {p.architecture.warnings[0] if p.architecture.warnings else 'unknown type'}")  # fmt: skip
    told = describe_quantization(p.architecture)
    if p.scenario.weights == "checkpoint" and told and told.get("warnings"):
        yield Finding("warning", "quantization-guessed", " ".join(map(str, told["warnings"])))
    if p.device.announced:
        yield Finding("warning", "device-announced",
                      f"{p.device.label} is announced, not shipped: its figures are the vendor's plans.")  # fmt: skip
    elif p.device.memory_derived and not p.device.custom:
        yield Finding("info", "device-derived",
                      f"The usable memory of {p.device.label} ({gib(p.device.memory_bytes_usable)}) is derived from "
                      "similar devices, not measured.")  # fmt: skip
    if p.expectation.nearest:
        yield Finding("info", "nearest-evidence", f"Expected speeds rest on the nearest evidence: {p.expectation.nearest}.")
    if not p.device.custom and p.device.price_usd_per_hour is None and p.scenario.price is None:
        yield Finding("info", "price-unknown", f"No hourly price of {p.device.label} is known.")


RULES: Final[tuple[Callable[[Plan], Iterator[Finding]], ...]] = (
    _fit, _load, _parallel, _format, _context, _trust, _bounds,
)  # fmt: skip
