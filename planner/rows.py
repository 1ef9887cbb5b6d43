"""Rows that charts and tables show, made from a plan or a fleet. Bytes become GiB and seconds milliseconds here."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any

import numpy as np

from planner import curves
from planner.fleet import Row
from planner.plan import Plan
from planner.roofline import decode_parts, prefill_parts
from planner.units import GB, GIB, count, duration, rate

Rows = list[dict[str, Any]]

# Short: they stand beside the bars on a phone too.
FLAGS = {"cannot load": "✕ cannot load", "cannot hold one request": "✕ holds none"}
# A bar of what is asked for is cut at so many times the largest memory drawn, to leave room for the others.
CUT = 1.3


def budget_rows(rows: Collection[Row], groups: int = 1) -> Rows:
    """Stacked parts of each device's memory, in drawing order; what is asked for past the memory ends past the mark.

    groups  attention groups of a copy, to which its conversations are dealt
    """
    out: Rows = []
    cut = CUT * max((r.budget.usable for r in rows), default=0.0)
    for rank, row in enumerate(rows):
        m = row.budget
        each = m.held(math.ceil(row.asked / groups))
        # Past capacity the seats are full and the rest waits outside: no number is asked for.
        wanted = min(each, m.pool) if row.behind else each
        engine = m.tables + m.activations + m.runtime + m.graphs
        left = 0.0 if m.weights + engine > m.usable else m.outside
        before = m.weights + engine + left
        drawn = min(wanted, max(cut - before, 0.0))
        parts = (("Weights", m.weights), ("The engine's own needs", engine), ("Left alone by the engine", left),
                 ("Conversations", drawn), ("Room for more", max(m.pool - wanted, 0.0)))  # fmt: skip
        end = max(sum(v for _, v in parts), m.usable) / GIB
        for order, (part, value) in enumerate(parts):
            out.append({
                "label": row.device.label, "part": part, "gib": value / GIB, "order": order, "usable": m.usable / GIB,
                "fits": row.verdict, "rank": rank, "end": end, "flag": _flag(row, drawn < wanted),
            })  # fmt: skip
    return out


def _flag(row: Row, cut: bool) -> str:
    """What is said beside a bar that does not do all that is asked."""
    if row.behind:
        return "! cannot keep up"
    if row.fits == "holds fewer than asked":
        per = " per copy" if row.copies > 1 else ""
        return f"! {count(row.budget.concurrent)} of {count(row.asked)}{per}{' →' if cut else ''}"
    return FLAGS.get(row.fits, "")


# Parts of the budget -> what they are, for people.
PART_WORDS = {
    "usable memory": "what the device exposes to programs",
    "weights": "the model's parameters as stored",
    "tables and rounding": "tables of token positions, and what the memory allocator rounds each tensor up to",
    "activations": "results in between while a step runs, at their largest",
    "runtime": "the engine's libraries and the buffers of links between devices",
    "graphs": "recorded sequences of kernels (CUDA graphs) that start faster",
    "room for conversations": "what is left for conversation memory (KV cache)",
    "left alone by the engine": "the share of memory that the engine does not take",
}


def budget_table(p: Plan) -> Rows:
    """The parts of the budget of one device in GiB, GB and bytes, and what each is."""
    m = p.memory
    return [
        {"Part": part, "GiB": value / GIB, "GB": value / GB, "Bytes": round(value), "What it is": PART_WORDS[part]}
        for part, value in ({"usable memory": m.usable} | m.parts).items()
    ]


# Memory against tokens is drawn up to so many times what the engine may take (or of what it takes before the first
# conversation): a line that goes on far above would press the limit to the bottom.
_GROWN = 2.0


def growth_rows(p: Plan) -> Rows:
    """Memory against tokens, a line per number of conversations, each up to where the drawing ends.

    side: the end at which the limit has room for its name, "left" or "right".
    """
    c = curves.memory_growth(p)
    limit = max(c["limit"], default=0.0)
    top = _GROWN * max(limit, p.memory.taken)
    end = curves.ends_at(p, curves.inside(p)) if p.loads else None
    middle = math.sqrt(min(c["tokens"]) * max(c["tokens"]))
    side = "right" if end is not None and end < middle else "left"
    out: Rows = []
    for n in dict.fromkeys(c["conversations"]):
        line = [(t, b) for t, b, m in zip(c["tokens"], c["bytes"], c["conversations"], strict=True) if m == n]
        out += [
            {"tokens": t, "series": count(n), "gib": b / GIB, "limit": limit / GIB, "side": side}
            for t, b in _up_to(line, top)
        ]
    return out


def _up_to(line: list[tuple[float, float]], top: float) -> list[tuple[float, float]]:
    """The points of a rising line up to a height, with the point at which it gets there; at least the first point."""
    inside = [(x, y) for x, y in line if y <= top]
    if not inside or len(inside) == len(line):
        return inside or line[:1]
    (x0, y0), (x1, y1) = inside[-1], line[len(inside)]
    return [*inside, (x0 + (x1 - x0) * (top - y0) / (y1 - y0), top)]


def ranked_rows(rows: Iterable[Row]) -> Rows:
    """Decode ceilings with their expected band, the fastest first; devices without a speed left out.

    The scenario's own device stays: without a speed it comes first, and `shown` says why it has none.
    """
    rows = list(rows)
    shown = sorted((r for r in rows if r.ceiling is not None and r.runs), key=lambda r: -(r.ceiling or 0))
    without = [r for r in rows if r.mine and (r.ceiling is None or not r.runs)]
    return [
        {"label": r.device.label, "ceiling": r.ceiling if r.runs else None, "low": r.low if r.runs else None,
         "high": r.high if r.runs else None, "mine": "yes" if r.mine else "no", "rank": n,
         "bandwidth": r.device.bandwidth, "shown": rate(r.ceiling or 0) if r.runs and r.ceiling else _lacks(r)}
        for n, r in enumerate([*without, *shown])
    ]  # fmt: skip


def _lacks(row: Row) -> str:
    return "✕ does not fit" if row.runs else "✕ engine does not run here"


# Well-known devices are drawn up to so many times as fast or slow as the scenario's own: beside a bar many times as
# long its own could not be read.
_BESIDE = 5.0


def around_mine(ranked: Rows, always: Iterable[str]) -> Rows:
    """The ranked rows near the scenario's own device, and those of well-known ones of a like speed.

    Neighbours of a device without a speed are those of the nearest bandwidth.
    """
    mine = next((r for r in ranked if r["mine"] == "yes"), None)
    quick = [r for r in ranked if r["ceiling"] is not None]
    if not quick:
        return ranked
    nearest = mine if mine and mine["ceiling"] else quick[0]
    if mine and not mine["ceiling"]:
        nearest = min(quick, key=lambda r: abs(math.log(r["bandwidth"] / mine["bandwidth"])))
    at, known, speed = quick.index(nearest), set(always), nearest["ceiling"]
    near = [
        r for n, r in enumerate(quick)
        if (abs(n - at) <= 5 or r["label"] in known) and 1 / _BESIDE <= r["ceiling"] / speed <= _BESIDE
    ]  # fmt: skip
    return near if nearest is mine or mine is None else [mine, *near]


def phase_rows(p: Plan) -> Rows:
    """Arithmetic and memory traffic of prefill and of one further token, beside each other, in milliseconds."""
    first = prefill_parts(p.work, p.machine.bound, p.scenario.prompt, p.scenario.shared_prefix)
    next_ = decode_parts(p.work, p.machine.bound, 1, p.decode.context)
    names = (f"First token: prefill of {count(p.scenario.prompt - p.scenario.shared_prefix)} tokens",
             "Each next token: decode")
    return [
        {"phase": phase, "part": part, "ms": float(seconds) * 1e3, "shown": duration(float(seconds))}
        for phase, parts in zip(names, (first, next_), strict=True)
        for part, seconds in zip(("arithmetic", "memory traffic"), parts, strict=True)
    ]


def marked(columns: curves.Columns, field: str, value: float) -> Rows:
    """Columns as rows, with now = 1 on those where `field` has this value (the nearest when none has)."""
    names = list(columns)
    out = [dict(zip(names, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    if not out:
        return out
    nearest = min(out, key=lambda r: abs(float(r[field]) - value))[field]
    return [{**row, "now": int(row[field] == nearest)} for row in out]


def each_rows(p: Plan) -> Rows:
    """Tokens per second of each conversation against conversations at once."""
    c = curves.batch_curve(p)
    each = {
        "batch": c["batch"], "ceiling": c["each_ceiling"], "mid": c["each_mid"],
        "low": [v / n for v, n in zip(c["total_low"], c["batch"], strict=True)],
        "high": [v / n for v, n in zip(c["total_high"], c["batch"], strict=True)],
    }  # fmt: skip
    return marked(each, "batch", p.decode.batch.size if p.decode.batch else 1)


def total_rows(p: Plan) -> Rows:
    """Tokens per second of all conversations of a copy against their number."""
    c = curves.batch_curve(p)
    total = {"batch": c["batch"], "ceiling": c["total_ceiling"], "low": c["total_low"], "mid": c["total_mid"],
             "high": c["total_high"], "bound": c["bound"]}  # fmt: skip
    return marked(total, "batch", p.decode.batch.size if p.decode.batch else 1)


def speed_table(p: Plan) -> Rows:
    """Tokens per second against conversations, for reading and download."""
    c = curves.batch_curve(p)
    return [
        {"Conversations in one copy": n, "All together, at most, tokens/s": top,
         "All together, expected, tokens/s": mid,
         "Each, at most, tokens/s": top / n, "Each, expected, tokens/s": mid / n, "Bound by": bound}
        for n, top, mid, bound in zip(c["batch"], c["total_ceiling"], c["total_mid"], c["bound"], strict=True)
    ]  # fmt: skip


def arrivals_table(p: Plan) -> Rows:
    """Requests in flight at each tenth of what can be served, for reading and download."""
    c = curves.arrivals_curve(p)
    if not c["rate"]:
        return []
    at = np.linspace(0.1, 1.0, 10) * c["rate"][-1]
    inside = np.interp(at, c["rate"], c["in_flight"])
    return [
        {"Share of what is expected to be served, %": 10.0 * n, "Requests per second": r, "Requests in flight": held,
         "Seconds each stays": held / r}
        for n, r, held in zip(range(1, 11), at.tolist(), inside.tolist(), strict=True)
    ]  # fmt: skip
