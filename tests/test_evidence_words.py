"""What the evidence page says of its errors."""

from __future__ import annotations

import pytest

from planner import evidence
from planner.validate.names import group_of

FITTED = [kind for kind in evidence.KINDS if evidence.unmeasured(kind)]


@pytest.mark.parametrize("kind", FITTED)
def test_the_error_on_devices_not_fitted_comes_first(kind: str) -> None:
    """The first figures are those with each device left out, as the guide's table has them; then those as fitted."""
    rows = list(evidence.drawn(kind))
    shown, new = evidence.figures(rows), evidence.unmeasured(kind)
    assert new is not None
    _, sentence = evidence.verdict(kind, rows, shown)
    assert sentence.index(f"{new['median']:.1%}") < sentence.index(f"rows shown within {shown['median']:.0%}")
    assert f"{new['inside']:.0%} lie inside the expected band" in sentence.split("With their own device")[0]
    assert f"{shown['inside']:.0%} inside" in sentence.split("With their own device")[1]
    table = {row["What"]: row for row in evidence.left_out()}
    assert any(row["Rows"] == str(new["n"]) and row["Median miss"] == f"{100 * new['median']:.1f} %"
               and row["Inside the band"] == f"{100 * new['inside']:.1f} %"
               for row in table.values())  # fmt: skip


def test_what_is_not_fitted_has_no_such_figure() -> None:
    """Start logs took part in no fit, so that their error is said as it is."""
    rows = list(evidence.drawn("memory_log"))
    assert evidence.unmeasured("memory_log") is None
    assert "had no part in the fit" not in evidence.verdict("memory_log", rows, evidence.figures(rows))[1]
    assert set(FITTED) == set(evidence.KINDS) - {"memory_log"}


def test_engines_stand_under_one_spelling_in_every_table() -> None:
    """No table of the guide has an engine twice because sources spell it in two ways; names are `group_of`'s."""
    guide = evidence.GUIDE.read_text(encoding="utf-8")
    tables = [part for part in guide.split("### ") if "\n| engine |" in part]
    assert len(tables) == 4
    for table in tables:
        rows = [[cell.strip() for cell in line.split("|")[1:4]] for line in table.splitlines() if line.startswith("| ")]
        assert all(name == group_of(name) for name, *_ in rows[1:])
        assert len({tuple(map(str.casefold, row)) for row in rows}) == len(rows)
