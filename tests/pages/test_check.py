"""The page “Check my server”, run in process."""

import threading

import pytest
from streamlit.testing.v1 import AppTest

from planner import machine
from planner.measurements import LOOKED_FOR
from planner.measurements.commands import WARM_UP
from tests.measurements.samples import text
from tests.pages.conftest import Open
from tests.pages.reading import sound, specs, texts
from ui import checking, this_machine

PATH = "pages/check.py"
# One output of each tool.
KINDS = (
    "aiperf_console.txt", "curl_stream.txt", "guidellm_report.json", "llama_bench_new.csv", "llama_server_log.txt",
    "ollama_verbose.txt", "sglang_bench_serving_console_h20.txt", "vllm_bench_serve_console_new.txt",
    "vllm_metrics_idle.prom",
)  # fmt: skip


def pasted(page: AppTest, output: str) -> AppTest:
    page.text_area(key=checking.TEXT).set_value(output)
    return pressed(page, "Compare")


def pressed(page: AppTest, label: str) -> AppTest:
    button = next(b for b in page.button if b.label.startswith(label))
    button.click()
    return sound(page.run())


def labels(page: AppTest) -> list[str]:
    return [button.label for button in page.button]


def test_before_a_paste_it_says_what_to_expect_and_how_to_measure(open_page: Open) -> None:
    """Opening it shows what this scenario should measure, its chart, and a command with its numbers."""
    page = open_page(PATH, prompt=1234)
    assert "should write" in page.success[0].value and "1,234 prompt tokens" in page.success[0].value
    assert len(specs(page)) == 1
    assert "1234" in page.code[0].value and WARM_UP.split(":")[0] in texts(page)
    assert "200-against-2,000" in texts(page)
    assert "Calibrate the planner on this measurement" not in labels(page)


@pytest.mark.parametrize("tool", ["Ollama", "curl", "llama-bench", "SGLang", "GuideLLM", "vLLM /metrics"])
def test_each_tool_has_its_commands(open_page: Open, tool: str) -> None:
    """Choosing a tool shows commands to copy."""
    page = open_page(PATH)
    page.session_state[checking.TOOL] = tool
    before = [code.value for code in page.code]
    sound(page.run())
    assert [code.value for code in page.code] != before


@pytest.mark.parametrize("name", KINDS)
def test_every_sample_is_recognised(open_page: Open, name: str) -> None:
    """The tool is named, and there is a verdict, whatever the scenario."""
    page = pasted(open_page(PATH), text(name))
    assert "Recognised: " in texts(page)
    assert page.error or page.warning or page.success


@pytest.mark.parametrize("junk", ["hello", "{", '{"eval_count": "many", "eval_duration": {}}', "| a | b |"])
def test_junk_gives_one_sentence(open_page: Open, junk: str) -> None:
    """Junk is answered with what was looked for or what lacks, and the page stays."""
    page = pasted(open_page(PATH), junk)
    assert len(page.error) == 1 and "Measure this machine" in texts(page)
    assert LOOKED_FOR[0].split(" ")[0] in page.error[0].value


def test_impossible_figures_are_the_verdict(open_page: Open) -> None:
    """The run that hit the prefix cache is called out first, and cannot be calibrated on."""
    page = open_page(PATH, model="Qwen3 4B", device="L40S", devices=4)
    output = text("vllm_bench_save_result_l40s_inf.json")
    page = pasted(page, output.replace("meta-llama/Llama-3.2-3B", "Qwen/Qwen3-4B"))
    assert "cannot be of this system" in page.error[0].value and "prefix cache" in page.error[0].value
    assert "Calibrate the planner on this measurement" not in labels(page)


