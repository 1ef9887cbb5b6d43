"""What fewer bits buy and risk, as columns and rows for the page of that name."""

from __future__ import annotations

from typing import Any, Final

from planner import curves
from planner.efficiency.classes import is_mixture
from planner.findings.changes import LIGHTER
from planner.fleet import fleet
from planner.plan import Plan
from planner.precision import FORMATS, KV_FORMATS
from planner.promises import Tone
from planner.units import GIB, count, digits, gb, gib, rate, rounded

# Formats compared, by what the engine loads; one per width in the chart.
HF: Final = ("bf16", "fp8", "int8", "int4", "mxfp4", "nvfp4")
GGUF: Final = ("bf16", "Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K")
CHART: Final = {False: (("bf16", "16 bit"), ("fp8", "8 bit"), ("int4", "4 bit")),
                True: (("bf16", "16 bit"), ("Q8_0", "8 bit"), ("Q4_K_M", "4 bit"))}  # fmt: skip
KV: Final = {False: ("bf16", "fp8", "int8"), True: ("bf16", "q8_0", "q4_0")}
BESIDE: Final = ("RTX 4090", "L40S", "A100 80GB SXM", "H100 80GB SXM", "H200 141GB SXM", "MI300X", "B200 180GB SXM")

# What the table says of a format that memory holds while its arrivals outrun it.
CANNOT_KEEP_UP: Final = "cannot keep up"


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


def verdict(p: Plan, table: curves.Columns) -> tuple[Tone, str]:
    """What the usual narrower formats buy against the scenario's own: what is held first, then speed alone.

    table  that of `weights_table`; where the scenario's format is among the narrowest, it is held against 16 bit
    """
    rows = {name: {key: table[key][n] for key in table} for n, name in enumerate(table["format"])}
    own = rows[p.scenario.weights]
    usual = [rows[n] for n in ("fp8", "Q8_0", "int4", "Q4_K_M") if n in rows and n != p.scenario.weights]
    others = [row for row in usual if row["weights"] <= LIGHTER * own["weights"]]
    wide = rows["bf16"]
    if not others and own["weights"] <= LIGHTER * wide["weights"]:
        others = [wide]
    short = p.scenario.load == "closed" and min(own["conversations"], _seats(p)) < p.scenario.users
    tone = "bad" if not own["ceiling"] or own["fits"] == CANNOT_KEEP_UP else "warn" if short else "good"
    weights = f"{gib(own['weights'])} of weights per device"
    held = [f"{_short(own)} {_holds(p, own)} ({weights})"]
    held += [f"{_short(row)} {_also(p, row, own)} ({gib(row['weights'])})" for row in others]
    return tone, f"{'; '.join(held)}. {_alone(own, others)}".rstrip()


def _short(row: dict[str, Any]) -> str:
    """A format's name without its remarks: INT4."""
    return str(row["label"]).partition(" (")[0]


def _seats(p: Plan) -> int:
    """Requests at once that the engines of all copies admit."""
    return p.seqs * p.layout.attention_data * p.scenario.copies


def _holds(p: Plan, row: dict[str, Any]) -> str:
    """What the scenario's own format does with the load that is asked for."""
    if not row["ceiling"]:
        return "does not fit"
    if p.scenario.load == "open":
        return "cannot keep up with the arrivals" if row["fits"] == CANNOT_KEEP_UP else "keeps up with the arrivals"
    users, room = p.scenario.users, min(row["conversations"], _seats(p))
    if room < users:
        return f"holds {count(room)} of {_conversations(users)}"
    asked = f"all {count(users)} conversations" if users > 1 else "the conversation"
    return f"holds {asked} asked for and has room for {count(room)}"


def _also(p: Plan, row: dict[str, Any], own: dict[str, Any]) -> str:
    """What another format does, in a word or two after what the scenario's own does."""
    if not row["ceiling"]:
        return "does not fit either" if not own["ceiling"] else "does not fit"
    if p.scenario.load == "closed":
        return f"holds {count(min(row['conversations'], _seats(p)))}"
    alike = own["ceiling"] and row["fits"] == own["fits"]
    if row["fits"] == CANNOT_KEEP_UP:
        return "cannot either" if alike else "cannot keep up"
    return "does too" if alike else "keeps up"


def _conversations(n: int) -> str:
    return f"{count(n)} conversation{'' if n == 1 else 's'}"


def _alone(own: dict[str, Any], others: list[dict[str, Any]]) -> str:
    """How fast one conversation alone is expected to be, and how many times as fast in the other formats."""
    fit = [row for row in (own, *others) if row["ceiling"]]
    if not fit:
        return ""
    first, *rest = fit
    with_ = "" if first is own else f" with {_short(first)}"
    times = "".join(f"{' and' if n else ','} {_times(row, first)}" for n, row in enumerate(rest))
    return (
        f"Alone, a conversation is expected to get {rate(first['low'])} to {rate(first['high'])} tokens/s{with_} (at "
        f"most {rate(first['ceiling'])}){times}."
    )


def _times(row: dict[str, Any], first: dict[str, Any]) -> str:
    """The faster of two formats as a multiple of the other."""
    faster = row["mid"] / first["mid"]
    if faster >= 1:
        return f"{digits(faster, 2)} times as fast with {_short(row)}"
    return f"{digits(1 / faster, 2)} times as fast as with {_short(row)}"


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
