"""Little's law, and the service rate it is held against."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.layout import Array
from planner.load.little import in_flight, load
from tests.making import planned


def test_little_s_law() -> None:
    """10 requests per second that stay 2 seconds each are 20 in flight; arrays broadcast."""
    assert float(in_flight(10, 2)) == 20
    assert in_flight([1, 10], [[2], [3]]).tolist() == [[2, 20], [3, 30]]


def plain(n: Array) -> Array:
    """A server that takes 1 s for one request and 0.1 s more for each beside it: at most 10 per second."""
    return 0.9 + 0.1 * np.asarray(n, float)


def test_a_closed_loop_of_a_plain_server() -> None:
    """20 users on a copy that holds 40: each request stays 2.9 s, so 20 / 2.9 are served per second."""
    flow = load("closed", 20, 1.0, 1, 40, plain)
    assert flow.in_flight == 20
    assert flow.time_in_system_s == pytest.approx(2.9, rel=1e-3)
    assert flow.arrivals_per_s == pytest.approx(20 / 2.9, rel=1e-3)
    assert flow.capacity_per_s == pytest.approx(40 / 4.9)
    assert flow.steady_state and flow.backlog_per_s == 0


def test_users_beyond_the_seats_wait() -> None:
    """100 users on 40 seats are served no faster than 40, and each waits for its turn: R = N / X."""
    flow = load("closed", 100, 1.0, 1, 40, plain)
    assert flow.arrivals_per_s == pytest.approx(40 / 4.9)
    assert flow.time_in_system_s == pytest.approx(100 / (40 / 4.9))
    assert flow.utilization == pytest.approx(1)


def test_arrivals_below_capacity_have_a_steady_state() -> None:
    """5 arrivals per second: n / (0.9 + 0.1 n) = 5 gives n = 9 in flight for 1.8 s each."""
    flow = load("open", 8, 5.0, 1, 40, plain)
    assert flow.in_flight == pytest.approx(9, rel=1e-3)
    assert flow.time_in_system_s == pytest.approx(1.8, rel=1e-3)
    assert flow.utilization == pytest.approx(5 / (40 / 4.9))


def test_few_arrivals_stay_as_long_as_one_request_alone() -> None:
    """One arrival in 100 seconds stays the time of a request alone."""
    flow = load("open", 8, 0.01, 1, 40, plain)
    assert flow.time_in_system_s == pytest.approx(1.0)
    assert flow.in_flight == pytest.approx(0.01)


@pytest.mark.parametrize("factor", [1.0, 1.0001, 2, 1000])
def test_at_or_past_capacity_there_is_no_steady_state(factor: float) -> None:
    """No time, no number in flight, just the backlog's growth: what arrives and is not served."""
    capacity = 40 / 4.9
    flow = load("open", 8, capacity * factor, 1, 40, plain)
    assert (flow.in_flight, flow.time_in_system_s, flow.steady_state) == (None, None, False)
    assert flow.backlog_per_s == pytest.approx(capacity * (factor - 1), abs=1e-9)
    assert flow.utilization == pytest.approx(factor)


@pytest.mark.parametrize("mode", ["closed", "open"])
def test_nothing_held_is_nothing_served(mode: str) -> None:
    """Without room for one request there is no time, no rate and no steady state; all arrivals pile up."""
    flow = load(mode, 8, 3.0, 2, 0, plain)
    assert (flow.in_flight, flow.time_in_system_s, flow.utilization, flow.steady_state) == (None, None, None, False)
    assert flow.capacity_per_s == 0 and flow.holds == 0
    assert flow.backlog_per_s == (3.0 if mode == "open" else 0.0)


@given(
    st.sampled_from(["closed", "open"]), st.integers(1, 500), st.floats(0.01, 50), st.integers(1, 8),
    st.integers(1, 300), st.floats(0.01, 5), st.floats(0.001, 1),
)  # fmt: skip
def test_little_s_law_holds_in_every_steady_state(
    mode: str, users: int, rate: float, copies: int, holds: int, alone: float, more: float
) -> None:
    """In flight = arrivals x time, utilisation below 1 in open loop, and copies scale capacity."""
    flow = load(mode, users, rate, copies, holds, lambda n: alone + more * np.asarray(n, float))
    one = load(mode, users, rate, 1, holds, lambda n: alone + more * np.asarray(n, float))
    assert flow.capacity_per_s == pytest.approx(copies * one.capacity_per_s)
    assert flow.holds == copies * holds
    if flow.steady_state:
        assert flow.in_flight == pytest.approx(flow.arrivals_per_s * flow.time_in_system_s)  # type: ignore[operator]
        assert flow.in_flight <= max(holds * copies, users if mode == "closed" else 0) * (1 + 1e-6)
        assert flow.arrivals_per_s <= flow.capacity_per_s * (1 + 1e-9)
    else:
        assert rate >= flow.capacity_per_s * (1 - 1e-12)


@given(st.lists(st.integers(1, 400), min_size=2, max_size=8), st.integers(1, 3))
def test_more_users_never_lower_the_throughput(users: list[int], copies: int) -> None:
    """Requests served per second do not fall with users in closed loop."""
    flows = [load("closed", n, 1.0, copies, 60, plain) for n in sorted(users)]
    rates = [f.arrivals_per_s or 0 for f in flows]
    assert all(b >= a * (1 - 1e-9) for a, b in itertools.pairwise(rates))
    times = [f.time_in_system_s or 0 for f in flows]
    assert all(b >= a * (1 - 1e-9) for a, b in itertools.pairwise(times))


def test_real_scenarios_scale_with_copies() -> None:
    """Twice the users on twice the copies stay as long and are served twice as fast."""
    one, two = planned(users=16).load, planned(users=32, copies=2).load
    assert two.time_in_system_s == pytest.approx(one.time_in_system_s)
    assert two.arrivals_per_s == pytest.approx(2 * (one.arrivals_per_s or 0))


def test_more_arrivals_wait_longer_until_there_is_no_steady_state() -> None:
    """Time in system and number in flight rise with arrivals; past capacity there are none to print."""
    capacity = planned(rate=0.1).load.capacity_per_s
    flows = [planned(rate=capacity * share).load for share in (0.1, 0.5, 0.9, 0.99)]
    for quieter, busier in itertools.pairwise(flows):
        assert (busier.time_in_system_s or 0) > (quieter.time_in_system_s or 0)
        assert (busier.in_flight or 0) > (quieter.in_flight or 0)
    past = planned(rate=capacity * 1.01)
    assert past.load.in_flight is None and not past.load.steady_state
