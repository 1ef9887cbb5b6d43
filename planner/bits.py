"""What fewer bits buy and risk, as columns and rows for the page of that name."""

from __future__ import annotations

from typing import Any, Final

from planner import curves
from planner.efficiency.classes import is_mixture
from planner.findings.changes import LIGHTER
from planner.fleet import fleet
from planner.plan import Plan
from planner.precision import FORMATS, KV_FORMATS
from planner.units import GIB, count, digits, gb, gib, rate, rounded

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
    return curves.bits_table(p, offered(p))


def table_rows(table: curves.Columns) -> list[dict[str, Any]]:
    """`weights_table` for reading: bytes as GiB, no conversations as blank."""
    return [
        {
            "Weights": table["label"][n], "Bits per weight": rounded(table["bits"][n]),
            "GiB per device": table["weights"][n] / GIB, "Verdict": table["fits"][n],
            "Conversations held": table["conversations"][n] or None, "Expected from, tokens/s": table["low"][n],
            "Expected to, tokens/s": table["high"][n], "At most, tokens/s": table["ceiling"][n],
        }
        for n in range(len(table["format"]))
    ]  # fmt: skip


def verdict(p: Plan, table: curves.Columns) -> tuple[str, str]:
    """What the usual narrower formats buy against the scenario's own, expectation first: tone and sentence.

    table  that of `weights_table`; where the scenario's format is among the narrowest, it is held against 16 bit
    """
    rows = {name: {key: table[key][n] for key in table} for n, name in enumerate(table["format"])}
    own = rows[p.scenario.weights]
    tone = "good" if own["ceiling"] else "bad"
    usual = [rows[n] for n in ("fp8", "Q8_0", "int4", "Q4_K_M") if n in rows and n != p.scenario.weights]
    narrower = [row for row in usual if row["weights"] <= LIGHTER * own["weights"]]
    if narrower:
        start = f"{own['label']}: weights take {gib(own['weights'])} per device{_does(own)}."
        as_others = (f"As {r['label']} they take {gib(r['weights'])}{_does(r, own)}." for r in narrower)
        return tone, " ".join([start, *as_others])
    wide = rows["bf16"]
    if own["weights"] > LIGHTER * wide["weights"]:
        return tone, f"{own['label']}: weights take {gib(own['weights'])} per device{_does(own)}."
    start = f"{own['label']} against 16 bit: weights take {gib(own['weights'])} per device, not {gib(wide['weights'])}"
    if own["ceiling"] and not wide["ceiling"]:
        return tone, f"{start}, which would not fit{_does(own)}."
    return tone, f"{start}{_does(own, wide)}."


def _does(row: dict[str, Any], beside: dict[str, Any] | None = None) -> str:
    """What a format reaches: expected speed, ceiling and conversations, as ratios where one stands beside it."""
    if not row["ceiling"]:
        either = " either" if beside and not beside["ceiling"] else ""
        return f", and {'it does' if beside is None else 'do'} not fit{either}"
    held = f"{count(row['conversations'])} conversation{'' if row['conversations'] == 1 else 's'}"
    band = f"{rate(row['low'])} to {rate(row['high'])} tokens/s"
    if not beside or not beside["ceiling"]:
        return f"; expect {band}, at most {rate(row['ceiling'])}, and room for {held}"
    faster, above = row["mid"] / beside["mid"], row["ceiling"] / beside["ceiling"]
    return (
        f"; expect {digits(faster, 2)} times as fast ({band}; the ceiling of {rate(row['ceiling'])} is "
        f"{digits(above, 2)} times as high), and room for {held}"
    )


def reading(p: Plan) -> str:
    """Why fewer bits make decode faster here and by how much at most, from what this plan's decode step reads."""
    d = p.decode
    if not p.loads:
        return "Nothing fits as it is, so there is no speed to compare."
    experts = ", those of the experts that it takes" if is_mixture(p.work) else ""
    each = " per device" if p.layout.tensor > 1 else ""
    each += ", all stages together," if p.layout.pipeline > 1 else ""
    said = (
        f"Alone, a conversation reads {gb(d.bytes_per_step)}{each} for each token: {gb(d.weight_bytes)} of weights"
        f"{experts}{',' if experts else ''} and {gb(d.cache_bytes)} of conversation memory (KV cache)."
    )
    if d.bound == "compute":
        return f"{said} Arithmetic takes longer than that here, so reading less hardly helps."
    most = d.bytes_per_step / (d.weight_bytes / 2 + d.cache_bytes)
    return (
        f"{said} So half the bytes of weights would raise the ceiling {digits(most)} times. What is expected rises "
        "less where the engine's own overheads are a large part of a step."
    )


def dumbbell(p: Plan) -> list[dict[str, Any]]:
    """Ceiling and expected band at 16, 8 and 4 bit on this device and a few well-known ones.

    No mark where a format does not fit; a device that none of them fits has one row without a ceiling, flagged.
    """
    out: list[dict[str, Any]] = []
    wanted = [p.device.label, *(label for label in BESIDE if label != p.device.label)]
    runs: dict[str, bool] = {}
    for name, series in CHART[_gguf(p)]:
        for r in fleet(p.scenario.change(weights=name), wanted):
            runs[r.device.label] = r.runs
            if r.ceiling is not None and r.runs:
                out.append({"label": r.device.label, "series": series, "ceiling": r.ceiling, "low": r.low,
                            "high": r.high, "flag": ""})
    drawn = {row["label"] for row in out}
    out += [
        {"label": label, "series": None, "ceiling": None, "low": None, "high": None,
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