def test_calibration_is_taken_said_on_every_page_and_undone(open_page: Open) -> None:
    """One press calibrates; other pages say so with the measured speed as the middle; one press undoes it."""
    page = open_page(PATH, model="Llama 3.1 8B", device="RTX 4090", engine="llama.cpp", weights="Q8_0 (GGUF)")
    page = pasted(page, text("ollama_stream.ndjson"))
    page = pressed(page, "Set the scenario to what was measured")
    assert page.session_state["prompt"] == 1024
    page = pressed(page, "Calibrate the planner on this measurement")
    assert page.session_state["calibrated_decode"] > 0 and "Ollama" in page.session_state["calibrated_on"]
    assert "Calibrated on your measurement" in texts(page)
    page.switch_page("pages/speed.py")
    assert "Calibrated on your measurement" in texts(sound(page.run()))
    page.switch_page(PATH)
    page = pressed(sound(page.run()), "Undo the calibration")
    assert page.session_state["calibrated_decode"] is None and "Calibrated on" not in texts(page)


def test_calibration_of_a_link_can_be_undone(open_page: Open) -> None:
    """A calibrated link shows what it rests on, without any paste."""
    page = open_page(PATH, calibrated_decode=1.3, calibrated_on="my server")
    assert "my server" in texts(page) and "Undo the calibration" in labels(page)


def test_runs_of_a_report_can_be_chosen(open_page: Open) -> None:
    """A report with several runs is compared run by run."""
    page = pasted(open_page(PATH), text("guidellm_console.txt"))
    assert "32 at once" in texts(page)
    page.selectbox(key=checking.RUN).set_value(1)
    assert "64 at once" in texts(sound(page.run()))
    page.text_area(key=checking.TEXT).set_value(text("sglang_bench_serving.jsonl"))
    sound(page.run())


def test_a_model_that_does_not_fit_has_no_expectation(open_page: Open) -> None:
    """Nothing is expected of what cannot run; an output is compared all the same, and the contradiction said."""
    page = open_page(PATH, model="Llama 3.1 70B", device="L40S")
    assert "cannot hold one request" in page.error[0].value and specs(page) == []
    page = pasted(page, text("ollama_verbose.txt"))
    assert "yet something ran" in texts(page)


def test_machine_is_measured_on_request_only(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening the page measures nothing; the button does, and the result becomes the scenario's device."""
    monkeypatch.setattr(machine, "_LARGEST_BUFFER", 8 * 2**20)
    monkeypatch.setattr(machine, "_MOST_REPEATS", 3)
    monkeypatch.setattr(machine, "_SIDES", (64,))
    page = open_page(PATH, model="Qwen3 0.6B")
    assert "this_machine" not in page.session_state
    page = pressed(page, "Measure this machine")
    assert "ranks no GPU framework" in texts(page)
    page = pressed(page, "Use it as a device")
    measured = page.session_state["this_machine"]
    assert page.session_state["device"] == "custom"
    assert page.session_state["device_bandwidth_gb_s"] == measured.scenario_choices()["device_bandwidth_gb_s"]
    assert not page.error or "cannot" in page.error[0].value


def test_two_measurements_do_not_run_at_once(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """While somebody measures, a second one is refused in words and nothing is measured."""
    monkeypatch.setattr(this_machine, "measure", lambda _: pytest.fail("measured twice at once"))
    page = open_page(PATH)
    holder = threading.Thread(target=this_machine._ONE_AT_A_TIME.acquire)
    holder.start()
    holder.join()
    try:
        page = pressed(page, "Measure this machine")
    finally:
        this_machine._ONE_AT_A_TIME.release()
    assert this_machine.BUSY in [warning.value for warning in page.warning]


def test_lack_of_memory_is_said(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    """Too little memory for the buffers is a sentence, and the lock is free again."""
    monkeypatch.setattr(machine, "available_memory", lambda: 2**20)
    page = pressed(open_page(PATH), "Measure this machine")
    assert any("MiB of memory are free" in warning.value for warning in page.warning)
    assert this_machine._ONE_AT_A_TIME.acquire(blocking=False)
    this_machine._ONE_AT_A_TIME.release()
