import pytest

from planner.architecture import read_config
from planner.devices import find_device
from planner.engines import ENGINES
from planner.layout import Layout
from planner.memory import activation_bytes, budget, unseen_bytes
from planner.precision import find_kv_format
from planner.storage import storage
from planner.validate import CONFIGS
from planner.work import Work
from tools.evidence import logs

GIB = 2**30


@pytest.fixture(scope="module")
def lines():
    return logs.lines()


def test_weights_of_start_logs(lines):
    """Of 22 logs that state model, memory and share, at least 85 % load within 2 % of the predicted bytes."""
    found = [abs(line.weights) for line in lines if line.stated and line.weights is not None]
    assert len(found) == 22
    assert sum(e <= 0.02 for e in found) / len(found) >= 0.85


def test_kv_of_start_logs(lines):
    """Of 23 logs that state model, memory and share, at least 85 % leave the predicted room for KV within 5 %."""
    found = [abs(line.kv) for line in lines if line.stated and line.kv is not None]
    assert len(found) == 23
    assert sum(e <= 0.05 for e in found) / len(found) >= 0.85


def test_every_miss_has_a_cause(lines):
    """No log misses without a stated cause."""
    for line in lines:
        missed = [e for e, limit in ((line.weights, 0.02), (line.kv, 0.05)) if e is not None and abs(e) > limit]
        assert not missed or line.cause, line.id


def test_kv_tokens_follow_from_the_logged_parts(lines):
    """Given logged weights, activation peak and non-torch memory, the blocks follow within the log's rounding."""
    found = [line for line in lines if line.stated and line.block is not None]
    assert len(found) == 9
    assert [line.id for line in found if not line.block] == ["M00032", "M00072"]


def test_exact_blocks_of_one_log():
    """23.58 GiB x 0.9 - 14.9888 - 2.07 - 0.35 GiB hold 31,232 tokens of Llama-3.1-8B, within the log's 0.01 GiB."""
    arch = read_config((CONFIGS / "llama/llama-3.1-8b-instruct.json").read_text(encoding="utf-8"))
    engine = ENGINES["vLLM 0.20"]
    work = Work(arch, "bf16", storage(engine, find_kv_format("bf16")), Layout())
    known = {"usable": 23.58 * GIB, "weights": 14.9888 * GIB, "activations": 2.07 * GIB, "runtime": 0.35 * GIB}
    found = budget(work, find_device("RTX 3090"), engine, utilization=0.9, seqs=256, step_tokens=20000,
                   request_tokens=20000, known=known)  # fmt: skip
    assert found.pool_tokens % 16 == 0
    assert abs(found.pool_tokens - 31232) <= 0.02 * GIB / 131072


@pytest.mark.parametrize(
    ("config", "seqs", "tokens", "logged"),
    [("llama/llama-3.1-8b-instruct.json", 1024, 8192, 4.76), ("qwen3/Qwen--Qwen3-32B.json", 1024, 8192, 5.64),
     ("gpt_oss/openai--gpt-oss-120b.json", 1024, 8192, 7.38), ("qwen2/qwen2.5-7b-instruct.json", 256, 32768, 4.35),
     ("qwen2/Qwen--Qwen2.5-1.5B-Instruct.json", 256, 32768, 2.02)],
)  # fmt: skip
def test_activation_peak(config, seqs, tokens, logged):
    """The sampler's warm-up or one whole step, whichever is larger, is the logged peak within 2 %."""
    arch = read_config((CONFIGS / config).read_text(encoding="utf-8"))
    assert activation_bytes(arch, ENGINES["vLLM"], seqs, tokens, 1) / GIB == pytest.approx(logged, rel=0.02)


@pytest.mark.parametrize(("device", "seen"), [("H100 SXM", 79.2), ("A10G", 22.06)])
def test_memory_an_engine_sees(device, seen):
    """An engine sees a little less than the device's tool shows."""
    found = find_device(device)
    assert (found.memory_bytes_usable - unseen_bytes(found)) / GIB == pytest.approx(seen, abs=0.15)


def test_default_sequences_follow_the_device():
    """VLLM admits 1,024 requests on devices of 70 GiB and more but an A100, 256 on others."""
    for engine in (ENGINES["vLLM"], ENGINES["vLLM 0.20"]):
        found = [engine.max_num_seqs(find_device(d)) for d in ("H100 SXM", "a100-80gb-sxm", "RTX 4090")]
        assert found == [1024, 256, 256]
