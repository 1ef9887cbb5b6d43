"""Measuring this machine: what it does and says, not how fast it is."""

from itertools import pairwise

import numpy as np
import pytest

from planner import hostinfo, machine
from planner.errors import MeasurementError
from planner.scenario import Scenario


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(machine, "_LARGEST_BUFFER", 8 * 2**20)
    monkeypatch.setattr(machine, "_MOST_REPEATS", 3)
    monkeypatch.setattr(machine, "_SIDES", (64,))


def test_measurement_is_complete_and_progress_only_grows(small):
    """Rates are positive with their spread, and progress runs from 0 to 1 without falling."""
    steps = []
    measured = machine.measure(lambda fraction, sentence: steps.append((fraction, sentence)))
    assert measured.bandwidth.median >= measured.copy_bytes_per_s.median > 0
    assert measured.flops.low <= measured.flops.median <= measured.flops.high
    assert measured.copy_bytes_per_s.repeats == 3 and measured.threads >= 1
    fractions = [fraction for fraction, _ in steps]
    assert fractions == sorted(fractions) and (fractions[0], fractions[-1]) == (0, 1)
    assert all(sentence.endswith(".") for _, sentence in steps)


def test_it_says_what_it_is_not(small):
    """The notes say whose machine this is, and that Python ranks no GPU framework."""
    notes = " ".join(machine.measure().notes)
    assert "the machine the app runs on" in notes and "ranks no GPU framework" in notes


def test_result_is_a_device(small):
    """The result can be chosen as the scenario's own device, in its units."""
    measured = machine.measure()
    choices = measured.scenario_choices()
    assert Scenario.of(**choices).device_row.custom
    assert choices["device_bandwidth_gb_s"] == pytest.approx(measured.bandwidth.median / 1e9, rel=1e-3)
    assert all(value == float(f"{value:.4g}") for value in choices.values() if isinstance(value, float))


def test_triad_is_a_sum():
    """The blocked triad gives source + 3 x other over the whole length, an odd end included."""
    source, other = np.arange(40_001.0), np.ones(40_001)
    target = np.zeros_like(source)
    machine._triad(target, source, other)
    assert np.array_equal(target, source + 3)


def test_parts_cover_the_buffer_once():
    """The threads' stretches are disjoint and cover every element."""
    parts = machine._parts(1_000_003, 7)
    assert parts[0].start == 0 and parts[-1].stop == 1_000_003
    assert all(before.stop == after.start for before, after in pairwise(parts))


@pytest.mark.parametrize("available", [None, 2**30, 2**34, 2**40])
def test_memory_is_bounded(available):
    """Three buffers take at most a quarter of what is free, and at most 1 GiB."""
    total = 3 * machine._buffer_bytes(available)
    assert total <= 2**30
    assert available is None or total <= available / 4


def test_too_little_memory_is_refused():
    """With 10 MiB free it says so and does not start."""
    with pytest.raises(MeasurementError, match="Only 10 MiB of memory are free"):
        machine._buffer_bytes(10 * 2**20)


def test_host_figures_are_plausible_or_unknown():
    """What the system says is a sensible figure, or None."""
    total, free = hostinfo.total_memory(), hostinfo.available_memory()
    assert hostinfo.usable_cpus() >= 1
    assert total is None or free is None or 0 < free <= total
    assert hostinfo.cpu_name() is None or hostinfo.cpu_name().strip()
