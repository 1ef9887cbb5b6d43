import numpy as np
import pytest

from planner.architecture import read_config
from planner.devices import find_device
from planner.engines import ENGINES
from planner.layout import Layout
from planner.load.closed import closed_loop
from planner.precision import find_kv_format
from planner.roofline import CEILING, Machine, Overheads, decode_step
from planner.storage import storage
from planner.validate import CONFIGS
from planner.work import Work
from tests.making import job

REAL = Overheads(memory=0.8, compute=0.5, step_s=2e-3, layer_s=1e-5)


@pytest.fixture(scope="module")
def work():
    arch = read_config((CONFIGS / "llama/llama-3.1-8b-instruct.json").read_text(encoding="utf-8"))
    return Work(arch, "bf16", storage(ENGINES["vLLM"], find_kv_format("bf16")), Layout())


@pytest.fixture(scope="module")
def machine(work):
    return Machine.of(find_device("H100 SXM"), work, ENGINES["vLLM"])


def test_one_user_waits_for_nobody(work, machine):
    """With one conversation, time per output token is one decode step."""
    found = closed_loop(work, machine, REAL, REAL, 1, 1024, 256)
    assert float(found.tpot_s) == pytest.approx(float(decode_step(work, machine, 1, 1024 + 128, REAL)))


def test_end_to_end_is_first_token_and_the_others(work, machine):
    """End to end = time to first token + (output - 1) x time per output token, users broadcast."""
    users = np.array([1, 4, 64, 500])
    found = closed_loop(work, machine, REAL, REAL, users, 1024, 256, 0, 256)
    assert found.e2e_s == pytest.approx(found.ttft_s + 255 * found.tpot_s)


def test_littles_law(work, machine):
    """Users = requests per second x end to end, with and without a queue for seats."""
    users = np.array([1, 8, 128, 1000])
    found = closed_loop(work, machine, REAL, REAL, users, 512, 128, 0, 64)
    assert found.requests_per_s * found.e2e_s == pytest.approx(users)
    assert found.output_tok_per_s == pytest.approx(found.requests_per_s * 128)


def test_more_users_slow_each_other(work, machine):
    """Throughput and time per token rise with users; beyond the seats both stay and only the wait grows."""
    found = closed_loop(work, machine, REAL, REAL, np.array([1, 2, 8, 32, 64, 128, 256]), 1024, 256, 0, 64)
    assert (np.diff(found.tpot_s) >= 0).all() and (np.diff(found.requests_per_s) >= -1e-12).all()
    assert found.tpot_s[-1] == found.tpot_s[-3] and found.ttft_s[-1] > found.ttft_s[-2] > found.ttft_s[-3]


def test_a_cached_prefix_shortens_the_wait(work, machine):
    """Prompt tokens that are there already cost no prefill."""
    cold, warm = (closed_loop(work, machine, REAL, REAL, 32, 2048, 128, cached) for cached in (0, 1024))
    assert warm.ttft_s < cold.ttft_s and warm.tpot_s < cold.tpot_s


def test_overheads_only_slow_down(work, machine):
    """Measured efficiencies are never faster than the ceiling."""
    real, best = (closed_loop(work, machine, o, o, np.array([1, 16, 200]), 700, 90) for o in (REAL, CEILING))
    assert (real.tpot_s > best.tpot_s).all() and (real.requests_per_s < best.requests_per_s).all()


def test_a_single_output_token_has_no_time_per_output_token(work, machine):
    """One output token comes out of prefill: time per further token is not a number, the rest is finite."""
    found = closed_loop(work, machine, REAL, REAL, 4, 512, 1)
    assert np.isnan(found.tpot_s) and np.isfinite(found.e2e_s)


def test_longer_answers_let_more_users_keep_a_limit_on_their_tokens(work, machine):
    """Each prompt's work is spread over more tokens, so more users keep 30 ms a token; requests per second fall."""
    users = np.arange(1, 513)
    short, long = (closed_loop(work, machine, REAL, REAL, users, 1024, output) for output in (128, 256))
    assert np.count_nonzero(long.tpot_s <= 0.03) > np.count_nonzero(short.tpot_s <= 0.03) > 1
    assert (long.requests_per_s < short.requests_per_s).all()


def test_full_pipeline_stages_share_the_work_on_prompts(machine):
    """Each stage does its share of n prompts: where they are all the work, k stages serve nearly k times as many."""
    one, four = (job("Llama 3.1 8B", pipeline=stages) for stages in (1, 4))
    single, piped = (closed_loop(w, machine, CEILING, CEILING, 64, 8192, 2) for w in (one, four))
    assert 3 < float(piped.requests_per_s / single.requests_per_s) <= 4
    alone, first = (closed_loop(w, machine, CEILING, CEILING, 1, 8192, 2) for w in (one, four))
    assert float(first.requests_per_s) == pytest.approx(float(alone.requests_per_s))
