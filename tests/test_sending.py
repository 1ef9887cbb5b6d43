"""The load at which a server of the scenario should be measured."""

from planner.checking import sending
from tests.making import planned


def test_no_more_is_sent_than_can_be_served() -> None:
    """Arrivals past capacity are measured at four fifths of it, and it is said why."""
    p = planned(rate=500.0)
    load, why = sending(p)
    assert load.rate is not None and load.rate <= 0.81 * p.load.capacity_per_s
    assert "500" in why and "expected capacity" in why


def test_a_load_that_can_be_served_is_sent_as_it_is() -> None:
    """Arrivals well below capacity, and users at once, are the scenario's own."""
    assert sending(planned(rate=0.5))[0].rate == 0.5
    assert sending(planned(users=12))[0].users == 12 and sending(planned(users=12))[1] == ""


def test_where_nothing_fits_one_request_is_sent_at_a_time() -> None:
    """Without a capacity there is no rate to send at."""
    load, why = sending(planned(model="Llama 3.1 70B", device="RTX 4090", rate=5.0))
    assert load.rate is None and load.users == 1 and why
