import json
import math

import pytest

from planner.errors import PlannerError
from planner.validate import CONFIGS, published, validate
from planner.validate.case import read_case
from planner.validate.names import engine_of, group_of, kv_of, version_of, weights_of

ROW = {
    "id": "X1", "kind": "decode_single", "config": "llama/Meta-Llama-3-8B-Instruct.json", "device_id": "rtx-4090",
    "device": "RTX 4090 24GB", "weight_dtype": "Q4_K_M", "kv_dtype": "f16", "n_devices": "1", "tp": "1",
    "engine": "llama.cpp CUDA", "engine_version": "2024-05", "batch": "1", "prompt_len": "0", "output_len": "512",
    "metric": "tg512", "value": "130", "unit": "tok/s",
}  # fmt: skip


@pytest.fixture(scope="module")
def result():
    return validate(published())


def one(**changes):
    return validate([{**ROW, **changes}])["rows"][0]


def test_every_row_is_predicted_or_has_a_reason(result):
    """Each published row comes back in order, with a finite prediction or with the reason why there is none."""
    rows = published()
    assert [r["id"] for r in result["rows"]] == [r["id"] for r in rows]
    for row in result["rows"]:
        if "skipped" in row:
            assert row["skipped"] and "predicted" not in row
        else:
            assert math.isfinite(row["predicted"]) and row["predicted"] > 0
            assert row["error"] == pytest.approx(row["predicted"] / row["measured"] - 1)


def test_result_is_plain_json(result):
    """The whole result can be written as JSON, without numpy numbers or infinities."""
    json.dumps(result, allow_nan=False)


def test_nothing_is_above_the_ceiling(result):
    """No published row beats its bound but those marked suspect, which are skipped and named."""
    assert sum(s["above_ceiling"] for s in result["summary"]) == 0
    suspects = [r for r in result["rows"] if r.get("skipped", "").startswith("suspect")]
    assert len(suspects) >= 5


@pytest.mark.parametrize(
    ("kind", "metric", "unit"), [("decode_single", "tpot", "ms"), ("prefill", "ttft_s->pp512", "s")]
)
def test_a_rate_given_as_a_time_counts_as_a_time(kind, metric, unit):
    """Figures come back in the row's own unit: a time below the floor is past the bound, one above it is not."""
    row = {**ROW, "kind": kind, "metric": metric, "unit": unit, "prompt_len": "512", "output_len": "128"}
    floor = validate([{**row, "value": "1"}])["rows"][0]["ceiling"]
    for share, past in ((0.5, 1), (2.0, 0)):
        found = validate([{**row, "value": str(share * floor)}])
        assert found["rows"][0]["measured"] == pytest.approx(share * floor)
        assert found["rows"][0]["ceiling"] == pytest.approx(floor)
        assert found["rows"][0]["predicted_low"] <= found["rows"][0]["predicted"] <= found["rows"][0]["predicted_high"]
        assert found["summary"][0]["above_ceiling"] == past


def test_summary_counts_every_row(result):
    """Rows of the summary add up to the rows of the file, predicted and skipped."""
    assert sum(s["n"] + s["skipped"] for s in result["summary"]) == len(result["rows"])


def test_band_holds_the_prediction_and_stays_below_the_ceiling(result):
    """Low, middle and high are in order, and none is better than the bound."""
    unit = {r["id"]: r["unit"] for r in published()}
    for row in result["rows"]:
        if row.get("predicted_low") is None:
            continue
        assert row["predicted_low"] <= row["predicted"] <= row["predicted_high"]
        if unit[row["id"]] == "tok/s":
            assert row["predicted_high"] <= row["ceiling"] * (1 + 1e-9)
        else:
            assert row["predicted_low"] >= row["ceiling"] * (1 - 1e-9)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"config": ""}, "no config"),
        ({"config": "llama/nobody.json"}, "no config"),
        ({"config": "../../pyproject.toml"}, "no config"),
        ({"device_id": "", "device": "Toaster"}, "no device"),
        ({"engine": "toastserver"}, "engine toastserver"),
        ({"engine": ""}, "engine (blank)"),
        ({"weight_dtype": "Q99"}, "weight_dtype Q99"),
        ({"kv_dtype": "int1"}, "kv_dtype int1"),
        ({"metric": "joy"}, "metric joy"),
        ({"kind": "joy"}, "kind joy"),
        ({"kind": "kernel"}, "kernel"),
        ({"value": ""}, "no measured value"),
        ({"value": "nan"}, "no measured value"),
        ({"value": "-3"}, "no measured value"),
        ({"suspect": "above the roofline"}, "suspect"),
        ({"kind": "serving_latency", "metric": "tpot_ms", "unit": "furlong"}, "unit furlong"),
        ({"kind": "serving_latency", "metric": "p99_tpot_ms", "unit": "ms"}, "percentile"),
        ({"kind": "serving_latency", "metric": "ttft_p90_ms", "unit": "ms"}, "percentile"),
        ({"unit": "furlong"}, "unit furlong"),
        ({"kind": "batch_throughput", "metric": "output_tok_s", "unit": "ms"}, "unit ms"),
        ({"value": "abc"}, "no measured value"),
        ({"n_devices": "abc"}, "n_devices is abc"),
        ({"n_devices": "-1"}, "n_devices is -1"),
        ({"n_devices": "0"}, "n_devices is 0"),
        ({"n_devices": "1.5"}, "n_devices is 1.5"),
        ({"tp": "-1"}, "tp is -1"),
        ({"tp": "64", "n_devices": "8"}, "more than the n_devices of 8"),
        ({"batch": "abc"}, "batch is abc"),
        ({"batch": "-1"}, "batch is -1"),
        ({"weight_gib": "abc"}, "weight_gib is abc"),
        ({"prompt_len": "-5"}, "prompt_len is -5"),
        ({"config": "a\0b"}, "no config"),
        ({"config": "x" * 5000}, "no config"),
    ],
)
def test_what_cannot_be_predicted_is_skipped_with_its_reason(changes, reason):
    """Each thing that is missing or unknown is said, and nothing raises."""
    assert reason in one(**changes)["skipped"]


