"""How many people a capacity is, and what the chart of arrivals draws."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner import service, verdicts
from planner.band import Band
from planner.cards import people, rate_card
from planner.people import EDGE, TOP, arrival_rows, asking
from planner.people_verdict import LONG, expected_rate
from planner.units import between, digits, duration, rate
from planner.verdicts import often
from tests.making import planned


@pytest.mark.parametrize("choices", [{"rate": 1.0}, {"users": 8}])
def test_people_are_capacity_times_a_minute(choices: dict[str, float]) -> None:
    """People who ask once a minute are the expected capacity x 60 s, however the load is counted."""
    p = planned(**choices)
    served = service.served(p).capacity
    band, middle = between(served.low * 60, served.high * 60), digits(served.mid * 60, 2)
    assert f"about {band} people who each ask once a minute** (middle {middle})" in asking(p)


def test_less_than_one_person_is_said_so() -> None:
    """A capacity below one request a minute is not rounded to nobody."""
    p = planned(model="Llama 3.1 70B", weights="Q4_K_M", engine="llama.cpp", device="CPU, dual channel DDR5-6400",
                users=1, output=512)  # fmt: skip
    served = service.served(p).capacity
    assert served.mid * 60 < 1 and "less than one person" in asking(p)
    assert f"one request every {between(1 / served.high, 1 / served.low)} seconds" in asking(p)


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


@pytest.mark.parametrize("band, said", [
    (Band(0.171, 0.291, 0.486), "0.171 to 0.486 requests per second (10.3 to 29.2 per minute; middle 0.291)"),
    (Band(6.88, 9.47, 13.1), "6.88 to 13.1 requests per second (middle 9.47)"),
    (Band(0.0009, 0.001, 0.0012), "0.000900 to 0.00120 requests per second (3.24 to 4.32 per hour; middle 0.00100)"),
])  # fmt: skip
def test_expected_rates_are_bands(band: Band, said: str) -> None:
    """A band of rates has both ends and its middle, and a small one is said per minute or hour too."""
    assert expected_rate(band, " requests") == said


def test_a_card_of_a_rate_has_its_middle_and_ceiling_below() -> None:
    """The figure is the band per second; middle and ceiling stand below it in the same unit."""
    assert rate_card(Band(0.171, 0.291, 0.486), 0.5) == ("0.171 to 0.486 per second", "middle 0.291; ceiling: 0.500")
    assert rate_card(Band(2.0, 2.0, 2.0)) == ("2.00 per second", "middle 2.00")


def test_cards_say_who_waits() -> None:
    """What is inside is called inside or waiting exactly where some wait."""
    labels = [people(planned(users=n))[0][0] for n in (8, 5000)]
    assert labels == ["Inside at once (L)", "Inside or waiting (L)"]


@pytest.mark.parametrize("choices", [{"rate": 1.0}, {"users": 8}, {"rate": 0.01}, {"users": 2000, "copies": 3}])
def test_expectations_are_bands_in_cards_and_verdict(choices: dict[str, float]) -> None:
    """Capacity, stay and what is answered have both ends, and the card's stay is the verdict's."""
    p = planned(**choices)
    cards = {label: value for label, value, *_ in people(p)}
    assert " to " in cards["Each stays (W)"] and " to " in cards["Expected capacity"]
    assert cards["Each stays (W)"] in verdicts.people(p)[1]
    ends = service.served(p)
    assert ends.stay is not None and ends.stay.low < ends.stay.mid < ends.stay.high


def test_a_very_long_stay_is_no_good_news() -> None:
    """Users who all fit but each stay many times what one alone would are a warning that says how many times."""
    p = planned(users=300, prompt=500, output=100, model="Qwen3 0.6B", device="EPYC 9654")
    times = (p.load.time_in_system_s or 0.0) / service.alone(p)
    tone, sentence = verdicts.people(p)
    assert p.load.holds >= 300 and times > LONG and tone == "warn"
    assert f"about {times:.0f} times as long as one alone would ({duration(service.alone(p))})" in sentence
    few = verdicts.people(planned(users=8))
    assert few[0] == "good" and "times as long" not in few[1]


def test_arrivals_that_the_slow_end_cannot_serve_are_a_warning() -> None:
    """Arrivals between the low end and the middle of capacity are no good news: at the low end the queue grows."""
    most = service.served(planned(rate=1.0)).capacity
    tone, sentence = verdicts.people(planned(rate=0.7 * most.mid + 0.3 * most.low))
    assert tone == "warn" and "at the low end of what is expected the queue would grow" in sentence


@pytest.mark.parametrize("per_second, said", [(1.0, "1 request per second ×"), (2.5, "2.5 requests per second ×")])
def test_one_request_is_singular_and_rates_are_as_typed(per_second: float, said: str) -> None:
    """A rate of arrivals is said as it was typed."""
    p = planned(rate=per_second)
    assert verdicts.people(p)[1].startswith(said) and said.removesuffix(" ×") in verdicts.scenario(p)


def test_a_whole_number_inside_has_no_decimals() -> None:
    """Nineteen requests inside are 19."""
    p = planned(rate=1.0)
    assert verdicts.inside(replace(p, load=replace(p.load, in_flight=19.0)))[0] == "19"
