"""Findings: each fault is named with its figures, and every change offered really flips it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner import verdicts
from planner.devices import load_devices
from planner.engines import ENGINES
from planner.findings import ORDER, VERDICTS, Change, Finding, findings
from planner.findings.limits import KEPT, LIMITS, level
from planner.findings.order import bought, priced, ranked, reduces
from planner.findings.settle import drafts
from planner.findings.support import GENERATIONS, formats_lack, stored_formats, suits
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
    "ttft-missed": {"users": 40, "max_ttft": 0.06},
    "ttft-at-risk": {"users": 40, "max_ttft": 0.15},
    "tpot-missed": {"users": 64, "prompt": 4096, "max_tpot": 0.02},
    "tpot-at-risk": {"users": 64, "prompt": 4096, "output": 512, "max_tpot": 0.04},
    "engine-needs-newer": {"device": "V100 SXM2 32GB"},
    "format-not-on-device": {"device": "B200 180GB SXM", "weights": "int8"},
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


def changes(f: Finding) -> tuple[Change, ...]:
    return ((f.change,) if f.change else ()) + f.others


def offered(f: Finding) -> list[dict[str, Any]]:
    return [dict(c.choices) for c in changes(f)]


def codes(p: Plan) -> set[str]:
    return {d.code for d in drafts(p)}


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
            assert f.code not in codes(after), (f.code, choices)
            assert VERDICTS.index(after.fits) >= VERDICTS.index(p.fits), (f.code, choices)
        if f.code in ("cannot-load", "cannot-hold-one", "holds-fewer") and p.scenario.load == "closed":
            assert all(plan(p.scenario.change(**choices)).fits == "fits" for choices in offered(f))
        check_order(p, f)
        for change in f.partial:
            after = plan(p.scenario.change(**change.choices))
            assert after.load.holds >= 2 * p.load.holds and change.choices not in offered(f)


def check_order(p: Plan, f: Finding) -> None:
    """Changes that take something away come last; the first is calm, and of one thing, where such a one is offered."""
    given = changes(f)
    takes = [reduces(c) for c in given]
    assert takes == sorted(takes)
    calm = [not c.calm for c in given if not reduces(c)]
    assert calm == sorted(calm)
    single = [c for c in given if len(c.choices) == 1 and c.calm and not reduces(c)]
    if single:
        assert given[0] in single and bought(p.scenario, given[0]) == min(bought(p.scenario, c) for c in single)
    for c in given:
        devices = bought(p.scenario, c)
        if {"device", "copies"} & set(c.choices) and devices > max(1, bought(p.scenario, Change({}, ""))):
            assert f"({devices:,} " in c.sentence and " in all)" in c.sentence


def rate_of(share: float) -> dict[str, Any]:
    return {"rate": planned(rate=0.1).load.capacity_per_s * share}


def case(code: str) -> Plan:
    if code == "near-capacity":
        return planned(**rate_of(0.9))
    if code in ("device-derived", "device-announced"):
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
             "tpot-impossible", "ttft-missed", "ttft-at-risk", "tpot-missed", "tpot-at-risk", "beyond-node",
             "format-not-on-device", "more-stages-than-layers", "heads-not-divisible", "kv-replicated", "slow-link",
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
    """The least number of copies offered has a steady state, one copy fewer has none."""
    p = planned(rate=100.0)
    copies = min(c["copies"] for c in offered(found(p)["no-steady-state"]) if list(c) == ["copies"])
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


# Limits ------------------------------------------------------------------------------------------------------------


@settings(max_examples=30)
@given(CHOICES, st.floats(0.02, 20), st.floats(0.002, 0.2))
def test_limits_have_one_finding_each_and_changes_that_keep_them(
    choices: dict[str, Any], first: float, further: float
) -> None:
    """Each limit that is not kept for sure has one finding; each change keeps it, or says that it may be missed."""
    p = planned(**choices, max_ttft=first, max_tpot=further)
    check(p)
    these = found(p)
    for limit in LIMITS:
        mine = [f for code, f in these.items() if code.startswith(limit)]
        assert len(mine) == (level(p, limit) != KEPT)
        for change in (c for f in mine for c in changes(f)):
            after = plan(p.scenario.change(**change.choices))
            assert (level(after, limit) == KEPT) == change.calm
            assert change.sentence.endswith(", then it may still be missed") == (not change.calm)
            assert all(level(after, other) <= level(p, other) for other in LIMITS)


def test_the_time_per_token_of_a_limit_counts_the_prompts_of_others() -> None:
    """A limit that decode alone keeps by far is missed where each token also waits for other users' prompts."""
    p = planned(users=64, prompt=4096, output=64, max_tpot=0.04)
    batch = p.decode.batch
    assert batch is not None and batch.size / batch.expected.low < 0.04
    f = found(p)["tpot-missed"]
    assert f.severity == "warning"
    assert "64 conversations; your limit is 40 ms: even the fast end misses it" in f.sentence
    assert any("prompt" in c for c in offered(f))


