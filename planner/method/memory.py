"""The formulas of the memory budget with a scenario's own numbers."""

from __future__ import annotations

from planner.caches import Kept
from planner.loading import rotary_bytes
from planner.memory import MLP_BYTES, STREAM_BYTES, mlp_width, unseen_bytes
from planner.method.step import Step
from planner.plan import Plan
from planner.units import GIB, count, digits, exact, gb, gib, params


def steps(p: Plan) -> list[Step]:
    """Weights, cache of one conversation, what an engine takes, and the room that is left."""
    return [_weights(p), *_tables(p), _conversation(p), _activations(p), *_room(p)]


def _weights(p: Plan) -> Step:
    stored, held = p.work.rows.stored_bytes.sum(), p.memory.weights
    n = p.architecture.total_params
    whole = p.layout.devices == 1
    share = "" if whole else f" × {digits(held / stored * 100)} %"
    fullest = "" if whole else f" on the fullest of {p.layout.devices} devices"
    return Step(
        "Weights on each device", "sum over matrices of elements × bits / 8 × share of the device",
        f"{params(n)} parameters × {digits(stored * 8 / n)} bits on average / 8{share} = {gb(held)} = {gib(held)}"
        f"{fullest}", "the checkpoint's tensor list; scales and zero points included",
    )  # fmt: skip


def _tables(p: Plan) -> list[Step]:
    """What the loaded model takes beyond its file; no step for engines that it is not counted for."""
    if not p.memory.tables:
        return []
    table = rotary_bytes(p.architecture, p.engine.rotary_bytes)
    positions = p.architecture.max_positions or 0
    each = f"{count(positions)} positions × {digits(table / positions)} B = " if positions and table else ""
    return [
        Step(
            "Tables and rounding", "positions × rotary width × bytes, once on each device, + what the allocator rounds "
                                   "each tensor up to",
            f"{each}{gib(table)}; {gib(table)} + {gib(p.memory.tables - table)} of rounding and copies "
            f"= {gib(p.memory.tables)}",
            "vLLM rotary embedding; PyTorch's CUDA caching allocator; checked on vLLM start logs, see Evidence",
        )
    ]  # fmt: skip


def _conversation(p: Plan) -> Step:
    tokens, m = p.scenario.prompt + p.scenario.output, p.memory
    kept = p.work.caches.kept(tokens, m.stage if p.layout.pipeline > 1 else None)
    stage = " in the fullest stage" if p.layout.pipeline > 1 else ""
    return Step(
        "Conversation memory (KV cache) of one conversation",
        "sum over layers of min(tokens, window) × 2 × KV heads × head dimension × bytes (latent width for MLA), whole "
        f"blocks of {p.work.store.block} tokens, + what is of fixed size",
        f"{' + '.join(map(_layers, kept)) or '0 B'} = {gib(m.request)} on each device{stage}",
        "Pope et al. 2022, Efficiently Scaling Transformer Inference; engines' cache layouts",
    )  # fmt: skip


def _layers(k: Kept) -> str:
    """One term: 64 layers × 4,608 tokens × 2 × 8 KV heads × 128 × 2 bytes."""
    layers = f"{k.layers} layer{'' if k.layers == 1 else 's'}"
    fixed = f"{layers} × {count(k.fixed_bytes)} B of fixed size" if k.fixed_bytes else ""
    if not k.tokens:
        return fixed
    heads, rest = divmod(k.elements, 2 * k.units)
    entry = f"{count(k.elements)} elements" if rest or k.units == 1 else f"2 × {k.units} KV heads × {heads}"
    share = "" if k.share == 1 else f" × {exact(k.share)} of the heads"
    grown = f"{layers} × {count(k.tokens)} tokens × {entry} × {exact(k.each_bytes)} bytes{share}"
    return f"{grown} + {fixed}" if fixed else grown


def _activations(p: Plan) -> Step:
    arch, engine = p.architecture, p.engine
    tensor = f" / {p.layout.tensor}" if p.layout.tensor > 1 else ""
    return Step(
        "Activation peak",
        f"max(requests admitted × vocabulary × {engine.sampler_bytes:g} bytes, tokens per step × ({MLP_BYTES:g} × MLP "
        f"width / devices + {STREAM_BYTES:g} × hidden size) bytes)",
        f"max({count(p.seqs)} × {count(arch.vocab)} × {engine.sampler_bytes:g} bytes, {count(p.step_tokens)} × "
        f"({MLP_BYTES:g} × {count(mlp_width(arch))}{tensor} + {STREAM_BYTES:g} × {count(arch.hidden)}) bytes) = "
        f"{gib(p.memory.activations)}",
        "fitted to vLLM start logs; see Evidence",
    )  # fmt: skip


def _room(p: Plan) -> list[Step]:
    m, unseen = p.memory, unseen_bytes(p.device)
    usable = f"({_full(m.usable)} − {_full(unseen)})" if unseen else _full(m.usable)
    taken = " − ".join(_full(part) for part in (m.loaded, m.activations, m.runtime) if part)
    left = f"{usable} × {exact(p.utilization)} − {taken}"
    if m.graphs_inside and m.graphs:
        left += f" − {_full(m.graphs)}"
    elif m.graphs:
        left = f"min({left}, {usable} − {taken} − {_full(m.graphs)})"
    room = f"−{gib(m.short)}: that much is missing" if m.short else gib(m.pool)
    graphs = "graphs" if m.graphs_inside else "(if that is less: in all of it, with graphs)"
    out = [
        Step(
            "Room for conversations",
            "(usable memory − what an engine does not see of it) × utilisation − weights, tables and rounding − "
            f"activations − runtime − {graphs}",
            f"{left} = {room}", f"{p.engine.name}: {p.engine.note}",
        )
    ]  # fmt: skip
    if m.short or not m.request:
        return out
    groups, copies = p.layout.attention_data, p.scenario.copies
    each = f" in each of {groups} groups" if groups > 1 else ""
    all_copies = f"; {count(m.concurrent)} × {count(copies)} copies = {count(m.concurrent * copies)}" * (copies > 1)
    grouped = f"; × {groups} groups in each copy" if groups > 1 else ""
    apart, together = m.pool / m.request, (m.pool - m.once) / m.own
    shared = together > apart
    ratio = f"({gib(m.pool)} − {gib(m.once)}) / {gib(m.own)}" if shared else f"{gib(m.pool)} / {gib(m.request)}"
    held = Step(
        "Conversations held at once",
        "(room − the shared prefix, kept once) / what each conversation adds, rounded down" if shared else
        "room / memory of one conversation, rounded down",
        f"{ratio} = {exact(max(apart, together), 4)}, so "
        f"{count(m.concurrent // groups)}{each}{grouped}{all_copies}", "arithmetic",
    )  # fmt: skip
    return [*out, held]


def _full(size: float) -> str:
    """Bytes in GiB to the fourth decimal: of a difference of large numbers, three digits would leave one."""
    return f"{exact(round(size / GIB, 4))} GiB"
