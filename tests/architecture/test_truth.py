"""Every config of the corpus against its answers, and the links that carry it."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from planner.architecture import Architecture, read_config
from planner.architecture.oracle_flops import oracle_prefill_flops
from planner.errors import PlannerError
from planner.inspect import inspect
from tests import corpus

ROWS = {row["file"]: row for row in corpus.rows()}
ANSWERED = [file for file, row in ROWS.items() if corpus.has_answer(row)]
REFUSED = {file for file in ROWS if file.startswith("draft/")} | {
    "qwen3_omni_moe/classdefault-qwen3_omni_moe.json"  # its heads do not divide its hidden size
}

# The oracle computed no logits for this file: its total lacks 2 x 512 x vocabulary x hidden exactly.
NO_LOGITS = {"paligemma/classdefault-paligemma.json"}


@cache
def reading(file: str) -> Architecture:
    return corpus.read(ROWS[file])


@pytest.mark.parametrize("file", ANSWERED)
def test_counts_equal_the_oracle(file: str) -> None:
    """Parameters, caches and layer kinds of each row equal its answers or its listed exception."""
    assert corpus.differences(ROWS[file], reading(file)) == {}


def test_exceptions_name_a_row_and_a_reason() -> None:
    """Each exception belongs to a row with an answer, differs from it, and says why."""
    for file, (reason, corrected) in corpus.EXCEPTIONS.items():
        assert file in ANSWERED and len(reason) > 20
        assert any(ROWS[file].get(field) != value for field, value in corrected.items())


@pytest.mark.parametrize("file", sorted(set(ROWS) - set(ANSWERED)))
def test_rows_without_answer_are_read_or_refused_in_a_sentence(file: str) -> None:
    """A config without an answer is read, or refused where it is no whole model."""
    if file in REFUSED:
        with pytest.raises(PlannerError) as caught:
            reading(file)
        assert str(caught.value).endswith(".")
    else:
        assert reading(file).total_params > 0


@pytest.mark.parametrize("file", [f for f in ANSWERED if ROWS[f].get("prefill_flops")])
def test_prefill_flops_equal_the_counter(file: str) -> None:
    """Prefill FLOPs by the oracle's definition are within 0.5 % of the counted ones."""
    expected = ROWS[file]["prefill_flops"]["total"]
    found = oracle_prefill_flops(reading(file), ROWS[file]["prefill_flops"]["T"])
    if file in NO_LOGITS:
        model = reading(file)
        found -= 2 * 512 * model.vocab * model.hidden
    assert found == pytest.approx(expected, rel=0.005)


def test_the_counter_of_minimax_m3_lacks_the_index_branch_alone() -> None:
    """The library class leaves out the branch that the file configures; without it the counts are equal exactly."""
    row = ROWS["minimax/MiniMaxAI--MiniMax-M3.json"]
    model, tokens = reading(row["file"]), row["prefill_flops"]["T"]
    branch = sum(
        b.count * tokens * (sum(m.flops for m in b.matrices if m.role == "indexer") + 2 * 4 * 128 * tokens)
        for b in model.blocks if b.part == "text" and any(m.role == "indexer" for m in b.matrices)
    )  # fmt: skip
    assert branch > 0
    assert oracle_prefill_flops(model, tokens) - branch == row["prefill_flops"]["total"]


@pytest.mark.parametrize("file", sorted(set(ROWS) - REFUSED))
def test_used_keys_give_the_identical_result(file: str) -> None:
    """The keys that were used, read again, inspect to the same object (but for the ignored keys)."""
    text = (corpus.FOLDER / file).read_text()
    first = read_config(text)
    assert _shown(first) == _shown(read_config(json.dumps(first.config)))


@pytest.mark.parametrize("file", sorted(set(ROWS) - REFUSED))
def test_parts_sum_to_the_total(file: str) -> None:
    """The breakdown by part sums to the total of parameters."""
    shown = inspect(reading(file))
    assert sum(shown["parts"].values()) == shown["total_params"] == shown["text_params"] + shown["nontext_params"]


def _shown(model: Architecture) -> dict[str, Any]:
    shown = inspect(model)
    shown["keys"] = {"used": sorted(shown["keys"]["used"]), "defaulted": shown["keys"]["defaulted"]}
    return shown