def test_the_wait_for_a_seat_counts_to_the_first_token() -> None:
    """Where more users ask than are held, the first token waits for a seat, and the sentence says so."""
    few, many = (planned(device="RTX 4090", users=n, max_ttft=5.0) for n in (8, 300))
    assert not {"ttft-missed", "ttft-at-risk"} & set(found(few))
    f = found(many)["ttft-missed"]
    assert "the wait for a seat included" in f.sentence
    assert {"copies"} in [set(c) for c in offered(f)]


def test_the_most_users_that_keep_a_limit_are_offered() -> None:
    """With one user more than offered, the limit may be missed."""
    p = planned(users=64, prompt=4096, output=512, max_tpot=0.03)
    users = next(c["users"] for c in offered(found(p)["tpot-missed"]) if "users" in c)
    assert level(plan(p.scenario.change(users=users)), "tpot") == KEPT
    assert level(plan(p.scenario.change(users=users + 1)), "tpot") != KEPT


def test_limits_that_are_kept_have_no_finding() -> None:
    """Easy limits say nothing, neither do limits where nothing is held."""
    assert not any(code.startswith(LIMITS) for code in found(planned(max_ttft=30.0, max_tpot=1.0)))
    assert not any(code.startswith(LIMITS) for code in found(planned(model="Llama 3.1 70B", max_tpot=0.001)))


# Order and hardware ------------------------------------------------------------------------------------------------


def test_changes_are_ranked_by_what_they_ask() -> None:
    """Settings before bits before hardware before smaller wishes; long waits and needless second changes aside."""
    s = Scenario.of(model="Llama 3.1 8B", users=10)
    by_name = {
        "seats": Change({"max_num_seqs": 64}, ""), "kv": Change({"kv": "fp8"}, ""),
        "weights": Change({"weights": "int4"}, ""), "device": Change({"device": "H200 141GB SXM"}, ""),
        "both": Change({"weights": "fp8", "devices": 2}, ""), "devices": Change({"devices": 4}, ""),
        "copies": Change({"copies": 5}, ""), "busy": Change({"copies": 3}, "", calm=False),
        "users": Change({"users": 4}, ""),
    }  # fmt: skip
    needless = Change({"weights": "int4", "devices": 4}, "")
    assert ranked(s, [needless, *reversed(by_name.values())]) == [
        by_name[n] for n in ("seats", "kv", "weights", "device", "both", "devices", "copies", "busy", "users")
    ]


def test_a_change_of_one_thing_stands_before_any_of_two() -> None:
    """The first change is of one thing, even where two things would need less hardware."""
    s = Scenario.of(model="Llama 3.1 8B")
    one, two = Change({"copies": 12}, ""), Change({"copies": 3, "weights": "fp8"}, "")
    assert ranked(s, [two, one]) == [one, two]


@pytest.mark.parametrize(
    ("choices", "said"),
    [({"copies": 8}, " (8 H100 80GB SXM in all)"), ({"devices": 2, "copies": 2}, " (4 H100 80GB SXM in all)"),
     ({"device": "L40S"}, ""), ({"device": "L40S", "copies": 2}, " (2 L40S in all)"), ({"kv": "fp8"}, "")],
)  # fmt: skip
def test_a_change_says_how_many_devices_it_comes_to(choices: dict[str, Any], said: str) -> None:
    """What buys hardware says how many devices in all, unless that is one."""
    assert priced(Scenario.of(model="Llama 3.1 8B"), Change(choices, "this")).sentence == f"this{said}"


def test_devices_without_kernels_for_the_format_are_not_offered() -> None:
    """A device of a generation that has no kernels for the weights is offered for none of the findings."""
    p = plan(Scenario.of(model="Llama 3.1 70B", weights="int4", device="RTX 4090", devices=2, users=4))
    assert p.fits == "cannot load"
    labels = [c["device"] for f in findings(p) for c in offered(f) if "device" in c]
    rows = {d.label: d for d in load_devices()}
    assert labels and all(suits(rows[label], p.engine, p.work) for label in labels)
    assert not any(label.startswith(("V100", "Tesla P100")) for label in labels)


