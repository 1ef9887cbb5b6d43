"""The command line: the contract's keys, and one line with status 2 for whatever cannot be used."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planner.__main__ import main
from planner.plan import plan
from planner.scenario import Scenario
from planner.share import link
from tests.test_share import OTHER

ROOT = Path(__file__).resolve().parents[1]
MODELS = ROOT / "data" / "models"
LLAMA = MODELS / "llama-3.1-8b.json"
EXAMPLE = [
    "--model", "Llama 3.1 8B", "--weights", "bf16", "--device", "h100-sxm", "--prompt", "1024", "--output", "256",
]  # fmt: skip


class Run:
    """One run of the command line inside this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        self.status = main(arguments)
        self.out, self.err = capsys.readouterr()

    @property
    def answer(self) -> Any:
        return json.loads(self.out)


def give(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    """Let standard input be this."""
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))


INSPECT = {
    "name", "model_type", "recognised", "total_params", "text_params", "nontext_params", "embedding_params",
    "lm_head_params", "tied_lm_head", "active_params", "n_layers", "kv_elements_per_token",
    "recurrent_state_elements_per_sequence", "indexer_elements_per_token", "cache", "weight_bytes", "quantization",
    "keys", "warnings",
}  # fmt: skip
PLAN = {
    "memory": {"usable_bytes", "weights_bytes", "activations_bytes", "runtime_bytes", "graphs_bytes", "kv_pool_bytes",
               "kv_pool_tokens", "kv_bytes_per_token", "kv_fixed_bytes_per_sequence", "request_bytes",
               "max_concurrent_requests"},
    "decode": {"context_tokens", "bytes_per_step", "ceiling_tok_per_s", "expected_tok_per_s", "bound", "batch"},
    "prefill": {"tokens", "flops", "floor_s", "expected_s", "bound"},
    "load": {"mode", "in_flight", "arrivals_per_s", "time_in_system_s", "utilization", "steady_state"},
}  # fmt: skip
BATCH = {"size", "ceiling_tok_per_s", "ceiling_tok_per_s_per_user", "expected_tok_per_s", "compute_bound_from",
         "memory_full_at"}  # fmt: skip


def test_plan_prints_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    """Every key of the contract is there, with the published example's figures."""
    run = Run(capsys, "plan", *EXAMPLE, "--users", "8")
    assert (run.status, run.err) == (0, "")
    answer = run.answer
    assert set(answer) >= {"scenario", "link", "fits", "memory", "decode", "prefill", "load", "findings"}
    for part, keys in PLAN.items():
        assert keys <= set(answer[part]), part
    assert set(answer["decode"]["batch"]) >= BATCH
    assert answer["fits"] == "fits"
    assert answer["memory"]["usable_bytes"] == pytest.approx(8.55e10, rel=1e-3)
    assert answer["memory"]["weights_bytes"] == 8_030_261_248 * 2
    assert answer["memory"]["kv_bytes_per_token"] == 131_072
    assert answer["memory"]["kv_fixed_bytes_per_sequence"] == 0
    assert answer["memory"]["request_bytes"] == 1280 * 131_072
    assert answer["decode"]["context_tokens"] == 1152
    assert answer["decode"]["bytes_per_step"] == pytest.approx(1.516e10, rel=1e-4)
    assert answer["decode"]["ceiling_tok_per_s"] == pytest.approx(221.0, abs=0.05)
    assert (answer["decode"]["bound"], answer["prefill"]["bound"]) == ("memory", "compute")
    assert answer["decode"]["batch"]["size"] == 8
    assert (answer["load"]["mode"], answer["load"]["in_flight"], answer["load"]["steady_state"]) == ("closed", 8, True)
    assert answer["scenario"]["users"] == 8 and answer["scenario"]["engine"] == "vLLM"
    for finding in answer["findings"]:
        assert {"severity", "code", "sentence", "change"} <= set(finding)
        assert finding["severity"] in ("error", "warning", "info")


