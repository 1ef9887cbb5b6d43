"""Commands to copy."""

import json
import shlex

import pytest

from planner.measurements import TOOLS, Load, commands, experiment
from planner.measurements.commands import DASHBOARD

LOAD = Load(model="org/it's a model", prompt=1500, output=300, users=12)


@pytest.mark.parametrize("tool", TOOLS)
def test_commands_are_valid_shell_and_carry_the_figures(tool):
    """Each command parses as shell, whatever is in the model's name."""
    for title, command, sentence in commands(tool, LOAD):
        assert title and sentence.endswith(".")
        assert shlex.split(command)


@pytest.mark.parametrize("tool", ["vllm bench serve", "SGLang", "GuideLLM", "AIPerf", "llama-bench"])
def test_load_tests_take_lengths_and_users(tool):
    """Prompt, output and users of the scenario are in the command."""
    command = commands(tool, LOAD)[0].command
    assert "1500" in command and "300" in command
    assert tool == "llama-bench" or " 12" in command


def test_open_loop_takes_the_rate():
    """With arrivals per second the tools are told the rate and no number of users."""
    command = commands("vllm bench serve", LOAD._replace(rate=2.5))[0].command
    assert "--request-rate 2.5" in command and "--max-concurrency" not in command


def test_curl_body_is_json():
    """The body that the shell builds is JSON with the model's name intact."""
    words = shlex.split(commands("Ollama", LOAD)[0].command)
    body = json.loads(words[words.index("-d") + 1])
    assert body["model"] == LOAD.model and body["options"]["num_predict"] == 300


def test_dashboard_has_five_expressions():
    """Five figures make the dashboard: TTFT, gap, waiting, cache, tokens."""
    assert len(DASHBOARD) == 5
    assert all("vllm:" in item.command for item in DASHBOARD)


def test_experiment_is_200_against_2000():
    """The experiment is the same command with ten times the prompt."""
    short, long = experiment("llama-bench", LOAD)
    assert " -p 200 " in short.command and " -p 2000 " in long.command


def test_the_experiment_sends_one_request_at_a_time():
    """Whatever the load, the two prompts are sent one after the other, with no request rate."""
    for load in (Load(rate=5.0), Load(users=64)):
        for command in experiment("vllm bench serve", load):
            assert "--request-rate" not in command.command and "--max-concurrency 1 " in command.command
