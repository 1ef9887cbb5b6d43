"""Limits for the first token and for each further one: kept, at risk, missed."""

from __future__ import annotations

import pytest

from planner import service, verdicts
from planner.promises import allowed, faults, kept, promises
from planner.units import duration, span
from tests.making import planned

SCENARIO = {"users": 40, "prompt": 2000}


def test_a_floor_above_the_limit_is_a_miss() -> None:
    """What no software can keep is said as missed, with the floor and the limit, and is bad news on both pages."""
    p = planned(**SCENARIO)
    floor = service.token_floor(p)
    assert floor is not None
    p = planned(**SCENARIO, max_tpot=round(0.8 * floor, 6))
    said = f"Misses your limit: at least {duration(floor)} per token, you allow"
    for tone, sentence in (verdicts.speed(p), verdicts.people(p)):
        assert tone == "bad" and sentence.startswith(said)


@pytest.mark.parametrize("field", ["max_tpot", "max_ttft"])
def test_a_limit_in_or_below_the_band_is_a_warning(field: str) -> None:
    """Inside the band the limit may be missed, below it that is expected; the band is in the sentence."""
    p = planned(**SCENARIO)
    band = service.token_time(p) if field == "max_tpot" else service.first_token(p)
    floor = service.token_floor(p) if field == "max_tpot" else p.prefill.floor
    assert band is not None and floor is not None and floor < band.low
    said = "a token is expected every" if field == "max_tpot" else "the first token is expected after"
    for limit, start in ((band.mid, "May miss your limit"), ((floor + band.low) / 2, "Is expected to miss your limit")):
        limited = planned(**SCENARIO, **{field: limit})
        for tone, sentence in (verdicts.speed(limited), verdicts.people(limited)):
            assert tone == "warn" and sentence.startswith(f"{start}: {said} {span(band.low, band.high)}, you allow")


def test_limits_above_the_bands_are_kept() -> None:
    """Limits that the slow end keeps are good news, in one sentence at the end."""
    p = planned(**SCENARIO, max_tpot=5.0, max_ttft=500)
    assert faults(p) == ("good", "")
    for tone, sentence in (verdicts.speed(p), verdicts.people(p)):
        assert tone == "good" and sentence.endswith(kept(p)) and "Within your limits: " in sentence


def test_the_worst_limit_comes_first() -> None:
    """Of two limits the one that cannot be kept is named before the one that is."""
    p = planned(**SCENARIO, max_tpot=5.0, max_ttft=0.001)
    assert [promise.tone for promise in promises(p)] == ["bad", "good"]


def test_a_growing_queue_keeps_no_first_token() -> None:
    """Past capacity no limit for the first token is kept, however wide."""
    p = planned(rate=1000.0, max_ttft=3600)
    assert faults(p)[0] == "bad" and "waits in a queue that grows" in verdicts.speed(p)[1]


def test_others_prompts_count_in_the_limit() -> None:
    """A limit that decode alone would keep is not said to be kept when others' prompts in between break it."""
    p = planned(users=60, prompt=8000, output=100)
    time, batch = service.token_time(p), p.decode.batch
    assert time is not None and batch is not None
    alone = batch.size / batch.expected.low
    assert time.low > 1.5 * alone
    assert verdicts.speed(planned(users=60, prompt=8000, output=100, max_tpot=1.2 * alone))[0] == "warn"


def test_the_scenario_names_its_limits() -> None:
    """The line above each page has the limits as they were typed, and nothing about them where none is set."""
    assert "allowed: first token within 2 s, a token every 30 ms." in verdicts.scenario(
        planned(max_ttft=2, max_tpot=0.03)
    )
    assert "allowed" not in verdicts.scenario(planned()) and allowed(planned()) == ""


def test_a_limit_is_judged_only_where_something_is_held() -> None:
    """What does not fit has no speed and so no judgement of a limit."""
    assert promises(planned(model="Llama 3.1 70B", device="RTX 4090", max_tpot=0.03)) == []
