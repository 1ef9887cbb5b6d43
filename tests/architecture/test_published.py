"""Parameter counts that publishers state, for configs in the publishers' own spelling.

`tests/data/published_totals.json` holds the shape keys of each model's config.json and the parameters that its
checkpoint's index states (each tensor once; without routing buffers and next-token layers).
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.architecture import read_config

ROWS: list[dict[str, Any]] = json.loads((Path(__file__).parents[1] / "data" / "published_totals.json").read_text())


@pytest.mark.parametrize("row", ROWS, ids=[row["name"] for row in ROWS])
def test_total_is_the_published_one(row: dict[str, Any]) -> None:
    """The shape keys alone give the published number of parameters, to the last one, and no guess."""
    model = read_config(json.dumps(row["config"]))
    assert (model.recognised, model.total_params) == ("exact", row["total"])
