"""Rows of the device table and of the map of devices, made from a fleet."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from planner.fleet import Row
from planner.units import GIB

Rows = list[dict[str, Any]]


def device_rows(rows: Iterable[Row]) -> Rows:
    """The device table with what this scenario does on each; blank where unknown, announced devices marked."""
    rows = list(rows)
    paced = any(r.capacity is not None for r in rows)
    return [
        {
            "Device": r.device.label + (" (announced)" if r.device.announced else ""),
            # The number that people look for stands second, where a phone shows it.
            **({"Expected to serve, requests/s": r.capacity} if paced else {}),
            "Expected from, tokens/s": r.low, "Expected to, tokens/s": r.high, "Verdict": r.verdict,
            "At most, tokens/s": r.ceiling, "Conversations held": r.budget.concurrent * r.copies or None,
            "First token, s from": r.ttft_low, "First token, s to": r.ttft_high, "First token, s at least": r.floor,
            "USD per hour": r.price, "USD per million answer tokens": r.cost, "Price date": r.device.price_date or None,
            "Vendor": r.device.vendor, "Kind": r.device.kind, "Year": r.device.year,
            "Memory, GiB usable": r.device.memory_bytes_usable / GIB,
            "Memory is": "derived" if r.device.memory_derived else "read",
            "Bandwidth, GB/s": r.device.bandwidth / 1e9, "16-bit TFLOP/s": r.device.peak("fp16")[0] / 1e12,
            "FP8 TFLOP/s": r.device.peaks["fp8"] / 1e12 if r.device.peaks.get("fp8") else None,
            "Figures are": r.device.confidence,
        }
        for r in rows
    ]  # fmt: skip


def table_order(row: Row) -> tuple[bool, bool, bool, float, bool, float]:
    """Sorts the device table: one's own, then those that do what is asked; shipped first, expected faster first."""
    return not row.mine, not row.serves, row.device.announced, -(row.mid or 0), row.price is None, row.price or 0


def _does(row: Row) -> str:
    """The verdict in the few words of the map's legend."""
    if row.serves:
        return "keeps up" if row.capacity is not None else "fits"
    if not row.runs or row.budget.concurrent < 1:
        return "does not fit or run"
    return "cannot keep up" if row.behind else "fits fewer"


def map_rows(rows: Iterable[Row], marked_labels: Iterable[str]) -> Rows:
    """Bandwidth against compute of each device, with the verdict; place: where a marked device's name goes."""
    chosen = set(marked_labels)
    out: Rows = [
        {"label": r.device.label, "bandwidth_gb_s": r.device.bandwidth / 1e9, "tflops": r.device.peak("fp16")[0] / 1e12,
         "fits": _does(r), "place": ""}
        for r in rows
    ]  # fmt: skip
    named = sorted((r for r in out if r["label"] in chosen), key=lambda r: float(r["tflops"]))
    for row, place in zip(reversed(named), ("above", "below"), strict=False):
        row["place"] = place
    return out
