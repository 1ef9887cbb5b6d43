"""How many people a capacity is, and what the chart of arrivals draws."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.people import EDGE, TOP, arrival_rows, asking, card
from planner.units import rate
from planner.verdicts import often
from tests.making import planned


@pytest.mark.parametrize("choices", [{"rate": 1.0}, {"users": 8}])
def test_people_are_capacity_times_a_minute(choices: dict[str, float]) -> None:
    """People who ask once a minute are the expected capacity x 60 s, however the load is counted."""
    p = planned(**choices)
    assert f"about {p.load.capacity_per_s * 60:,.0f} people who each ask once a minute" in asking(p)


def test_less_than_one_person_is_said_so() -> None:
    """A capacity below one request a minute is not rounded to nobody."""
    p = planned(rate=0.1)
    slow = replace(p, load=replace(p.load, capacity_per_s=0.005))
    assert "less than one person" in asking(slow) and "every 200 seconds" in asking(slow)


def test_nothing_held_is_nobody() -> None:
    """Where nothing fits there are no people to count."""
    assert asking(planned(model="Llama 3.1 70B", device="RTX 4090")) == ""


@pytest.mark.parametrize("times", [1.2, 3.0, 4.0])
def test_arrivals_past_capacity_are_a_place_without_height(times: float) -> None:
    """Past capacity no number in flight is drawn, and the arrivals stand at their own place on the axis."""
    asked = round(times * planned(rate=5000.0).load.capacity_per_s, 2) - 0.01
    p = planned(rate=asked)
    here = arrival_rows(p)[-1]
    assert here["kind"] == "asked" and here["in_flight"] is None
    assert here["rate"] == asked and here["label"] == f"{rate(asked)} asked for"


def test_arrivals_far_past_capacity_are_said_to_be_off_the_scale() -> None:
    """Arrivals that would press the curve together stand at the edge, and the label says that they are farther."""
    p = planned(rate=5000.0)
    here = arrival_rows(p)[-1]
    assert here["rate"] == pytest.approx(EDGE * p.load.capacity_per_s)
    assert here["label"] == "5,000 asked for, off the scale →"


@pytest.mark.parametrize("times", [1.2, 30])
def test_users_who_wait_do_not_press_the_curve_together(times: float) -> None:
    """What waits is marked at its height up to a bound, then at the edge and said so; who fits has no label."""
    holds = planned(users=2).load.holds
    p = planned(users=int(times * holds))
    *curve, here = arrival_rows(p)
    assert here["in_flight"] == min(p.load.in_flight, TOP * holds)
    assert max(row["in_flight"] for row in curve) >= here["in_flight"] / TOP
    assert here["label"].startswith(f"{p.load.in_flight:,.0f} in flight")
    assert ("off the scale ↑" in here["label"]) == (times > TOP)
    assert arrival_rows(planned(users=2))[-1]["label"] == ""


def test_in_steady_state_the_scenario_is_a_point_on_the_curve() -> None:
    """Below capacity the last row is the scenario's own arrivals and requests in flight."""
    p = planned(rate=0.5)
    here = arrival_rows(p)[-1]
    assert (here["kind"], here["rate"], here["in_flight"]) == ("now", 0.5, p.load.in_flight)


@pytest.mark.parametrize("per_second, said", [
    (17.4, "17.4 per second"), (0.29, "0.290 per second (17.4 per minute)"),
    (0.002, "0.00200 per second (7.20 per hour)"),
])  # fmt: skip
def test_rates_are_per_second_everywhere(per_second: float, said: str) -> None:
    """A rate is said per second; a small one per minute or hour too."""
    assert often(per_second) == said


@pytest.mark.parametrize("served, ceiling, said", [
    (2.0, 3.0, ("2.00 per second", "ceiling: 3.00 per second")),
    (0.29, 0.415, ("0.290 per second", "17.4 per minute; ceiling: 24.9")),
    (0.9, 1.4, ("0.900 per second", "54.0 per minute; ceiling: 1.40 per second")),
    (0.1, None, ("0.100 per second", "6.00 per minute")),
])  # fmt: skip
def test_a_card_has_one_unit_and_the_small_one_below(served: float, ceiling: float | None, said: object) -> None:
    """The figure is per second; below it the same per minute where small, and the ceiling in the unit named last."""
    assert card(served, ceiling) == said
