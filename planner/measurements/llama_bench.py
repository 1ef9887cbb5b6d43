"""llama-bench of llama.cpp: Markdown, CSV, JSON, JSON lines and SQL, builds of 2023 to today.

Formats: https://github.com/ggml-org/llama.cpp/blob/master/tools/llama-bench/README.md. `pp` reads a prompt, `tg`
writes tokens one by one, `pg` does both; `@ d4096` means that the cache already held 4,096 tokens.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from planner.measurements.documents import Pasted
from planner.measurements.measured import BenchRow, Measured, Stat
from planner.measurements.numbers import byte_size, count, number, positive, scaled, text

_TEST = re.compile(r"(?:pp\s*(\d{1,9}))?\s*\+?\s*(?:tg\s*(\d{1,9}))?(?:\s*@\s*d\s*(\d{1,9}))?$")
_BUILD = re.compile(r"^build:\s*(\w+ \(\d+\))")
_DEVICE = re.compile(r"Device 0: (.{1,100}?), compute capability")
_INSERT = re.compile(r"INSERT INTO \w+ \(([^)]*)\) VALUES \((.*)\);?\s*$")
_BILLIONS = {"B": 1e9, "M": 1e6, "K": 1e3, "T": 1e12}
_MOST_ROWS = 2_000
_COLUMNS = {"n_prompt", "n_gen", "avg_ts"}


def read(pasted: Pasted) -> Measured | None:
    """The rows and, as headline, the first pp and tg test on an empty cache; None where it is not llama-bench."""
    records = _records(pasted)
    rows = [row for record in records if (row := _row(record)) is not None]
    version = next((_build(record) for record in records if _build(record)), None)
    if not rows:
        rows = _markdown(pasted.lines)
        version = next((found.group(1) for line in pasted.lines if (found := _BUILD.match(line))), None)
    return _measured(rows[:_MOST_ROWS], version) if rows else None


def _records(pasted: Pasted) -> list[Mapping[str, Any]]:
    """One mapping a test from JSON, JSON lines, SQL or CSV."""
    found: list[Mapping[str, Any]] = [item for item in pasted.objects if item.keys() >= _COLUMNS]
    return found or _sql(pasted.lines) or _csv(pasted.lines)


def _csv(lines: Sequence[str]) -> list[Mapping[str, Any]]:
    starts = [at for at, line in enumerate(lines) if {cell.strip('" ') for cell in line.split(",")} >= _COLUMNS]
    if not starts:
        return []
    try:
        return list(csv.DictReader(io.StringIO("\n".join(line for line in lines[starts[0] :] if line))))
    except csv.Error:
        return []


def _sql(lines: Iterable[str]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for line in lines:
        if (match := _INSERT.match(line)) is None:
            continue
        names = [name.strip() for name in match.group(1).split(",")]
        try:
            values = next(csv.reader([match.group(2)], quotechar="'", skipinitialspace=True), [])
        except csv.Error:
            continue
        if set(names) >= _COLUMNS:
            found.append(dict(zip(names, values, strict=False)))
    return found


def _build(record: Mapping[str, Any]) -> str | None:
    commit, build = record.get("build_commit"), record.get("build_number")
    return text(f"{commit} ({build})") if commit else None


def _row(record: Mapping[str, Any]) -> BenchRow | None:
    prompt, output = count(record.get("n_prompt")) or 0, count(record.get("n_gen")) or 0
    rate = positive(record.get("avg_ts"))
    if rate is None or not prompt + output:
        return None
    return BenchRow(
        test=_kind(prompt, output),
        prompt_tokens=prompt,
        output_tokens=output,
        depth=count(record.get("n_depth")) or 0,
        tok_per_s=rate,
        stddev_tok_per_s=number(record.get("stddev_ts")),
        model=text(record.get("model_type")),
        device=text(record.get("gpu_info")) or text(record.get("cpu_info")),
        backend=text(record.get("backends")) or text(record.get("backend")),
        weight_bytes=positive(record.get("model_size")),
        params=positive(record.get("model_n_params")),
        gpu_layers=count(record.get("n_gpu_layers")),
    )


def _kind(prompt: int, output: int) -> Literal["pp", "tg", "pg"]:
    return "pg" if prompt and output else "pp" if prompt else "tg"


def _markdown(lines: Sequence[str]) -> list[BenchRow]:
    """Rows of every table whose header has the columns `test` and `t/s`."""
    rows: list[BenchRow] = []
    header: list[str] = []
    device = next((found.group(1) for line in lines if (found := _DEVICE.search(line))), None)
    for line in lines:
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if "t/s" in cells and "test" in cells:
            header = cells
        elif header and len(cells) == len(header):
            row = _markdown_row(dict(zip(header, cells, strict=True)), device)
            rows.extend([row] if row else [])
    return rows


def _markdown_row(cells: Mapping[str, str], device: str | None) -> BenchRow | None:
    test, rate = _TEST.match(cells["test"]), positive(cells["t/s"])
    if test is None or rate is None:
        return None
    prompt, output, depth = (int(group or 0) for group in test.groups())
    if not prompt + output:
        return None
    spread = re.split(r"±|\+/?-", cells["t/s"], maxsplit=1)
    amount = cells.get("params", "").split()
    return BenchRow(
        test=_kind(prompt, output),
        prompt_tokens=prompt,
        output_tokens=output,
        depth=depth,
        tok_per_s=rate,
        stddev_tok_per_s=number(spread[1]) if len(spread) == 2 else None,
        model=text(cells.get("model")),
        device=device,
        backend=text(cells.get("backend")),
        weight_bytes=byte_size(cells.get("size", "")),
        params=scaled(amount[0], _BILLIONS.get(amount[1], 1.0)) if len(amount) == 2 else None,
        gpu_layers=count(cells.get("ngl")),
    )


def _measured(rows: Sequence[BenchRow], version: str | None) -> Measured:
    model = rows[0].model
    mine = [row for row in rows if row.model == model]
    prefill = _headline(mine, "pp")
    decode = _headline(mine, "tg")
    tpot = 1.0 / decode.tok_per_s if decode else None
    return Measured(
        tool="llama-bench",
        label="llama-bench (llama.cpp)",
        kind="single",
        version=version,
        model=model,
        device=rows[0].device or rows[0].backend,
        prompt_tokens=float(prefill.prompt_tokens) if prefill else None,
        output_tokens=float(decode.output_tokens) if decode else None,
        in_flight=1.0,
        prefill_s=prefill.prompt_tokens / prefill.tok_per_s if prefill else None,
        tpot_s=Stat(mean=tpot),
        prefill_tok_per_s=prefill.tok_per_s if prefill else None,
        decode_tok_per_s=decode.tok_per_s if decode else None,
        reported_decode_tok_per_s=decode.tok_per_s if decode else None,
        notes=tuple(_notes(rows, mine, decode)),
        rows=tuple(rows),
    )


def _headline(rows: Sequence[BenchRow], test: str) -> BenchRow | None:
    """The first test of its kind on the emptiest cache."""
    return min((row for row in rows if row.test == test), key=lambda row: row.depth, default=None)


def _notes(rows: Sequence[BenchRow], mine: Sequence[BenchRow], decode: BenchRow | None) -> list[str]:
    notes = ["Engine time of one sequence: tokeniser, sampling, network and queue are excluded, so there is no TTFT."]
    if decode:
        notes.append(
            f"tg{decode.output_tokens} starts with {decode.depth:,} tokens in the cache; "
            "a long conversation reads more and is slower (measure it with -d)."
        )
    if len(mine) < len(rows):
        notes.append(f"Several models in one table: the headline is {rows[0].model}, the rows hold all.")
    if any(row.test == "pg" for row in rows):
        notes.append("A pp+tg row mixes prefill and decode in one rate and is used for neither.")
    return notes
