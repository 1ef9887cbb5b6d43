"""Numbers as people read them."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.units import between, both, count, digits, duration, gb, gib, params, rate, span


def test_gb_and_gib_are_told_apart() -> None:
    """14 GB are 13.0 GiB, and both are shown where a capacity is judged."""
    assert (gb(14e9), gib(14e9), both(14e9)) == ("14.0 GB", "13.0 GiB", "13.0 GiB (14.0 GB)")
    assert gib(2**30) == "1.00 GiB"
    assert gib(79.65 * 2**30) == "79.7 GiB"
    assert gib(131_072 * 100) == "12.5 MiB"
    assert gib(0) == "0 GiB"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (1234.5, "1,230"), (221.04, "221"), (0.01234, "0.0123"), (99.96, "100"), (9.996, "10.0"),
     (999.6, "1,000"), (-2.5, "-2.50"), (1e9, "1,000,000,000"), (math.inf, "unlimited")],
)  # fmt: skip
def test_three_digits_without_exponent(value: float, text: str) -> None:
    """Three significant digits, thousands separated, never an exponent."""
    assert digits(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.0000025, "2.50 µs"), (0.0147, "14.7 ms"), (0.9996, "1.00 s"), (59.4, "59.4 s"), (119.4, "119 s"),
     (119.9, "2.00 min"),
     (600, "10.0 min"), (0, "0 s")],
)  # fmt: skip
def test_durations_take_their_unit(seconds: float, text: str) -> None:
    """Seconds are shown as µs, ms, s or minutes, also when rounding reaches the next unit."""
    assert duration(seconds) == text


def test_parameters_and_counts() -> None:
    """Parameters in T, B, M and k; counts whole with separators."""
    shown = {8_030_261_248: "8.03 B", 596e6: "596 M", 999.7e6: "1.00 B", 1.04e12: "1.04 T", 1500: "1.50 k", 12: "12.0"}
    assert [params(n) for n in shown] == list(shown.values())
    assert (count(1234567.4), count(1), rate(0.333333)) == ("1,234,567", "1", "0.333")


@given(st.floats(1e-9, 1e15))
def test_what_is_shown_is_near_what_is(value: float) -> None:
    """The text reads back within half a unit of the third digit."""
    text = digits(value)
    assert "e" not in text
    assert float(text.replace(",", "")) == pytest.approx(value, rel=0.00501)


@pytest.mark.parametrize(("low", "high", "text"), [
    (0.0262, 0.0471, "26 to 47 ms"), (0.43, 1.2, "0.43 to 1.2 s"), (98, 283, "1.6 to 4.7 min"),
    (14, 140, "14 to 140 s"), (3e-6, 4e-6, "3.0 to 4.0 µs"), (2.01, 2.04, "2.0 s"),
])  # fmt: skip
def test_ranges_of_times_have_one_unit(low: float, high: float, text: str) -> None:
    """A range of times is told in one unit, and as one time where both ends read alike."""
    assert span(low, high) == text


def test_a_range_whose_ends_read_alike_is_one_number() -> None:
    """Two ends that are the same at so many digits are one number; with more digits they are two."""
    assert between(4.02, 4.04) == "4.0" and between(4.02, 4.04, 3) == "4.02 to 4.04"
