"""Any text: recognised, or one clear sentence."""

import math
from dataclasses import fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.errors import MeasurementError
from planner.measurements import Stat, read
from tests.measurements.samples import NAMES, sample, text


@pytest.mark.parametrize("name", NAMES)
def test_every_sample_is_recognised(name):
    """Each sample has a tool, at least one figure and one note on what the figures are."""
    measured = sample(name)
    assert measured.any_figure and measured.notes and measured.label


@pytest.mark.parametrize("name", NAMES)
def test_pasted_with_colours_prompt_and_windows_lines(name):
    """Terminal colours, a byte-order mark, CRLF and lines around the output change no figure."""
    clean, dressed = sample(name), text(name).replace("\n", "\r\n")
    around = read(f"\ufeff$ run the tool\r\n\x1b[32m{dressed}\x1b[0m\r\n$ ")
    assert around == clean


def test_nothing_recognised_says_what_was_looked_for():
    """The error lists the tools that are known."""
    with pytest.raises(MeasurementError, match=r"Looked for: Ollama.*llama-bench.*vllm bench serve.*GuideLLM.*curl"):
        read("hello world, it took 5 s")


@pytest.mark.parametrize(
    ("pasted", "words"),
    [
        ("", "Nothing was pasted"),
        ("  \n ", "Nothing was pasted"),
        ("x" * 2_000_001, "2,000,001 characters"),
        ('{"eval_count": 0, "eval_duration": -5}', "holds no time or rate"),
        ('{"eval_count": "many", "eval_duration": NaN}', "holds no time or rate"),
        ("[" * 100_000, "not recognised"),
        ('{"a":' * 50_000, "not recognised"),
        ("[1, 2, 3]", "not recognised"),
        ('{"benchmarks": [1, null, {"metrics": 3}]}', "not recognised"),
    ],
)
def test_unusable_text_is_one_sentence(pasted, words):
    """Empty, huge, negative, no number, deeply nested or foreign: a MeasurementError that says what is wrong."""
    with pytest.raises(MeasurementError, match=words):
        read(pasted)


@pytest.mark.parametrize(
    "piece",
    [
        "Mean TTFT (ms):" + " " * 1_000_000 + "x",
        "time_starttransfer" + " " * 1_000_000 + "x",
        "vllm:a{" + "a" * 1_000_000 + "} 1",
        "Device 0: " * 100_000,
        "x" * 1_000_000 + " model buffer size",
        "|" * 500_000 + "\n" + "|a\n" * 300_000,
        "Metric,avg\n" + "(" * 500_000,
        "-" * 500_000 + "|" * 500_000,
    ],
)
def test_hostile_text_ends(piece):
    """Texts made to send patterns back and forth are refused or read without a hang."""
    with pytest.raises(MeasurementError):
        read(piece)


def _numbers(measured):
    for item in fields(measured):
        value = getattr(measured, item.name)
        if isinstance(value, Stat):
            yield from _numbers(value)
        elif isinstance(value, int | float):
            yield value


@settings(max_examples=150, deadline=None)
@given(
    name=st.sampled_from(NAMES),
    edits=st.lists(
        st.tuples(
            st.floats(0, 1),
            st.integers(0, 40),
            st.sampled_from(["", "0", "-1", "NaN", "1e999", "null", "|", '"', "\n", "{", "9" * 400, "é", ",", "[]"]),
        ),
        min_size=1,
        max_size=8,
    ),
)
def test_damaged_samples_never_crash(name, edits):
    """A damaged sample gives finite figures that are not negative, or a MeasurementError."""
    damaged = text(name)
    for place, length, new in edits:
        at = int(place * len(damaged))
        damaged = damaged[:at] + new + damaged[at + length :]
    try:
        measured = read(damaged, damaged if "prom" in name else None)
    except MeasurementError as error:
        assert str(error).endswith(".")
        return
    assert all(math.isfinite(value) and value >= 0 for value in _numbers(measured))