def test_what_is_not_known_or_cannot_be_is_null(capsys: pytest.CaptureFixture[str]) -> None:
    """A model that cannot load has no speed at all: null, never 0."""
    answer = Run(capsys, "plan", "--model", "Kimi K2 1T", "--device", "RTX 4090").answer
    assert answer["fits"] == "cannot load"
    assert answer["decode"]["batch"] is None
    for value in (answer["decode"]["ceiling_tok_per_s"], answer["decode"]["expected_tok_per_s"],
                  answer["prefill"]["floor_s"], answer["prefill"]["expected_s"], answer["load"]["in_flight"],
                  answer["load"]["time_in_system_s"], answer["load"]["utilization"]):  # fmt: skip
        assert value is None
    assert answer["load"]["steady_state"] is False
    assert answer["memory"]["max_concurrent_requests"] == 0
    assert answer["findings"][0]["severity"] == "error"


def test_flags_and_link_and_file_give_the_same(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The same scenario through flags, through its link and through a saved file prints the same numbers."""
    choices = OTHER | {"load": "closed", "rate": 1.0, "device": "custom"}
    flags = []
    for name, value in choices.items():
        if name in ("rate", "load"):
            continue
        flag = "--" + name.replace("_", "-")
        flags += [flag] if value is True else [flag, str(value)]
    by_flags = Run(capsys, "plan", *flags)
    assert (by_flags.status, by_flags.err) == (0, "")
    by_link = Run(capsys, "plan", "--link", link(Scenario.of(**choices), "http://localhost:8501/Fit"))
    assert by_link.answer == by_flags.answer
    saved = tmp_path / "scenario.json"
    saved.write_text(json.dumps({"v": 1, "scenario": Scenario.of(**choices).choices()}))
    assert Run(capsys, "plan", "--scenario", str(saved)).answer == by_flags.answer
    # A whole answer of the planner can be given back, too.
    saved.write_text(by_flags.out)
    assert Run(capsys, "plan", "--scenario", str(saved)).answer == by_flags.answer


@pytest.mark.parametrize("engine", ["vLLM", "vLLM 0.20", "SGLang", "llama.cpp"])
def test_printed_parts_of_the_memory_sum(capsys: pytest.CaptureFixture[str], engine: str) -> None:
    """Weights, activations, runtime, graphs, the pool and what is left alone are the whole device, tables included."""
    weights = "Q4_K_M" if engine == "llama.cpp" else "bf16"
    memory = Run(capsys, "plan", *EXAMPLE, "--engine", engine, "--weights", weights).answer["memory"]
    parts = ("weights", "activations", "runtime", "graphs", "kv_pool", "outside")
    assert sum(memory[f"{part}_bytes"] for part in parts) == pytest.approx(memory["usable_bytes"], rel=1e-12)
    assert 0 <= memory["tables_bytes"] < memory["runtime_bytes"]


def test_what_is_printed_is_the_plan_that_pages_show(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line prints the figures of plan() on the scenario that its own link restores."""
    answer = Run(capsys, "plan", *EXAMPLE, "--rate", "0.5").answer
    p = plan(Scenario.of(**{k: v for k, v in answer["scenario"].items() if v is not None}))
    assert answer["memory"]["kv_pool_bytes"] == p.memory.pool
    assert answer["decode"]["batch"]["ceiling_tok_per_s"] == p.decode.batch.ceiling  # type: ignore[union-attr]
    assert answer["prefill"]["expected_s"]["mid"] == p.prefill.expected.mid
    assert answer["load"]["in_flight"] == p.load.in_flight
    assert answer["load"]["mode"] == "open"
    assert Run(capsys, "plan", "--link", answer["link"]).answer == answer


def test_a_config_is_planned_from_a_file_or_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A config gives the figures of the same model by name; the config's own name is its file's."""
    by_name = Run(capsys, "plan", *EXAMPLE).answer
    by_file = Run(capsys, "plan", "--config", str(LLAMA), *EXAMPLE[2:]).answer
    assert by_file["memory"] == by_name["memory"] and by_file["decode"] == by_name["decode"]
    assert by_file["scenario"]["model"] == "llama-3.1-8b"
    give(monkeypatch, LLAMA.read_bytes())
    by_pipe = Run(capsys, "plan", "--config", "-", "--model", "piped", *EXAMPLE[2:]).answer
    assert by_pipe["memory"] == by_name["memory"]
    assert by_pipe["scenario"]["model"] == "piped"
    assert Run(capsys, "plan", "--link", by_pipe["link"]).answer == by_pipe


def test_flags_override_a_link(capsys: pytest.CaptureFixture[str]) -> None:
    """Flags beside a link change just what they name, and a rate turns users into arrivals."""
    text = link(Scenario.of(model="Llama 3.1 8B", users=5, prompt=777))
    scenario = Run(capsys, "plan", "--link", text, "--rate", "2.5", "--no-expert-parallel").answer["scenario"]
    assert (scenario["load"], scenario["rate"], scenario["prompt"]) == ("open", 2.5, 777)
    config = link(Scenario.of(config=json.loads(LLAMA.read_text()), model="mine"))
    scenario = Run(capsys, "plan", "--link", config, "--model", "Qwen3 8B").answer["scenario"]
    assert scenario["model"] == "Qwen3 8B" and "config" not in scenario


def test_notes_about_a_link_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """A link with a value out of range is planned with the nearest one, and says so in one line."""
    run = Run(capsys, "plan", "--link", "?v=1&users=0&prompt=100")
    assert run.status == 0
    assert run.err.count("\n") == 1 and "users = 0" in run.err
    assert run.answer["scenario"]["users"] == 1


@pytest.mark.parametrize("query", ["?v=1&model=Lama+3.1&users=2", "?v=1&model=Qwen3+8B&device=H9000"])
def test_link_to_what_is_not_there_is_refused(capsys: pytest.CaptureFixture[str], query: str) -> None:
    """A link whose model or device is unknown is not answered with another one: one line and status 2."""
    run = Run(capsys, "plan", "--link", query)
    assert (run.status, run.out, run.err.count("\n")) == (2, "", 1)


def test_inspect_prints_the_contract(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """One file gives one object with every key of the contract, from a file or standard input."""
    run = Run(capsys, "inspect", str(LLAMA))
    assert (run.status, run.err) == (0, "")
    assert set(run.answer) >= INSPECT
    assert run.answer["total_params"] == 8_030_261_248
    assert run.answer["weight_bytes"] == 16_060_522_496
    assert set(run.answer["keys"]) == {"used", "defaulted", "ignored"}
    assert run.answer["cache"] == [
        {"kind": "full", "window": None, "layers": 32, "elements_per_token": 2048, "fixed_elements": 0}
    ]
    give(monkeypatch, b"\xef\xbb\xbf" + LLAMA.read_bytes())
    piped = Run(capsys, "inspect", "-").answer
    assert piped["total_params"] == 8_030_261_248


def test_inspect_of_several_files_prints_a_line_each(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Each file has its object on a line, with `error` where it cannot be read; then the status is 2."""
    bad = tmp_path / "bad.json"
    bad.write_text("{")
    run = Run(capsys, "inspect", str(LLAMA), str(bad), str(tmp_path / "none.json"), str(MODELS / "phi-2.json"))
    lines = [json.loads(line) for line in run.out.splitlines()]
    assert lines[0]["file"] == str(LLAMA)
    assert ["error" in line for line in lines] == [False, True, True, False]
    assert run.status == 2
    assert run.err.count("\n") == 1
    assert Run(capsys, "inspect", str(LLAMA), str(MODELS / "phi-2.json")).status == 0


def test_a_side_file_says_how_a_checkpoint_is_quantized(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """hf_quant_config.json beside a config makes the weights smaller, in inspect and in plan and in the link."""
    side = tmp_path / "hf_quant_config.json"
    quantization = {"quant_algo": "FP8", "kv_cache_quant_algo": "FP8", "exclude_modules": ["lm_head"]}
    side.write_text(json.dumps({"producer": {"name": "modelopt"}, "quantization": quantization}))
    answer = Run(capsys, "inspect", str(LLAMA), "--hf-quant-config", str(side)).answer
    assert 8.0e9 < answer["weight_bytes"] < 9.2e9
    planned = Run(capsys, "plan", "--config", str(LLAMA), "--hf-quant-config", str(side)).answer
    assert planned["memory"]["weights_bytes"] == answer["weight_bytes"]
    assert planned["memory"]["kv_bytes_per_token"] == 65_536
    assert Run(capsys, "plan", "--link", planned["link"]).answer == planned


def test_devices_lists_ids_and_names(capsys: pytest.CaptureFixture[str]) -> None:
    """Each device has an id and a name, and --device takes either."""
    devices = Run(capsys, "devices").answer
    assert len(devices) >= 120
    for device in devices[::17]:
        for key in ("id", "name"):
            assert Run(capsys, "plan", "--device", device[key]).answer["scenario"]["device"] == device["label"]
    assert all(d["price_usd_per_hour"] != 0 and d["memory_bytes_usable"] > 0 for d in devices)


BAD: dict[str, list[str]] = {
    "no command": [], "unknown command": ["guess"], "unknown flag": ["plan", "--colour", "red"],
    "text for a number": ["plan", "--users", "many"], "fraction of a user": ["plan", "--users", "2.5"],
    "no users": ["plan", "--users", "0"], "negative": ["plan", "--prompt", "-5"],
    "huge": ["plan", "--prompt", "9" * 400], "not a number": ["plan", "--rate", "nan"],
    "infinite": ["plan", "--rate", "inf"], "utilisation over 1": ["plan", "--utilization", "1.2"],
    "unknown model": ["plan", "--model", "GPT-9"], "unknown device": ["plan", "--device", "Cray-1"],
    "unknown engine": ["plan", "--engine", "steam"], "unknown weights": ["plan", "--weights", "int3"],
    "unknown kv": ["plan", "--kv", "int3"], "unknown load": ["plan", "--load", "sideways"],
    "users and rate": ["plan", "--users", "3", "--rate", "2"],
    "open with users": ["plan", "--load", "open", "--users", "3"],
    "custom without figures": ["plan", "--device", "custom"],
    "groups that do not divide": ["plan", "--devices", "4", "--attention-data-parallel", "3"],
    "no file": ["plan", "--config", "no/such.json"], "no scenario file": ["plan", "--scenario", "no/such.json"],
    "a folder": ["inspect", "."], "empty link": ["plan", "--link", " "], "not a link": ["plan", "--link", "hello"],
    "bad address": ["plan", "--link", "http://[::1?v=1"],
    "cut model in a link": ["plan", "--link", "?v=1&config=1.AAAA"],
    "link and scenario": ["plan", "--link", "?v=1", "--scenario", "x.json"],
    "side file alone": ["plan", "--hf-quant-config", "x.json"],
    "missing value": ["plan", "--users"], "no files to inspect": ["inspect"],
    "an empty name": ["plan", "--model", ""],
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_arguments_cost_one_line_and_status_2(case: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing on standard output, one line on standard error, exit status 2."""
    run = Run(capsys, *BAD[case])
    assert run.status == 2
    assert run.out == ""
    assert run.err.count("\n") == 1 and len(run.err) > 20
    assert "Traceback" not in run.err


CONFIG = json.loads(LLAMA.read_text())
FILES: dict[str, bytes] = {
    "empty": b"", "not JSON": b"hello", "cut": LLAMA.read_bytes()[:200], "a list": b"[1, 2]", "null": b"null",
    "binary": bytes(range(256)), "another file": b'{"weight_map": {}}',
    "missing keys": b'{"model_type": "my_model", "hidden_size": 64}',
    "text for a number": json.dumps(CONFIG | {"hidden_size": "big"}).encode(),
    "negative": json.dumps(CONFIG | {"num_hidden_layers": -3}).encode(),
    "huge": json.dumps(CONFIG | {"num_hidden_layers": 10**30}).encode(),
    "not a number": LLAMA.read_bytes().replace(b'"hidden_size": 4096', b'"hidden_size": NaN'),
    "thousands of digits": b'{"hidden_size": ' + b"9" * 5000 + b"}",
    "deep": b'{"a":' * 5000 + b"1" + b"}" * 5000, "six megabytes": b'{"a": "' + b"x" * 6_000_000 + b'"}',
}  # fmt: skip


@pytest.mark.parametrize("command", [["inspect"], ["plan", "--config"], ["plan", "--scenario"], ["measure"]])
@pytest.mark.parametrize("case", FILES)
def test_bad_files_cost_one_line_and_status_2(
    case: str, command: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A file that is no config, no scenario, no measurement: one line, status 2, never a traceback."""
    file = tmp_path / "given.json"
    file.write_bytes(FILES[case])
    run = Run(capsys, *command, str(file))
    assert run.status == 2, run.out[:200]
    assert run.out == ""
    assert run.err.count("\n") == 1 and len(run.err) > 20


@pytest.mark.parametrize(
    "choices",
    [
        {"users": "8"}, {"users": True}, {"users": 2.5}, {"rate": "fast"}, {"expert_parallel": "yes"}, {"model": 7},
        {"device": None, "device_memory_gib": -1}, {"config": []}, {"config": {"a": 1}}, {"cls": 1}, {"self": 1},
        {"colour": "red"}, {"prompt": float("nan")}, {"load": "sideways"}, {"device_name": "x" * 61},
        {"weights": ["bf16"]}, {"max_ttft": 0}, {"utilization": float("inf")},
    ],
)  # fmt: skip
def test_scenario_files_with_wrong_types_are_refused(
    choices: dict[str, Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A value of another type is refused by name, never converted in silence."""
    file = tmp_path / "scenario.json"
    file.write_text(json.dumps({"scenario": choices}))
    run = Run(capsys, "plan", "--scenario", str(file))
    assert (run.status, run.out, run.err.count("\n")) == (2, "", 1)
    named = "hidden_size" if choices == {"config": {"a": 1}} else list(choices)[-1]
    assert named in run.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plan", "--link", ""], "--link is empty"),
        (["plan", "--config", ""], "path of a file is empty"),
        (["plan", "--scenario", ""], "path of a file is empty"),
        (["plan", "--config", str(LLAMA), "--hf-quant-config", ""], "path of a file is empty"),
        (["inspect", ""], "path of a file is empty"),
        (["inspect", "a\0b"], "is no path"),
        (["plan", "--device", "h100-sxm", "--device-memory-gib", "1.5"], "--device custom"),
        (["measure", str(LLAMA.with_name("none.csv")), "--hf-quant-config", "x"], "none.csv"),
        (["validate", str(LLAMA)], "kind, metric and value"),
        (["validate", str(ROOT / "data/measurements/prefill.csv"), "--configs", "no/such"], "no/such"),
        (["validate", str(ROOT / "data/measurements/prefill.csv"), "--configs", ""], "does not exist"),
    ],
)  # fmt: skip
def test_empty_and_stray_arguments_are_refused(
    capsys: pytest.CaptureFixture[str], arguments: list[str], said: str
) -> None:
    """An empty path or link, and a flag that nothing uses, are one line and status 2."""
    run = Run(capsys, *arguments)
    assert (run.status, run.out, run.err.count("\n")) == (2, "", 1)
    assert said in run.err


def test_measure_takes_a_side_file_only_beside_a_config(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """--hf-quant-config of `measure` without --config is refused, not ignored."""
    give(monkeypatch, b"| model | size | params | backend | test | t/s |\n|-|-|-|-|-|-|\n"
                      b"| llama 8B Q4_0 | 4.33 GiB | 8.03 B | CUDA | tg128 | 100.00 |\n")  # fmt: skip
    run = Run(capsys, "measure", "-", "--hf-quant-config", "x.json")
    assert (run.status, run.out, run.err.count("\n")) == (2, "", 1)
    assert "--config" in run.err


def test_bytes_on_standard_input_are_named_so(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Standard input that is no text is called that, not "-"."""
    give(monkeypatch, b"\xff\xfe\x00")
    assert Run(capsys, "inspect", "-").err.startswith("standard input is not a text file")


@pytest.mark.parametrize("data", ["", "hello", '{"a":1}', "\n\n", "kind,metric,value\n" + "x" * 200_000 + ",a,1\n"])
def test_what_is_no_table_cannot_be_validated(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, data: str
) -> None:
    """An empty file, another text and a cell beyond what CSV holds are one line and status 2."""
    give(monkeypatch, data.encode())
    run = Run(capsys, "validate", "-")
    assert (run.status, run.out, run.err.count("\n")) == (2, "", 1)


def test_blank_lines_before_the_header_are_skipped(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that starts after blank lines is read."""
    give(monkeypatch, b"\n \nkind,metric,value\njoy,a,1\n")
    assert "joy" in Run(capsys, "validate", "-").answer["rows"][0]["skipped"]


def test_odd_characters_reach_any_terminal(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Names with characters that the terminal or a link lacks are printed as JSON all the same."""
    file = tmp_path / "scenario.json"
    file.write_text('{"device_name": "\\ud800 box \\u0000", "calibrated_on": "caf\\u00e9 \\udfff"}')
    run = Run(capsys, "plan", "--scenario", str(file))
    assert run.status == 0
    assert Run(capsys, "plan", "--link", run.answer["link"]).answer == run.answer
    done = subprocess.run(
        [sys.executable, "-m", "planner", "plan", "--scenario", str(file)], cwd=ROOT, capture_output=True,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout) == run.answer


def shell(command: str) -> subprocess.CompletedProcess[bytes]:
    """A command line as a shell runs it; `planner` stands for the program."""
    program = f"{sys.executable} -m planner"
    line = command.replace("planner", program, 1)
    return subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL)


@pytest.mark.parametrize(
    ("command", "status", "word"),
    [
        ("planner devices >/dev/full", 1, b"No space left"), ("planner devices >&-", 1, b"closed"),
        ("planner --help >/dev/full", 1, b"No space left"), ("planner --help >&-", 1, b"closed"),
        ("planner inspect - <&-", 2, b"Standard input is closed"), ("planner inspect -", 2, b"Nothing was pasted"),
        ("planner plan --device $'\\xff'", 2, rb"\xff"), ("planner plan --users $'\\xff'", 2, b"a whole number"),
        ("planner inspect $'\\xff'", 2, rb"\xff cannot be read"), ("planner plan --link $'\\xff'", 2, b"no scenario"),
    ],
)  # fmt: skip
def test_streams_that_fail_and_bytes_that_are_no_text_cost_one_line(command: str, status: int, word: bytes) -> None:
    """A full disk, a closed stream and invalid bytes are one line on standard error, without a trace of Python."""
    done = shell(command)
    assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (status, b"", 1), done.stderr
    assert word in done.stderr and b"Exception" not in done.stderr


@pytest.mark.parametrize("error", ["2>&-", "2>/dev/full"])
def test_without_a_place_for_errors_the_status_remains(error: str) -> None:
    """Bad input is status 2 also where its sentence cannot be said, and it is not said on standard output."""
    done = shell(f"planner inspect none.json {error}")
    assert (done.returncode, done.stdout, done.stderr) == (2, b"", b"")


def test_flags_take_thousands_as_links_do(capsys: pytest.CaptureFixture[str]) -> None:
    """1,000 users are a thousand; 0,5 requests per second are no number, on the command line as in a link."""
    assert Run(capsys, "plan", "--users", "1,000").answer["scenario"]["users"] == 1000
    run = Run(capsys, "plan", "--rate", "0,5")
    assert run.status == 2 and "'0,5' found, a number from" in run.err


def test_notes_about_a_scenario_file_go_to_standard_error(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A saved scenario of another version, in UTF-16, is planned with a note."""
    file = tmp_path / "scenario.json"
    file.write_text('{"v": 2, "scenario": {"users": 3}}', encoding="utf-16")
    run = Run(capsys, "plan", "--scenario", str(file))
    assert (run.status, run.err.count("\n")) == (0, 1)
    assert "version '2'" in run.err and run.answer["scenario"]["users"] == 3


def test_the_core_starts_light() -> None:
    """Planning on the command line loads neither pandas nor Streamlit nor a chart library."""
    code = (
        "import sys; from planner.__main__ import main; main(['plan']); "
        "sys.exit(any(m in sys.modules for m in ('pandas', 'streamlit', 'altair', 'numpy.ma', 'scipy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stderr == b""


def test_a_reader_that_stops_early_is_no_error() -> None:
    """`python -m planner devices | head -1` ends without a complaint."""
    done = subprocess.run(
        f"{sys.executable} -m planner devices | head -1", shell=True, cwd=ROOT, capture_output=True
    )  # fmt: skip
    assert done.stderr == b""
