"""What fewer bits buy and risk, as columns and rows for the page of that name."""

from __future__ import annotations

from typing import Any, Final

from planner import curves
from planner.fleet import fleet
from planner.plan import Plan
from planner.precision import FORMATS, KV_FORMATS
from planner.units import GIB

# Formats compared, by what the engine loads; one per width in the chart.
HF: Final = ("bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4")
GGUF: Final = ("bf16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K")
CHART: Final = {False: (("bf16", "16 bit"), ("fp8", "8 bit"), ("int4", "4 bit")),
                True: (("bf16", "16 bit"), ("Q8_0", "8 bit"), ("Q4_K_M", "4 bit"))}  # fmt: skip
KV: Final = {False: ("bf16", "fp8", "int8"), True: ("bf16", "q8_0", "q4_0")}
BESIDE: Final = ("RTX 4090", "L40S", "A100 80GB SXM", "H100 80GB SXM", "H200 141GB SXM", "MI300X", "B200 180GB SXM")


def _gguf(p: Plan) -> bool:
    return "gguf" in p.engine.formats


def offered(p: Plan) -> list[str]:
    """Formats worth comparing for this plan's engine: as published, then from wide to narrow, the chosen one in."""
    names = ["checkpoint", *(GGUF if _gguf(p) else HF)]
    return names if p.scenario.weights in names else [*names, p.scenario.weights]


def weights_table(p: Plan) -> curves.Columns:
    """What each weight format buys on the scenario's device."""
    return curves.bits_table(p.scenario, offered(p))


def dumbbell(p: Plan) -> list[dict[str, Any]]:
    """Ceiling at 16, 8 and 4 bit on this device and a few well-known ones.

    No mark where a format does not fit; a device that none of them fits has one row without a ceiling, flagged.
    """
    out: list[dict[str, Any]] = []
    wanted = [p.device.label, *(label for label in BESIDE if label != p.device.label)]
    runs: dict[str, bool] = {}
    for name, series in CHART[_gguf(p)]:
        for r in fleet(p.scenario.change(weights=name), wanted):
            runs[r.device.label] = r.runs
            if r.ceiling is not None and r.runs:
                out.append({"label": r.device.label, "series": series, "ceiling": r.ceiling, "flag": ""})
    drawn = {row["label"] for row in out}
    out += [
        {"label": label, "series": None, "ceiling": None,
         "flag": "✕ does not fit" if runs[label] else f"✕ {p.engine.name} does not run here"}
        for label in wanted if label in runs and label not in drawn
    ]  # fmt: skip
    return [{**row, "rank": wanted.index(row["label"])} for row in out]


def risks(p: Plan) -> list[dict[str, Any]]:
    """Risk to quality, what stays at 16 bit, and which devices run it, in plain words with their source."""
    out: list[dict[str, Any]] = []
    for name in offered(p):
        if name == "checkpoint":
            continue
        f = FORMATS[name]
        fast = f.needs is None or p.device.peaks.get(f.needs.removesuffix("_tflops").removesuffix("_tops")) is not None
        out.append({
            "Weights": f.label, "Risk to quality": f.risk, "Source": f.risk_source, "Who runs it": f.kernels,
            f"On {p.device.label}": _runs(f.compute, f.bits, fast),
            "Stays wider": f.kept,
        })  # fmt: skip
    return out


def _runs(compute: str, bits: float, fast: bool) -> str:
    """What a format does on a device: which of the two phases it speeds up."""
    if bits >= 16:
        return "runs as it is stored"
    if compute == "fp16" or not fast:
        return "less memory, faster decode; prefill no faster, since it computes at 16 bit"
    return "less memory, faster decode and faster prefill"


def _offers(engine: str, kv: str) -> bool:
    """Whether the engine has this format of conversation memory, by the format's own list."""
    return engine in KV_FORMATS[kv].engines


def kv_rows(p: Plan) -> list[dict[str, Any]]:
    """What each format of conversation memory buys and risks."""
    engine = p.engine.name.split()[0]
    offered_ = [n for n in KV[_gguf(p)] if n == "bf16" or _offers(engine, n)]
    names = [*offered_, *([p.kv] if p.kv not in offered_ else [])]
    table = curves.kv_table(p.scenario, names)
    return [
        {"Conversation memory": KV_FORMATS[name].label, "KiB per token and device": per / 1024,
         "GiB per conversation": each / GIB,
         "Conversations held": held or None, "Risk to quality": KV_FORMATS[name].risk,
         "Engines": KV_FORMATS[name].engines}
        for name, per, each, held in zip(table["format"], table["per_token"], table["request"], table["conversations"],
                                         strict=True)
    ]  # fmt: skip
