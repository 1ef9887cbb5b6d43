"""A plan as the command line prints it: JSON with SI units, null where unknown or where nothing may be shown."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from planner.load.little import Load
from planner.memory import Budget
from planner.plan import Batch, Decode, Plan, Prefill


def as_dict(p: Plan, link: str, findings: list[dict[str, Any]]) -> dict[str, Any]:
    """The whole answer.

    link      the scenario as a link
    findings  as they are printed, worst first
    """
    return {
        "scenario": p.scenario.choices(),
        "link": link,
        "fits": p.fits,
        "memory": {**_memory(p.memory), "utilization": p.utilization, "kv_format": p.kv},
        "decode": _decode(p.decode, p.loads),
        "prefill": _prefill(p.prefill, p.loads),
        "load": _load(p.load),
        "basis": {
            "expectation": p.expectation.basis, "rows": p.expectation.rows, "nearest": p.expectation.nearest or None,
            "calibrated": p.expectation.calibrated,
        },
        "findings": findings,
    }  # fmt: skip


def _memory(m: Budget) -> dict[str, Any]:
    """The budget; weights, activations, runtime, graphs, pool and outside sum to usable when the model loads.

    `runtime_bytes` is all that the engine needs beside those, its tables and rounding included; `tables_bytes` says how
    much of it they are.
    """
    return {
        "usable_bytes": m.usable, "weights_bytes": m.weights,
        "activations_bytes": m.activations, "runtime_bytes": m.runtime + m.tables, "tables_bytes": m.tables,
        "graphs_bytes": m.graphs,
        "kv_pool_bytes": m.pool, "kv_pool_tokens": m.pool_tokens, "kv_bytes_per_token": m.slope,
        "kv_fixed_bytes_per_sequence": m.fixed, "request_bytes": m.request, "shared_bytes": m.once,
        "further_request_bytes": m.own, "max_concurrent_requests": m.concurrent,
        "short_bytes": m.short, "outside_bytes": m.outside,
    }  # fmt: skip


def _decode(d: Decode, shown: bool) -> dict[str, Any]:
    return {
        "context_tokens": d.context, "bytes_per_step": d.bytes_per_step,
        "ceiling_tok_per_s": d.ceiling if shown else None,
        "expected_tok_per_s": asdict(d.expected) if shown else None, "bound": d.bound,
        "batch": _batch(d.batch) if d.batch else None,
    }  # fmt: skip


def _batch(b: Batch) -> dict[str, Any]:
    return {
        "size": b.size, "ceiling_tok_per_s": b.ceiling, "ceiling_tok_per_s_per_user": b.ceiling_per_user,
        "expected_tok_per_s": asdict(b.expected), "compute_bound_from": b.compute_bound_from,
        "memory_full_at": b.memory_full_at, "bound": b.bound,
    }  # fmt: skip


def _prefill(f: Prefill, shown: bool) -> dict[str, Any]:
    return {
        "tokens": f.tokens, "cached_tokens": f.cached, "flops": f.flops, "floor_s": f.floor if shown else None,
        "expected_s": asdict(f.expected) if shown else None, "bound": f.bound,
    }  # fmt: skip


def _load(flow: Load) -> dict[str, Any]:
    return {
        "mode": flow.mode, "in_flight": flow.in_flight, "arrivals_per_s": flow.arrivals_per_s,
        "time_in_system_s": flow.time_in_system_s, "utilization": flow.utilization,
        "steady_state": flow.steady_state, "capacity_per_s": flow.capacity_per_s, "holds": flow.holds,
        "backlog_per_s": flow.backlog_per_s,
    }  # fmt: skip