@pytest.mark.parametrize("unit", ["tok/s", "tokens/s", "t/s", "tok/s/user", "Tokens/s"])
def test_units_of_rates(unit):
    """Usual spellings of tokens per second are one unit for a single sequence."""
    assert one(unit=unit) == one()


def test_figures_in_other_units_are_converted():
    """Requests per second, tokens per second per user and tokens per second of one batch have the same error."""
    batch = {"kind": "batch_throughput", "metric": "output_throughput", "batch": "4", "prompt_len": "100"}
    rows = [one(**batch, value="256", unit="tok/s"), one(**batch, value="64", unit="tok/s/user"),
            one(**batch, value="0.5", unit="req/s")]  # fmt: skip
    assert [r["error"] for r in rows] == pytest.approx([rows[0]["error"]] * 3)
    assert [r["measured"] for r in rows] == pytest.approx([256, 64, 0.5])


@pytest.mark.parametrize("batch", ["", "max (infinite rate)", "saturated"])
def test_a_saturated_server_has_no_batch(batch):
    """A blank batch and words for a full server stand for a server under any load."""
    row = {**ROW, "kind": "batch_throughput", "metric": "output_throughput", "batch": batch, "prompt_len": "100"}
    assert read_case(row, CONFIGS).quantity == "saturated_rate"


def test_the_median_is_no_tail():
    """A p50 is compared as the middle that it is, and llama-bench's pp512 is no percentile."""
    latency = {"kind": "serving_latency", "unit": "ms", "prompt_len": "100"}
    assert "skipped" not in one(**latency, metric="p50_tpot_ms")
    assert "skipped" not in one(kind="prefill", metric="pp512")


def test_a_file_of_something_else_is_refused():
    """Rows without the columns of a measurement raise one sentence that says what was expected."""
    with pytest.raises(PlannerError, match="kind, metric and value"):
        validate([{"a": 1}])


def test_no_rows_give_an_empty_result():
    """An empty file is no error."""
    assert validate([]) == {"rows": [], "summary": []}


def test_numbers_may_come_as_numbers():
    """Rows read by a data frame, with numbers and not-a-number for blanks, give the same as texts."""
    columns = ("value", "tp", "n_devices", "prompt_len", "output_len")
    numbers = {k: float(v) if k in columns else v for k, v in ROW.items()}
    assert validate([{**numbers, "pp": math.nan, "suspect": math.nan}])["rows"][0] == one()


@pytest.mark.parametrize("spelling", ["Q4_K_M", "q4_k_m", "Q4_K - Medium", "Q4_K_S"])
def test_gguf_spellings(spelling):
    """Spellings of a 4-bit K mix are the same format."""
    assert "skipped" not in one(weight_dtype=spelling)


@pytest.mark.parametrize(
    ("text", "engine", "expected"),
    [
        ("BF16", "vLLM", "bf16"), ("F16", "llama.cpp", "bf16"), ("float32", "vLLM", "fp32"), ("AWQ", "vLLM", "int4"),
        ("GPTQ-Int4", "vLLM", "int4"), ("FP8", "vLLM", "fp8"), ("fp8 (gemm fp8, moe fp8_block)", "SGLang", "fp8-block"),
        ("NVFP4", "TensorRT-LLM", "nvfp4"), ("fp4 (gemm nvfp4, moe nvfp4)", "vLLM", "nvfp4"),
        ("MXFP4", "vLLM", "mxfp4"), ("MXFP4", "llama.cpp", "mxfp4-gguf"), ("INT8", "vLLM", "int8"),
        ("int4", "llama.cpp", "Q4_K_M"),
        ("EXL2 4.0bpw", "vLLM", None), ("", "vLLM", None), ("BF16 (assumed: the source states none)", "vLLM", "bf16"),
    ],
)  # fmt: skip
def test_weight_types(text, engine, expected):
    """Every way of writing a weight type that sources use is read, and unknown ones are not guessed."""
    arch = read_case(ROW, CONFIGS).arch
    assert weights_of(text, arch, engine_of(engine)) == expected


