"""The address: what Streamlit drops from it on the way back is put there again."""

from types import SimpleNamespace
from typing import Any

import pytest

from ui import address


class Parameters(dict[str, str]):
    """The session's copy of the address."""

    def to_dict(self) -> dict[str, str]:
        return dict(self)


@pytest.mark.parametrize(("kept", "written"), [
    ({"device": "L40S", "prompt": "3000"}, {"device": ["L40S"], "users": ["5000"], "prompt": ["3000"]}),
    ({"device": "L40S", "users": "5000", "prompt": "3000"}, None),
])  # fmt: skip
def test_a_step_back_gets_all_that_its_address_asks_for(
    monkeypatch: pytest.MonkeyPatch, kept: dict[str, str], written: dict[str, list[str]] | None
) -> None:
    """A parameter that the address of a step back has and the session's copy lacks is written back in its place."""
    context = SimpleNamespace(is_history_navigation=True, query_string="device=L40S&users=5000&prompt=3000")
    calls: list[tuple[Any, ...]] = []
    monkeypatch.setattr(address, "get_script_run_ctx", lambda: context)
    monkeypatch.setattr(address, "st", SimpleNamespace(query_params=Parameters(kept), session_state={}))
    monkeypatch.setattr(address.assigning, "st", SimpleNamespace(session_state={}))
    monkeypatch.setattr(address, "write", lambda *given: calls.append(given))
    address.keep()
    assert calls == ([] if written is None else [(written, ["device", "users", "prompt"])])
