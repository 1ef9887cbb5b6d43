"""What each user is expected to get with everyone served, and the bands of what is served in all."""

from __future__ import annotations

from typing import Any

import pytest

from planner import curves, service
from planner.plan import loop_of
from planner.verdicts import between_prompts
from tests.making import planned

FLEET = {"model": "Llama 3.1 70B FP8", "weights": "checkpoint", "devices": 2, "copies": 4, "users": 400,
         "prompt": 3000, "output": 600}  # fmt: skip
LOADS = [
    {"users": 1}, {"users": 8}, {"users": 3, "copies": 5}, {"users": 402, "copies": 4}, {"users": 100_000},
    {"rate": 0.2}, {"rate": 3.0, "copies": 2}, {"rate": 5000.0}, {"users": 64, "output": 1}, FLEET,
    {"users": 40, "calibrated_decode": 0.2, "calibrated_prefill": 0.1},
]  # fmt: skip


def test_a_token_over_the_whole_answer_is_the_closed_loops() -> None:
    """The middle time per token is that of the steady state, so that it and the first token make up the stay."""
    p = planned(**FLEET)
    time, stays = service.token_time(p), p.load.time_in_system_s
    first = loop_of(p.scenario, p.work, p.machine, p.expectation.decode, p.expectation.prefill, 100).ttft_s
    assert time is not None and stays is not None
    assert float(first) + 599 * time.mid == pytest.approx(stays, rel=1e-9)
    slower = between_prompts(p)
    assert slower is not None and p.decode.batch is not None
    assert slower.mid < p.decode.batch.expected.mid / 100 / 1.1


@pytest.mark.parametrize("load", LOADS, ids=str)
def test_bands_are_in_order_and_no_end_passes_the_ceiling(load: dict[str, Any]) -> None:
    """Low, middle and high are in order; no time is below its floor and no rate above its ceiling."""
    p = planned(**load)
    close = 1 + 1e-9
    time, first, all_, ends = service.token_time(p), service.first_token(p), service.together(p), service.served(p)
    floor = service.token_floor(p)
    for band, least in ((time, floor), (first, p.prefill.floor), (ends.stay, 0.0), (ends.in_flight, 0.0)):
        if band is not None and least is not None:
            assert least <= band.low * close <= band.mid * close**2 <= band.high * close**3
    assert all_ is not None
    for band, most in ((all_.expected, all_.ceiling), (ends.capacity, curves.capacity_ceiling(p))):
        assert band.low <= band.mid * close <= band.high * close**2 <= most * close**3
    assert (time is None) == (p.scenario.output == 1)
    assert ends.capacity.mid == p.load.capacity_per_s


@pytest.mark.parametrize("load", [{"users": 400, "copies": 4}, {"users": 402, "copies": 4}, {"users": 2, "copies": 4}])
def test_all_copies_together_are_the_sum_of_the_copies(load: dict[str, int]) -> None:
    """Users dealt to copies write together what so many copies with so many users each would."""
    users, copies = load["users"], load["copies"]
    each, more = divmod(users, copies)
    all_ = service.together(planned(**load))
    assert all_ is not None and all_.size == users
    parts = [planned(users=n).decode.batch for n in (each,) * (copies - more) + (each + 1,) * more if n]
    assert all_.ceiling == pytest.approx(sum(b.ceiling for b in parts if b))
    assert all_.expected.mid == pytest.approx(sum(b.expected.mid for b in parts if b))


def test_capacity_is_the_middle_over_the_bands_factors() -> None:
    """The ends of the capacity are the middle over the slow and the fast factor of whole batches."""
    p = planned(users=40)
    fast, slow = p.expectation.batch_band
    ends = service.served(p).capacity
    assert ends.low == pytest.approx(ends.mid / slow)
    assert ends.high == pytest.approx(min(ends.mid / fast, curves.capacity_ceiling(p)))


def test_arrivals_between_the_ends_of_capacity_have_no_band() -> None:
    """Where the queue grows at the slow end alone, no band of stays is given: it has no upper end."""
    most = service.served(planned(rate=1.0)).capacity
    ends = service.served(planned(rate=(most.low + most.mid) / 2))
    assert ends.mid.steady_state and not ends.slow.steady_state and ends.stay is None and ends.in_flight is None


def test_users_who_wait_wait_for_the_first_token() -> None:
    """With more users than seats the first token comes after the wait for a seat, else after the prompt alone."""
    p = planned(users=5000)
    first, stays = service.first_token(p), p.load.time_in_system_s
    assert service.waiting(p) == 5000 - p.load.holds and first is not None and stays is not None
    answer = service.token_time(p)
    assert answer is not None and first.mid + 255 * answer.mid == pytest.approx(stays, rel=1e-6)
    few = service.first_token(planned(users=2))
    assert few is not None and first.mid > 10 * few.mid and service.waiting(planned(users=2)) == 0