def test_quantized_checkpoint_is_loaded_as_it_is():
    """A checkpoint that is quantized itself stays so, whatever kernels a source lists; an explicit 16 bit wins."""
    arch = read_case({**ROW, "config": "gpt_oss/openai--gpt-oss-120b.json"}, CONFIGS).arch
    assert weights_of("fp4 (gemm nvfp4, moe nvfp4)", arch, engine_of("vllm")) == "checkpoint"
    assert weights_of("BF16", arch, engine_of("vllm")) == "bf16"


def test_engines_are_summed_up_under_one_spelling():
    """Spellings and versions of an engine are one group, its backends several; the unknown are told apart by name."""
    assert group_of("vllm") == group_of("vLLM") == "vLLM"
    assert group_of("Nvidia TensorRT-LLM") == group_of("trtllm") == "TensorRT-LLM"
    assert group_of("llama.cpp CUDA") == "llama.cpp CUDA" and group_of("llama.cpp") == "llama.cpp"
    engines = ["vllm", "vLLM", "llama.cpp CUDA", "llama.cpp Metal", "Toastserver", "toastserver", ""]
    found = validate([{**ROW, "engine": engine} for engine in engines], CONFIGS)["summary"]
    counts = {s["engine"]: s["n"] + s["skipped"] for s in found}
    assert counts == {"vLLM": 2, "llama.cpp CUDA": 1, "llama.cpp Metal": 1, "Toastserver": 2, "": 1}


def test_engine_names_and_versions():
    """Engines are known by their usual spellings; vLLM before 0.21 is the version that keeps window pages."""
    assert version_of("0.8.5 V0") == (0, 8) and version_of("b6761") is None
    assert engine_of("llama.cpp Metal").name == engine_of("Ollama").name == "llama.cpp"
    assert engine_of("trtllm").name == engine_of("Nvidia TensorRT-LLM").name == "TensorRT-LLM"
    assert engine_of("lmdeploy turbomind").name == "LMDeploy"
    assert engine_of("vllm", "0.18.0").name == "vLLM 0.20" and engine_of("vLLM", "0.26.1rc1").name == "vLLM"
    assert engine_of("DeepSpeed-MII") is None


def test_kv_types():
    """A blank KV type follows the checkpoint, else is 16 bit; TensorRT-LLM's FP8 checkpoints quantize it."""
    arch, trt = read_case(ROW, CONFIGS).arch, engine_of("trtllm")
    assert kv_of("", arch, "bf16", trt).bytes_per_element == 2
    assert kv_of("", arch, "fp8", trt).bytes_per_element == 1
    assert kv_of("fp8 (ModelOpt default, not stated)", arch, "bf16", trt).bytes_per_element == 1
    assert kv_of("auto", arch, "bf16", engine_of("vllm")).bytes_per_element == 2


def test_layer_split_gives_one_sequence_the_speed_of_one_device():
    """Four devices with layers dealt out decode one sequence hardly faster than one, tensor parallel ones do."""
    alone, split = one()["predicted"], one(n_devices="4")["predicted"]
    assert split == pytest.approx(alone, rel=0.02)


def test_units_are_made_equal():
    """The same time in seconds and in milliseconds is the same error."""
    serving = {"kind": "serving_latency", "engine": "vllm", "metric": "tpot_ms", "weight_dtype": "BF16",
               "device_id": "h100-sxm", "device": "", "batch": "8", "prompt_len": "1024"}  # fmt: skip
    ms, s = one(**serving, unit="ms", value="20"), one(**serving, unit="s", value="0.02")
    assert ms["error"] == pytest.approx(s["error"])


def test_latency_with_prefill_inside_is_slower_than_decode_alone():
    """Output over the whole latency counts the prompt too, so it is below the rate of the further tokens."""
    with_prompt = one(metric="out_tok/latency", prompt_len="4096")["predicted"]
    assert with_prompt < one(metric="tok/s", prompt_len="4096")["predicted"]


def test_a_mixture_is_bounded_by_the_experts_of_one_token():
    """Uniform routing would wake more experts, skewed routing may not: the bound of a batch counts k experts."""
    row = {"config": "mixtral/Mixtral-8x7B-Instruct-v0.1.json", "weight_dtype": "bf16", "engine": "vLLM", "tp": "2",
           "n_devices": "2", "device_id": "h100-sxm", "device": "", "kind": "serving_latency", "metric": "itl_ms",
           "unit": "ms", "prompt_len": "64", "value": "20"}  # fmt: skip
    few, many = one(**row, batch="1"), one(**row, batch="32")
    assert many["ceiling"] <= few["ceiling"] * 1.05
    assert many["predicted"] > few["predicted"]


@pytest.mark.parametrize(
    ("cells", "reason"),
    [({"device_id": "no-such-device"}, "no-such-device"), ({"n_devices": "1000000", "tp": "1000000"}, "up to 256")],
)
def test_a_row_of_a_system_that_cannot_be_is_skipped(cells, reason):
    """An unknown device_id is not replaced by a name beside it, and no copy has a million devices."""
    assert reason in one(**cells)["skipped"]