@settings(max_examples=30)
@given(CHOICES)
def test_no_change_brings_what_does_not_run(choices: dict[str, Any]) -> None:
    """No change brings a warning about format, generation or engine that the plan did not have."""
    p = planned(**choices)
    runs = {"engine-not-on-device", "engine-needs-newer", "format-not-on-device", "format-needs-engine",
            "kv-needs-engine"}  # fmt: skip
    for f in findings(p):
        for made in (*offered(f), *(c.choices for c in f.partial)):
            assert codes(plan(p.scenario.change(**made))) & runs <= codes(p) & runs, made


@pytest.mark.parametrize(
    ("device", "weights", "engine", "runs"),
    [("V100 SXM2 32GB", "int4", "vLLM 0.20", False), ("T4", "int4", "vLLM", True), ("T4", "fp8", "vLLM", True),
     ("T4", "nvfp4", "vLLM", False), ("B200 180GB SXM", "int8", "vLLM", False), ("H100 80GB SXM", "int8", "vLLM", True),
     ("MI250X", "fp8", "vLLM", False), ("MI300X", "fp8", "vLLM", True), ("MI300X", "nvfp4", "SGLang", False),
     ("V100 SXM2 32GB", "Q4_K_M", "llama.cpp", True), ("V100 SXM2 32GB", "bf16", "vLLM 0.20", True)],
)  # fmt: skip
def test_formats_run_where_their_kernels_do(device: str, weights: str, engine: str, runs: bool) -> None:
    """The generations that engines state for each format decide, by the formats that the weights are stored in."""
    p = planned(device=device, weights=weights, engine=engine)
    assert (formats_lack(p.device, p.engine, stored_formats(p.work)) is None) == runs
    assert ("format-not-on-device" in codes(p)) != runs


def test_generations_are_those_of_the_device_table() -> None:
    """Each NVIDIA device has a generation that is known, so that none passes by a name that is spelt otherwise."""
    assert all(d.arch.startswith(GENERATIONS) for d in load_devices() if d.vendor == "NVIDIA")
    assert {"vLLM", "vLLM 0.20", "SGLang", "TensorRT-LLM", "LMDeploy", "llama.cpp"} == set(ENGINES)


# Changes that help in part, or not at all --------------------------------------------------------------------------


def test_a_smaller_reserve_that_holds_far_more_is_said_beside_the_changes() -> None:
    """Where a smaller reserve holds many more, but not all, it is a change that helps, with the figures."""
    p = plan(Scenario.of(model="gpt-oss 120B", users=200))
    f = found(p)["holds-fewer"]
    (change,) = f.partial
    after = plan(p.scenario.change(**change.choices))
    assert list(change.choices) == ["max_num_seqs"] and "holds-fewer" in found(after)
    assert f"holds {after.load.holds} of 200 instead of {p.load.holds}" in change.sentence
    assert f.as_dict()["partial"] == [{"change": change.choices, "sentence": change.sentence}]
    seats = [c for c in offered(f) if {"max_num_seqs", "copies"} == set(c)]
    alone = [c for c in offered(f) if {"copies"} == set(c)]
    assert seats[0]["copies"] <= 0.75 * alone[0]["copies"]


def test_nothing_helps_in_part_where_the_reserve_is_small() -> None:
    """Where the reserve of the engine hardly matters, nothing is said of it."""
    assert found(planned(device="RTX 4090", users=300))["holds-fewer"].partial == ()


def test_admitting_more_is_offered_only_where_more_are_served() -> None:
    """On a processor that is busy with those admitted already, the sentence says that more would gain nothing."""
    busy = planned(device="EPYC 9654", engine="llama.cpp", weights="Q4_K_M", users=300)
    idle = planned(users=100, max_num_seqs=20)
    for p, gains in ((busy, False), (idle, True)):
        f = found(p)["admits-fewer"]
        seats = {"max_num_seqs": p.asked}
        assert (plan(p.scenario.change(**seats)).load.arrivals_per_s >= 1.05 * p.load.arrivals_per_s) == gains  # type: ignore[operator]
        assert (seats in offered(f)) == gains and ("hardly serve more" in f.sentence) != gains


def test_stages_are_offered_where_layers_would_be_split_across_machines() -> None:
    """As many devices, no layer beyond one machine, and not fewer requests served at full load."""
    p = planned(model="Llama 3.1 70B", devices=16)
    change = found(p)["beyond-node"].change
    assert change is not None and change.choices == {"devices": 8, "pipeline": 2}
    assert plan(p.scenario.change(**change.choices)).load.capacity_per_s >= p.load.capacity_per_s
