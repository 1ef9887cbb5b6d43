"""What charts are given to draw: the scenario's own device among others of its size, and lines that leave room."""

from __future__ import annotations

import pytest

from planner import curves
from planner.bits import BESIDE
from planner.fleet import fleet
from planner.plan import Plan
from planner.rows import around_mine, budget_rows, growth_rows, ranked_rows
from tests.making import planned

TOO_LARGE = {"model": "Llama 3.1 70B", "device": "RTX 4090"}


def ranked(p: Plan) -> list[dict[str, object]]:
    return ranked_rows(r for r in fleet(p.scenario) if r.mine or (r.runs and not r.device.announced))


@pytest.mark.parametrize(
    "choices", [TOO_LARGE, {"model": "Qwen3 32B", "device": "RTX 4090"}, {"device": "Apple M4 Pro"}]
)
def test_ones_own_device_is_drawn_without_a_speed(choices: dict[str, str]) -> None:
    """A device that cannot hold or run the scenario stays in the chart, says why it has no speed, and shows none."""
    p = planned(**choices)
    rows = around_mine(ranked(p), BESIDE)
    own = [r for r in rows if r["label"] == p.device.label]
    assert len(own) == 1 and own[0]["mine"] == "yes" and own[0]["ceiling"] is None
    assert own[0]["shown"] == ("✕ engine does not run here" if "Apple" in p.device.label else "✕ does not fit")
    assert all(r["ceiling"] for r in rows if r["mine"] == "no") and len(rows) > 4


@pytest.mark.parametrize("device", ["Apple M4 Pro", "L4", "EPYC 7763", "H100 80GB SXM", "B200 180GB SXM"])
def test_neighbours_are_of_a_like_speed(device: str) -> None:
    """No bar beside one's own is so long or short that one of the two cannot be read; its nearest ranks are there."""
    p = planned(model="Llama 3.1 8B", device=device, weights="Q4_K_M", engine="llama.cpp")
    everyone = ranked(p)
    rows = around_mine(everyone, BESIDE)
    own = next(r for r in rows if r["mine"] == "yes")
    assert all(1 / 5 <= r["ceiling"] / own["ceiling"] <= 5 for r in rows)
    at = next(n for n, r in enumerate(everyone) if r["mine"] == "yes")
    near = [r for r in everyone[max(at - 1, 0) : at + 2] if 1 / 5 <= r["ceiling"] / own["ceiling"] <= 5]
    assert all(r in rows for r in near)


def test_nobody_holds_it_and_one_does() -> None:
    """Where no device of the same size does what is asked, the last one drawn is the nearest that does."""
    p = planned(**TOO_LARGE)
    everyone = fleet(p.scenario)
    drawn = curves.budgets(p.scenario, everyone)
    assert drawn[0].mine and len(drawn) == 14 and drawn[-1].serves
    assert not any(r.serves for r in drawn[:-1])
    own = p.device
    rivals = [r for r in everyone if r.serves and not r.device.announced and r.device.kind == own.kind]
    assert drawn[-1].device.memory_bytes_usable == min(r.device.memory_bytes_usable for r in rivals)
    crowd = planned(users=10**5).scenario
    assert len(curves.budgets(crowd, fleet(crowd))) == 14


def test_a_bar_says_in_few_words_what_lacks() -> None:
    """Beside a bar there is room for a few words only, on a phone too."""
    for choices in (TOO_LARGE, {"device": "RTX 4090", "prompt": 100_000}, {"users": 5000}):
        p = planned(**choices)
        flags = {r["flag"] for r in budget_rows(curves.budgets(p.scenario, fleet(p.scenario)))} - {""}
        assert flags and max(map(len, flags)) <= 20


@pytest.mark.parametrize("users", [2, 60, 1000, 5000])
def test_lines_of_memory_leave_the_limit_its_room(users: int) -> None:
    """However many conversations there are, the limit stands at mid-height or above; lines end at one height."""
    p = planned(users=users)
    rows = growth_rows(p)
    limit = rows[0]["limit"]
    assert max(r["gib"] for r in rows) <= 2 * limit * (1 + 1e-9)
    assert {r["series"] for r in rows} == {"1", f"{users:,}", f"{2 * users:,}"}
    whole = curves.memory_growth(p)
    exact = dict(zip(zip(whole["tokens"], whole["conversations"], strict=True), whole["bytes"], strict=True))
    for r in rows:
        n = int(r["series"].replace(",", ""))
        if (r["tokens"], n) in exact:
            assert r["gib"] * 2**30 == pytest.approx(exact[r["tokens"], n])
        else:
            assert r["gib"] == pytest.approx(2 * limit)


def test_the_name_of_the_limit_stands_where_no_line_crosses() -> None:
    """Lines that reach the limit in the left half push its name to the right, and the other way round."""
    for users, side in ((5000, "right"), (8, "left")):
        assert {r["side"] for r in growth_rows(planned(users=users))} == {side}
