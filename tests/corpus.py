"""The corpus of real configs with their right answers, and the comparison of a reading with them.

`python -m tests.corpus` prints the exactness table over the whole corpus (`--wrong` only the rows that differ,
`--only TEXT` only the files whose path contains the text).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from planner.architecture import Architecture, read_config
from planner.errors import PlannerError

FOLDER = Path(__file__).parent / "data" / "model_configs"
STRICT_KINDS = ("real", "real-py")
FIELDS = (
    "total_params", "text_params", "nontext_params", "embedding_params", "lm_head_params", "tied_lm_head",
    "active_params", "n_layers", "kv_elements_per_token", "recurrent_state_elements_per_sequence",
)  # fmt: skip

# Rows where the oracle's library departs from the checkpoint: file -> (reason, {field: the checkpoint's value}).
EXCEPTIONS: dict[str, tuple[str, dict[str, Any]]] = json.loads(
    (Path(__file__).parent / "data" / "corpus_exceptions.json").read_text()
)


def rows() -> list[dict[str, Any]]:
    """The rows of truth.jsonl."""
    return [json.loads(line) for line in (FOLDER / "truth.jsonl").read_text().splitlines()]


def has_answer(row: dict[str, Any]) -> bool:
    """Whether an oracle gave this row's figures."""
    return not row["oracle"].startswith("none")


def strict(row: dict[str, Any]) -> bool:
    """Real files, or recalled ones whose total equals the published one, with an oracle."""
    return has_answer(row) and (row["kind"] in STRICT_KINDS or bool(row.get("recalled_verified")))


def layer_kinds(model: Architecture) -> Counter[str]:
    """What each layer keeps, in the words of truth.jsonl (`full:2048`, `sliding(128):1024`, `linear:557056`)."""
    layers: dict[str, list[str]] = {}
    for block, cache in model.caches():
        for i in block.layers:
            layers.setdefault(f"{block.prefix}{i}", [])
            name = {"window": f"sliding({cache.window})", "chunk": f"chunked({cache.window})", "latent": "mla"}.get(
                cache.kind, cache.kind
            )
            layers[f"{block.prefix}{i}"].append(f"{name}:{cache.fixed or cache.in_library or cache.elements}")
    return Counter("+".join(v) for v in layers.values())


def expected_kinds(row: dict[str, Any]) -> Counter[str] | None:
    """The row's layer kinds that are plain enough to compare (full, sliding, chunked, MLA layers)."""
    pairs = row.get("kv_layer_kinds_rle") or list((row.get("kv_layer_kinds_counts") or {}).items())
    if not pairs:
        return None
    out: Counter[str] = Counter()
    for kind, count in pairs:
        if kind.split("(")[0].split(":")[0] in ("full", "sliding", "chunked", "mla") and "+" not in kind:
            out[kind] += count
    return out


def differences(row: dict[str, Any], model: Architecture) -> dict[str, tuple[Any, Any]]:
    """Field -> (found, expected) wherever the reading differs from the row (or from its listed exception)."""
    _, corrected = EXCEPTIONS.get(row["file"], ("", {}))
    out: dict[str, tuple[Any, Any]] = {}
    for field in (*FIELDS, "indexer_elements_per_token"):
        expected = corrected.get(field, row.get(field))
        if field not in row or expected is None:
            continue
        found = getattr(model, field if field != "tied_lm_head" else "tied")
        if found != expected:
            out[field] = (found, expected)
    kinds = corrected.get("layer_kinds", expected_kinds(row))
    if kinds is not None:
        plain = ("full", "sliding", "chunked", "mla")
        found_kinds = Counter(
            {
                k: n
                for k, n in layer_kinds(model).items()
                if k in kinds or (k.split("(")[0].split(":")[0] in plain and "+" not in k)
            }
        )
        if found_kinds != Counter(kinds):
            out["layer_kinds"] = (dict(found_kinds), dict(kinds))
    return out


def read(row: dict[str, Any]) -> Architecture:
    """The row's config as the planner reads it."""
    return read_config((FOLDER / row["file"]).read_text(), name=row["id"])


def table(only: str = "") -> Iterator[tuple[dict[str, Any], str, dict[str, tuple[Any, Any]]]]:
    """(row, outcome, differences) of each row: exact, exception, wrong, refused, or read (no answer to compare)."""
    for row in rows():
        if only not in row["file"]:
            continue
        try:
            model = read(row)
        except PlannerError as error:
            yield row, "refused", {"error": (str(error), None)}
            continue
        except Exception as error:
            yield row, "crash", {"error": (repr(error), None)}
            continue
        if not has_answer(row):
            yield row, "read" if model.recognised == "exact" else "guessed", {}
            continue
        wrong = differences(row, model)
        yield row, "wrong" if wrong else "exception" if row["file"] in EXCEPTIONS else "exact", wrong


def main() -> int:
    """Print the table; exit status 1 if a row with an answer is not exact."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--wrong", action="store_true")
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    bad = 0
    for row, outcome, wrong in table(options.only):
        outcomes[outcome] += 1
        failed = has_answer(row) and outcome not in ("exact", "exception")
        bad += failed
        if not options.wrong or failed:
            print(f"{outcome:10} {row['kind']:18} {row['file']}")
            for field, (found, expected) in wrong.items():
                print(f"           {field}: found {found}, expected {expected}")
    for file, (reason, _) in EXCEPTIONS.items():
        if options.only in file:
            print(f"exception  {file}: {reason}")
    print(", ".join(f"{n} {outcome}" for outcome, n in sorted(outcomes.items())), f"({sum(outcomes.values())} rows)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
