"""What the evidence page says of its errors."""

from __future__ import annotations

import pytest

from planner import evidence

FITTED = [kind for kind in evidence.KINDS if evidence.unmeasured(kind)]


@pytest.mark.parametrize("kind", FITTED)
def test_the_error_on_devices_not_fitted_comes_first(kind: str) -> None:
    """The first figures are those with each device left out, as the guide's table has them; then those as fitted."""
    rows = list(evidence.drawn(kind))
    shown, new = evidence.figures(rows), evidence.unmeasured(kind)
    assert new is not None
    _, sentence = evidence.verdict(kind, rows, shown)
    assert sentence.index(f"{new['median']:.1%}") < sentence.index(f"half within {shown['median']:.0%}")
    table = {row["What"]: row for row in evidence.left_out()}
    assert any(row["Rows"] == str(new["n"]) and row["Median miss"] == f"{100 * new['median']:.1f} %"
               for row in table.values())  # fmt: skip


def test_what_is_not_fitted_has_no_such_figure() -> None:
    """Start logs took part in no fit, so that their error is said as it is."""
    rows = list(evidence.drawn("memory_log"))
    assert evidence.unmeasured("memory_log") is None
    assert "had no part in the fit" not in evidence.verdict("memory_log", rows, evidence.figures(rows))[1]
    assert set(FITTED) == set(evidence.KINDS) - {"memory_log"}
