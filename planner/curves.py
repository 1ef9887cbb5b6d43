"""What the charts draw: one scenario along one axis, as columns of equal length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planner import roofline
from planner.fleet import Row
from planner.plan import Plan, mean_context, plan, rates, residence_of, waits
from planner.precision import FORMATS, KV_FORMATS
from planner.resolve import budget_of, stored_once
from planner.roofline import CEILING
from planner.scenario import Scenario

Columns = dict[str, list[Any]]


def doubling(first: float, last: float) -> list[int]:
    """Whole numbers from `first` up to `last`, each double the one before, `last` itself at the end."""
    steps = max(0, math.floor(math.log2(max(last, first) / first)))
    out = [round(first * 2**i) for i in range(steps + 1)]
    return out if out[-1] >= last else [*out, round(last)]


def memory_growth(p: Plan) -> Columns:
    """Memory on the fullest device against tokens per conversation, for 1, the asked and twice the asked conversations.

    Columns: tokens, conversations, bytes (all that is taken), limit (what the engine may take).
    """
    longest = max(p.scenario.prompt + p.scenario.output, 1024) * 4
    end = ends_at(p, inside(p)) if p.loads else None
    longest = max(longest, min(2 * end, p.architecture.max_positions or 2 * end)) if end else longest
    # From shorter conversations on where so many share the memory that it ends before the usual first point.
    tokens = np.array(doubling(16 if end and end < 256 else 128, longest))
    out: Columns = {"tokens": [], "conversations": [], "bytes": [], "limit": []}
    limit = p.memory.taken + p.memory.pool - p.memory.short
    asked = inside(p)
    for n in dict.fromkeys((1, asked, 2 * asked)):
        seats = math.ceil(n / p.layout.attention_data)
        each = p.work.caches.held_bytes(tokens, seats, stored_once(p.scenario), p.memory.stage)
        out["tokens"] += tokens.tolist()
        out["conversations"] += [n] * len(tokens)
        out["bytes"] += (p.memory.taken + each).tolist()
        out["limit"] += [limit] * len(tokens)
    return out


def inside(p: Plan) -> int:
    """Conversations at once in one copy: the users, or what arrivals keep in flight (past capacity all that fit)."""
    return max(1, min(p.asked, p.load.holds // p.scenario.copies)) if p.scenario.load == "open" else p.asked


def ends_at(p: Plan, conversations: int) -> int | None:
    """Tokens per conversation at which that many fill the memory (None: not even one token, or no end before 10^8)."""
    n, prefix = math.ceil(conversations / p.layout.attention_data), stored_once(p.scenario)

    def held(tokens: int) -> bool:
        return float(p.work.caches.held_bytes(tokens, n, prefix, p.memory.stage)) <= p.memory.pool

    low, high = 1, 10**8
    if not held(low) or held(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if held(middle) else (low, middle)
    return low


def context_curve(p: Plan) -> Columns:
    """Tokens per second of one conversation as its context fills. Columns: tokens, ceiling, low, mid, high."""
    last = max(4 * (p.scenario.prompt + p.scenario.output), 32_768)
    if p.architecture.max_positions:
        last = min(last, p.architecture.max_positions)
    tokens = np.array(doubling(128, max(last, 256)))
    ceiling, low, mid, high = rates(p.work, p.machine, p.expectation, 1, tokens, p.scenario.accepted)
    return {"tokens": tokens.tolist(), "ceiling": ceiling.tolist(), "low": low.tolist(), "mid": mid.tolist(),
            "high": high.tolist()}


def prompt_curve(p: Plan) -> Columns:
    """Time to first token against prompt length, with and without the cached prefix, each with its expected band.

    Columns: tokens, prefix (label), floor, low, mid, high, in seconds.
    """
    last = max(2 * p.scenario.prompt, 32_000)
    if p.architecture.max_positions:
        last = min(last, max(p.architecture.max_positions, 400))
    tokens = np.array(sorted({*doubling(200, last), 2000, p.scenario.prompt}))
    out: Columns = {"tokens": [], "prefix": [], "floor": [], "low": [], "mid": [], "high": []}
    part = p.scenario.shared_prefix / p.scenario.prompt
    cases = (("nothing cached", 0.0), (f"first {part:.0%} cached", part) if part else ("first half cached", 0.5))
    for label, share in cases:
        cached = np.minimum(np.floor(tokens * share), tokens - 1)
        found = waits(p.work, p.machine, p.expectation, tokens, cached, p.step_tokens)
        out["tokens"] += tokens.tolist()
        out["prefix"] += [label] * len(tokens)
        for name, values in zip(("floor", "low", "mid", "high"), found, strict=True):
            out[name] += values.tolist()
    return out


def batch_curve(p: Plan) -> Columns:
    """Total and per-conversation tokens per second against conversations in one copy, up to where memory ends.

    Columns: batch, total_ceiling, total_low, total_mid, total_high, each_ceiling, each_mid, bound.
    """
    holds = p.decode.batch.memory_full_at if p.decode.batch else 0
    if holds < 1:
        return {n: [] for n in ("batch", "total_ceiling", "total_low", "total_mid", "total_high", "each_ceiling",
                                "each_mid", "bound")}
    batch = np.array(sorted({*doubling(1, holds), min(p.asked, holds)}))
    context = mean_context(p.scenario.prompt, p.scenario.output)
    ceiling, low, mid, high = rates(p.work, p.machine, p.expectation, batch, context, p.scenario.accepted)
    compute, traffic = roofline.decode_parts(p.work, p.machine.bound, roofline.pipeline_part(p.work, batch), context)
    return {
        "batch": batch.tolist(), "total_ceiling": ceiling.tolist(), "total_low": low.tolist(),
        "total_mid": mid.tolist(),
        "total_high": high.tolist(), "each_ceiling": (ceiling / batch).tolist(), "each_mid": (mid / batch).tolist(),
        "bound": np.where(compute >= traffic, "compute", "memory").tolist(),
    }  # fmt: skip


def arrivals_curve(p: Plan) -> Columns:
    """Requests in flight against arrivals per second (Little's law with the expected time in system), one copy's
    figures times the copies, up to capacity. Columns: rate, in_flight, stay.
    """
    holds = p.load.holds // p.scenario.copies if p.load.holds else 0
    if holds < 1:
        return {"rate": [], "in_flight": [], "stay": []}
    seconds = residence_of(p.scenario, p.work, p.machine, p.expectation.prefill, p.expectation.decode)
    n = np.unique(np.geomspace(1, holds, 60))
    stay = seconds(n)
    arrivals = np.maximum.accumulate(n / stay)
    copies = p.scenario.copies
    return {
        "rate": [0.0, *(arrivals * copies).tolist()],
        "in_flight": [0.0, *(n * copies).tolist()],
        "stay": [float(stay[0]), *stay.tolist()],
    }


def capacity_ceiling(p: Plan) -> float:
    """Requests per second of all copies that arithmetic allows at the largest batch (0: nothing is held)."""
    holds = p.load.holds // p.scenario.copies if p.load.holds else 0
    if holds < 1:
        return 0.0
    seconds = residence_of(p.scenario, p.work, p.machine.bound, CEILING, CEILING, request_s=0.0)
    n = np.unique(np.geomspace(1, holds, 60))
    return float(np.max(n / seconds(n))) * p.scenario.copies


def budgets(s: Scenario, rows: tuple[Row, ...], limit: int = 14) -> list[Row]:
    """The devices to draw beside the chosen one: nearest in memory, the chosen one first, at most `limit`.

    Where none of those does all that is asked, the last is the nearest that does; where none holds one request and none
    of the table does all, the nearest that holds one.
    """
    own = next(r for r in rows if r.mine)
    engine = s.engine_row

    def away(r: Row) -> tuple[bool, float]:
        ratio = r.device.memory_bytes_usable / own.device.memory_bytes_usable
        return r.device.kind != own.device.kind, abs(math.log(ratio))

    near = sorted((r for r in rows if not r.mine and not r.device.announced and engine.runs_on(r.device)), key=away)
    drawn = [own, *near[: limit - 1]]
    if any(r.serves for r in drawn):
        return drawn
    holds = any(r.budget.concurrent >= 1 for r in drawn)
    further = next((r for r in near if r.serves), None)
    if further is None and not holds:
        further = next((r for r in near if r.budget.concurrent >= 1), None)
    return drawn if further is None else [*drawn[: limit - 1], further]


def bits_table(made: Plan, formats: list[str]) -> Columns:
    """What each weight format buys on the plan's device.

    Columns: format, bits (true, over all weights), weights (bytes per device), fits, conversations, ceiling, low, mid,
    high.
    """
    s = made.scenario
    out: Columns = {n: [] for n in ("format", "label", "bits", "weights", "fits", "conversations", "ceiling", "low",
                                    "mid", "high")}
    for name in formats:
        own = name == s.weights and not made.expectation.calibrated
        p = made if own else plan(s.change(weights=name, calibrated_decode=None, calibrated_prefill=None))
        stored = p.work.rows.stored_bytes.sum()
        shown = p.loads
        values = {
            "format": name, "label": "As published" if name == "checkpoint" else FORMATS[name].label,
            "bits": float(stored) * 8 / max(p.architecture.total_params, 1), "weights": p.memory.weights,
            "fits": p.fits if p.load.steady_state or not shown else "cannot keep up",
            "conversations": p.memory.concurrent * s.copies, "ceiling": p.decode.ceiling if shown else None,
            "low": p.decode.expected.low if shown else None, "mid": p.decode.expected.mid if shown else None,
            "high": p.decode.expected.high if shown else None,
        }  # fmt: skip
        for key, value in values.items():
            out[key].append(value)
    return out


def kv_table(s: Scenario, formats: list[str]) -> Columns:
    """What each format of conversation memory buys.

    Columns: format, label, per_token (bytes), request (bytes), conversations.
    """
    out: Columns = {n: [] for n in ("format", "label", "per_token", "request", "conversations")}
    for name in formats:
        changed = s.change(kv=name)
        room = budget_of(changed)
        for key, value in (("format", name), ("label", KV_FORMATS[name].label), ("per_token", room.slope),
                           ("request", room.request), ("conversations", room.concurrent * s.copies)):  # fmt: skip
            out[key].append(value)
    return out
