"""The method page: every equation that it fills in can be worked out again from the figures it shows."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings

from planner.architecture import read_config
from planner.method import GLOSSARY, steps, verdict
from planner.plan import Plan, plan
from planner.scenario import Scenario
from tests import corpus
from tests.making import planned
from tests.test_plan import CHOICES

UNITS = {
    "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "GB": 1e9, "GB/s": 1e9, "GFLOP": 1e9, "TFLOP": 1e12, "µs": 1e-6,
    "ms": 1e-3, "s": 1, "min": 60, "T": 1e12, "B": 1, "M": 1e6, "k": 1e3, "%": 0.01,
}  # fmt: skip
NUMBER = re.compile(r"([\d,]*\d(?:\.\d+)?)(?: (KiB|MiB|GiB|GB/s|GB|GFLOP|TFLOP|µs|ms|s|min|T|B|M|k|%)(?![\w/]))?")


def value(text: str) -> float:
    """What an expression with units comes to; words between its figures are left out."""

    def number(found: re.Match[str]) -> str:
        size = UNITS[found[2]] if found[2] else 1
        if found[2] == "B" and "parameters" in text[found.end() : found.end() + 12]:
            size = 1e9
        return f"({found[1].replace(',', '')}*{size!r})"

    plain = NUMBER.sub(number, text.replace("/s ×", " ×").replace("min(", "least(").replace("max(", "most("))
    plain = plain.replace("×", "*").replace("−", "-")
    plain = re.sub(r"\b(?!least|most)[A-Za-z][\w'’]*", "", plain)
    try:
        return float(eval(plain, {"least": min, "most": max, "__builtins__": {}}))
    except SyntaxError:
        raise AssertionError(f"{text!r} became {plain!r}") from None


def equations(filled: str) -> list[tuple[str, str]]:
    """Neighbours of each equals sign."""
    out = []
    for part in re.split(r"; |: ", filled):
        sides = [side.strip() for side in part.split(" = ")]
        sides = [re.sub(r", (band|so|held|but).*", "", side) for side in sides]
        out += [(left, right) for left, right in pairwise(sides)]
    return out


def check(p: Plan) -> int:
    """Both sides of every equation agree to the rounding of their figures; how many there were."""
    found = 0
    for step in steps(p):
        for left, right in equations(step.filled):
            a, b = value(left), value(first_figure(right))
            assert a == pytest.approx(b, rel=0.02), (step.title, step.filled, a, b)
            found += 1
    return found


def first_figure(text: str) -> str:
    """The figure that an equation ends with, without the words after it."""
    match = re.match(r"−?" + NUMBER.pattern, text)
    assert match, text
    return match[0]


@pytest.mark.parametrize("choices", [
    {}, {"users": 1}, {"users": 300, "copies": 3}, {"rate": 0.2}, {"rate": 0.27, "copies": 2}, {"rate": 100.0},
    {"model": "DeepSeek-R1 671B", "device": "H200 141GB SXM", "devices": 8},
    {"model": "gpt-oss 120B", "users": 64}, {"engine": "llama.cpp", "device": "RTX 4090", "weights": "Q4_K_M"},
    {"devices": 2, "pipeline": 2, "users": 40}, {"accepted": 2.5}, {"output": 1}, {"shared_prefix": 4000},
    {"calibrated_decode": 0.1, "rate": 0.2}, {"model": "Llama 3.1 70B", "device": "RTX 4090"},
    {"prompt": 1, "output": 1, "users": 1}, {"kv": "fp8", "devices": 16},
], ids=str)  # fmt: skip
def test_equations_can_be_worked_out_again(choices: dict[str, Any]) -> None:
    """Every equation on the page holds between the figures that it shows."""
    p = planned(**choices)
    assert check(p) >= (12 if p.loads else 4)


@settings(max_examples=60, deadline=None)
@given(CHOICES)
def test_equations_hold_for_any_choices(choices: dict[str, Any]) -> None:
    """Whatever is chosen, no equation of the page is off."""
    check(plan(Scenario.of(**choices)))


@pytest.mark.parametrize("row", corpus.rows()[::12], ids=lambda row: row["file"])
def test_equations_hold_for_any_model(row: dict[str, Any]) -> None:
    """Windows, latents, states, encoders: the equations hold for models of every kind."""
    try:
        arch = read_config((corpus.FOLDER / row["file"]).read_text())
    except Exception:
        pytest.skip("not readable")
    check(plan(Scenario.of(config=dict(arch.config), device="B200 180GB SXM", devices=1)))


def test_the_verdict_says_what_binds_or_why_not() -> None:
    """The page opens with what binds each token; without room for one request it says that there is no speed."""
    assert verdict(planned()) [1].startswith("Here a further token is bound by memory")
    assert "no speed to compute" in verdict(planned(model="Llama 3.1 70B", device="RTX 4090"))[1]


def test_words_are_explained() -> None:
    """The glossary has the words that the pages use."""
    assert {"Prefill", "Decode", "TTFT", "ITL", "KV cache", "A provider's prompt cache"} <= set(GLOSSARY)
