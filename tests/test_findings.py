"""Findings: each fault is named with its figures, and every change offered really flips it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from planner import verdicts
from planner.findings import ORDER, VERDICTS, Finding, findings
from planner.plan import Plan, plan
from planner.scenario import Scenario
from tests.making import planned
from tests.test_plan import CHOICES
from tests.test_work import KINDS

# A scenario for each finding that can be had without a pasted config.
CASES: dict[str, dict[str, Any]] = {
    "cannot-load": {"model": "Llama 3.1 70B"},
    "cannot-hold-one": {"device": "RTX 4090", "prompt": 100_000, "output": 512},
    "holds-fewer": {"device": "RTX 4090", "users": 300},
    "admits-fewer": {"users": 100, "max_num_seqs": 20},
    "no-steady-state": {"rate": 500.0},
    "near-capacity": {"rate": 0.9},
    "ttft-impossible": {"prompt": 100_000, "max_ttft": 0.5, "users": 1},
    "tpot-impossible": {"users": 200, "max_tpot": 0.008},
    "layer-split": {"engine": "llama.cpp", "devices": 2, "weights": "Q8_0"},
    "more-stages-than-layers": {"pipeline": 64},
    "heads-not-divisible": {"devices": 3},
    "latent-replicated": {"model": "DeepSeek-V2-Lite 16B", "devices": 4},
    "kv-replicated": {"devices": 16},
    "slow-link": {"device": "L40S", "devices": 2},
    "beyond-node": {"model": "Llama 3.1 70B", "devices": 16},
    "no-fast-path": {"device": "A100 80GB SXM", "weights": "fp8"},
    "narrow-is-slower": {"model": "Llama 3.1 8B", "device": "B300 288GB SXM", "weights": "int8"},
    "engine-not-on-device": {"device": "Apple M3 Ultra", "engine": "vLLM"},
    "format-needs-engine": {"weights": "Q4_K_M"},
    "kv-needs-engine": {"kv": "q8_0"},
    "context-too-long": {"prompt": 200_000, "users": 1},
    "prefill-compute": {"prompt": 4096},
    "decode-memory": {},
    "device-derived": {},
    "device-announced": {},
    "nearest-evidence": {"device": "custom", "device_memory_gib": 80.0, "device_bandwidth_gb_s": 2000.0,
                         "device_tflops": 400.0},
}


def found(p: Plan) -> dict[str, Finding]:
    return {f.code: f for f in findings(p)}


def offered(f: Finding) -> list[dict[str, Any]]:
    return [dict(c.choices) for c in ((f.change,) if f.change else ()) + f.others]


def check(p: Plan) -> None:
    """The laws of findings on one plan."""
    these = findings(p)
    ranks = [ORDER[f.severity] for f in these]
    assert ranks == sorted(ranks)
    for f in these:
        assert f.sentence.endswith(".") or f.code == "config-guessed"
        assert "\n" not in f.sentence and "nan" not in f.sentence and " inf" not in f.sentence
        for choices in offered(f):
            after = plan(p.scenario.change(**choices))
            assert f.code not in found(after), (f.code, choices)
            assert VERDICTS.index(after.fits) >= VERDICTS.index(p.fits), (f.code, choices)
        if f.code in ("cannot-load", "cannot-hold-one", "holds-fewer") and p.scenario.load == "closed":
            assert all(plan(p.scenario.change(**choices)).fits == "fits" for choices in offered(f))


def rate_of(share: float) -> dict[str, Any]:
    return {"rate": planned(rate=0.1).load.capacity_per_s * share}


def case(code: str) -> Plan:
    if code == "near-capacity":
        return planned(**rate_of(0.9))
    if code in ("device-derived", "device-announced"):
        from planner.devices import load_devices

        wanted = [d for d in load_devices() if (d.announced if code == "device-announced" else d.memory_derived)]
        return planned(device=next(d for d in wanted if d.announced == (code == "device-announced")).label)
    return planned(**CASES[code])


@pytest.mark.parametrize("code", CASES)
def test_each_finding_comes_up_and_its_changes_flip_it(code: str) -> None:
    """The scenario of each finding has it; every change offered, once made, is rid of it."""
    p = case(code)
    assert code in found(p), list(found(p))
    check(p)


@pytest.mark.parametrize(
    "code", ["cannot-hold-one", "holds-fewer", "admits-fewer", "no-steady-state", "near-capacity", "ttft-impossible",
             "tpot-impossible", "more-stages-than-layers", "heads-not-divisible", "kv-replicated", "slow-link",
             "engine-not-on-device", "format-needs-engine", "kv-needs-engine", "context-too-long"],
)  # fmt: skip
def test_what_can_be_mended_comes_with_a_change(code: str) -> None:
    """Faults that a choice of the buyer mends say which."""
    f = found(case(code))[code]
    assert f.change is not None and f.change.sentence


@settings(max_examples=40)
@given(CHOICES)
def test_every_change_offered_anywhere_flips_its_finding(choices: dict[str, Any]) -> None:
    """In scenarios drawn at random, too, each offered change is rid of its finding and worsens no verdict."""
    check(planned(**choices))


def test_the_smallest_number_of_users_devices_and_tokens_is_offered() -> None:
    """Changes are the least that do: one user, device or step of tokens nearer to the asked is not enough."""
    p = planned(model="Qwen3 32B", users=12, prompt=8000, output=500)
    assert p.fits == "holds fewer than asked"
    changes = {key: value for choices in offered(found(p)["holds-fewer"]) for key, value in choices.items()}
    assert {"users", "prompt", "devices", "copies"} <= set(changes)
    nearer = {
        "users": changes["users"] + 1, "prompt": changes["prompt"] + 256, "copies": changes["copies"] - 1,
    }  # fmt: skip
    for key, value in nearer.items():
        assert plan(p.scenario.change(**{key: value})).fits == "holds fewer than asked", key
    fewer = [n for n in range(1, changes["devices"]) if p.architecture.heads % n == 0]
    assert all(plan(p.scenario.change(devices=n)).fits != "fits" for n in fewer)


def test_fewer_bits_are_tried_from_the_widest() -> None:
    """8 bits are offered where 8 bits do, 4 only where they must."""
    eight = found(planned(model="Qwen3 32B", device="RTX PRO 6000", prompt=50_000, users=2))
    four = found(planned(model="Llama 3.1 70B", users=1))
    assert {"weights": "int4"} in offered(four["cannot-load"])
    assert all({"weights": "int4"} not in offered(f) for f in eight.values())


def test_a_single_user_is_never_told_to_be_fewer() -> None:
    """With one user there is no smaller number of users to offer."""
    p = planned(device="RTX 4090", prompt=100_000, users=1)
    assert all("users" not in choices for f in findings(p) for choices in offered(f))


def test_enough_copies_end_the_queue_and_no_fewer() -> None:
    """The number of copies offered has a steady state, one copy fewer has none."""
    p = planned(rate=100.0)
    change = found(p)["no-steady-state"].change
    assert change is not None
    copies = change.choices["copies"]
    assert plan(p.scenario.change(copies=copies)).load.steady_state
    assert not plan(p.scenario.change(copies=copies - 1)).load.steady_state


def test_nothing_is_offered_that_cannot_be() -> None:
    """Where more copies than the planner takes would be needed, none are offered."""
    assert found(planned(rate=1_000_000.0))["no-steady-state"].change is None


def test_a_scenario_that_fits_has_no_errors() -> None:
    """A plain scenario has no error and no warning, and says what binds."""
    these = findings(planned(device="H100 80GB SXM"))
    assert all(f.severity == "info" for f in these), [f.code for f in these]
    assert {"prefill-compute", "decode-memory"} <= {f.code for f in these}


def test_a_guess_is_said() -> None:
    """A config of an unknown type is planned and flagged."""
    config = {
        "model_type": "my_new_model", "hidden_size": 2048, "num_hidden_layers": 16, "num_attention_heads": 16,
        "num_key_value_heads": 4, "intermediate_size": 8192, "vocab_size": 32000,
    }  # fmt: skip
    f = found(planned(config=config))["config-guessed"]
    assert f.severity == "warning" and "my_new_model" in f.sentence


# Verdicts ----------------------------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(CHOICES)
def test_each_page_opens_with_a_sentence(choices: dict[str, Any]) -> None:
    """The verdicts are whole sentences with a tone, whatever the scenario, and agree with the findings."""
    p = planned(**choices)
    these = findings(p)
    for tone, sentence in (verdicts.fit(p, these), verdicts.speed(p), verdicts.people(p)):
        assert tone in ("good", "warn", "bad")
        assert sentence.endswith((".", "”.")) and "nan" not in sentence and "None" not in sentence
    past = p.load.mode == "open" and not p.load.steady_state
    assert (verdicts.fit(p, these)[0] == "bad") == (p.fits.startswith("cannot") or past)
    assert (verdicts.speed(p)[0] == "bad") == (not p.loads or past)
    assert verdicts.people(p)[0] == "bad" or not past


def test_the_verdict_of_a_model_that_fits_shows_gib_and_gb() -> None:
    """Where a capacity is judged, weights are shown in both units."""
    p = planned()
    tone, sentence = verdicts.fit(p, findings(p))
    assert tone == "good" and "15.0 GiB (16.1 GB)" in sentence and "8 conversations" in sentence


def test_no_percentile_at_or_past_capacity() -> None:
    """Past capacity the sentence says that there is no steady state and prints no time."""
    tone, sentence = verdicts.people(planned(rate=1000.0))
    assert tone == "bad" and sentence.startswith("No steady state")
    assert "each stays" not in sentence


@pytest.mark.parametrize("name", KINDS)
def test_findings_exist_for_every_kind_of_model(name: str) -> None:
    """Every kind of cache, on one device and on many, gives findings whose changes hold."""
    for layout in ({}, {"devices": 4}, {"pipeline": 2}):
        check(plan(Scenario.of(model=name, device="RTX 4090", prompt=6000, output=500, users=16, **layout)))


def test_calibration_of_another_device_is_said() -> None:
    """A calibration that names another device or model is called out; one that names both is not."""
    s = Scenario.of(model="Qwen3 8B", device="L40S", calibrated_decode=1.2)
    elsewhere = plan(s.change(calibrated_on="Ollama, 26 + 237 tokens; Qwen3 8B on L4"))
    here = plan(s.change(calibrated_on="Ollama, 26 + 237 tokens; Qwen3 8B on L40S"))
    assert "calibrated-elsewhere" in {f.code for f in findings(elsewhere)}
    assert "calibrated-elsewhere" not in {f.code for f in findings(here)}


def test_two_changes_are_offered_where_they_need_far_less_hardware() -> None:
    """Past capacity the copies that do alone come first; pairs that follow need at most three quarters of them."""
    p = planned(model="Qwen3 32B", prompt=4096, output=512, rate=5.0)
    f = found(p)["no-steady-state"]
    assert f.change is not None and list(f.change.choices) == ["copies"]
    pairs = [c for c in f.others if len(c.choices) == 2]
    assert any("weights" in c.choices for c in pairs) and any("device" in c.choices for c in pairs)
    for change in pairs:
        after = plan(p.scenario.change(**change.choices))
        bought = after.scenario.devices * after.scenario.copies
        assert bought <= 0.75 * max(c.choices["copies"] for c in (f.change, *f.others) if list(c.choices) == ["copies"])


def test_a_change_says_how_busy_the_copies_are_then() -> None:
    """The share of capacity is that of the changed plan, with a warning where waits stay long."""
    p = planned(model="Qwen3 32B", prompt=4096, output=512, rate=5.0)
    f = found(p)["no-steady-state"]
    assert f.change is not None
    for change in (f.change, *f.others):
        busy = plan(p.scenario.change(**change.choices)).load.utilization
        assert busy is not None and f"then {busy:.0%} busy" in change.sentence
        assert ("waits stay long" in change.sentence) == (busy > 0.85)


def test_where_no_single_change_does_two_are_offered() -> None:
    """A model that no device, number of devices or format alone holds is offered several of another device."""
    p = planned(model="Kimi K2 1T", device="RTX 4090", prompt=100_000, users=1)
    f = found(p)["cannot-load"]
    assert f.change is not None and len(f.change.choices) == 2
    check(p)


@pytest.mark.parametrize("per_second", [0.05, 0.5, 3.0])
def test_a_change_that_mends_the_memory_says_when_arrivals_are_the_next_limit(per_second: float) -> None:
    """Every change offered for memory says what the arrivals do then, exactly where they leave little or no room."""
    p = planned(model="Llama 3.1 70B", device="RTX 4090", rate=per_second)
    finding = found(p)["cannot-load"]
    assert finding.change and finding.others
    for change in (finding.change, *finding.others):
        busy = plan(p.scenario.change(**change.choices)).load.utilization
        assert busy is not None
        said = "overload it" if busy >= 1 else "busy: waits stay long" if busy > 0.85 else ""
        assert change.sentence.endswith(said) and ("then" in change.sentence) == bool(said)
