from dataclasses import replace

import numpy as np
import pytest

from planner.architecture import read_config
from planner.devices import custom_device, find_device
from planner.efficiency import calibrated, device_class, expectation
from planner.efficiency.expect import MIXTURE_PREFILL
from planner.efficiency.table import TABLE
from planner.engines import ENGINES
from planner.layout import Layout
from planner.precision import find_kv_format
from planner.roofline import Machine, decode_step, prefill_time
from planner.storage import storage
from planner.validate import CONFIGS
from planner.validate.predict import seconds
from planner.work import Work
from tests.evidence import evidence
from tools.evidence import report
from tools.evidence.fit import NAMES, fit
from tools.evidence.fit import seconds as seconds_of
from tools.evidence.model import predicted
from tools.evidence.table import FEW, inside, runs, text_of

ALONE = Layout()


def of(config: str, weights: str, engine: str, layout: Layout = ALONE) -> Work:
    arch = read_config((CONFIGS / config).read_text(encoding="utf-8"))
    return Work(arch, weights, storage(ENGINES[engine], find_kv_format("bf16")), layout)


LLAMA = "llama/Meta-Llama-3-8B-Instruct.json"
MIXTURE = "mixtral/Mixtral-8x7B-Instruct-v0.1.json"


def width(band: tuple[float, float]) -> float:
    return band[1] / band[0]


def test_table_is_what_the_script_gives():
    """data/efficiency.csv is what the script makes of the measurements, the devices and the configs.

    Numbers within a thousandth: linear algebra differs in the last digits between machines.
    """
    _, models, left = evidence()
    new, old = text_of(models, left).splitlines(), TABLE.read_text(encoding="utf-8").splitlines()
    assert len(new) == len(old)
    for a, b in zip(new, old, strict=True):
        cells, kept = a.split(","), b.split(",")
        assert cells[:5] == kept[:5] and cells[8:] == kept[8:]
        for x, y in zip(cells[5:8], kept[5:8], strict=True):
            assert x == y or float(x) == pytest.approx(float(y), rel=1e-3)


def test_fit_and_planner_predict_alike():
    """The arithmetic of the fit gives the same seconds as the planner's own path from device, engine and work."""
    x, models, _ = evidence()
    fitted = predicted(models.whole, x)
    for i in range(0, len(x), 37):
        case = x.cases[i]
        found = expectation(case.device, case.engine, case.work, case.year)
        assert seconds(case, found.decode, found.prefill) == pytest.approx(fitted[i], rel=0.02), case.id


def test_decode_of_one_sequence_with_its_device_left_out():
    """On 592 rows of mainstream engines: median error at most 7.5 %, p90 at most 23 %, 70 to 90 % inside the band."""
    x, _, left = evidence()
    main = report.mainstream(x)
    error = np.abs(report.errors(x, left))[main]
    assert len(error) == 592
    assert np.median(error) <= 0.075
    assert np.quantile(error, 0.9) <= 0.23
    assert 0.70 <= inside(x, left)[main].mean() <= 0.90


def test_serving_with_its_device_left_out():
    """Time per output token of 270 dense rows: mean error at most 13 %; at most 9 % with two rows to calibrate."""
    x, models, left = evidence()
    dense = (x.quantity == "tpot") & ~x.mixture
    assert dense.sum() == 270
    assert np.abs(report.errors(x, left))[dense].mean() <= 0.13
    assert np.abs(report.calibrated_errors(x, models)).mean() <= 0.09


def test_expectation_is_at_or_below_the_ceiling():
    """Shares lie in 0 to 1 and overheads are not negative, for every group of the table."""
    for line in TABLE.read_text(encoding="utf-8").splitlines()[1:]:
        parameter, value = line.split(",")[3], float(line.split(",")[5])
        assert value > 0
        if parameter in ("memory", "compute"):
            assert value <= 1


@pytest.mark.parametrize(
    ("device", "engine", "config", "weights", "lacks"),
    [
        ("RTX 4090", "llama.cpp", LLAMA, "Q4_K_M", ""),
        ("Arc A770", "llama.cpp", LLAMA, "Q4_K_M", "Intel"),
        ("RTX 4090", "llama.cpp", MIXTURE, "Q4_K_M", "mixtures"),
        ("RTX 4090", "vLLM", LLAMA, "bf16", "GeForce"),
    ],
)
def test_missing_evidence_is_named_and_widens_the_band(device, engine, config, weights, lacks):
    """What differs from the question is named, and the band is wider than that of the evidence itself."""
    found = expectation(find_device(device), ENGINES[engine], of(config, weights, engine))
    assert lacks in found.nearest
    if not lacks:
        assert found.nearest == ""
    else:
        group = expectation(find_device("RTX 4090" if engine == "llama.cpp" else "H100 SXM"), ENGINES[engine],
                            of(LLAMA, "bf16" if engine == "vLLM" else "Q4_K_M", engine))  # fmt: skip
        assert width(found.decode_band) > width(group.decode_band)


def test_typed_in_device_has_a_wider_band():
    """A device typed in by hand is taken as its nearest class, and says so."""
    typed = custom_device("Card", 24, 1000, 160)
    work = of(LLAMA, "Q4_K_M", "llama.cpp")
    found, like = (expectation(d, ENGINES["llama.cpp"], work) for d in (typed, find_device("RTX 6000 Ada")))
    assert device_class(typed) == "workstation"
    assert found.nearest == "no measurements of your device"
    assert width(found.decode_band) > width(like.decode_band)


@pytest.mark.parametrize("device", ["H100 SXM", "RTX 5090", "apple-m4-max", "mi300x", "dgx-spark-gb10", "tpu-v5e",
                                    "epyc-9654", "arc-b580", "rx-7900-xtx", "jetson-orin-nano-8gb-super"])  # fmt: skip
def test_every_device_class_has_an_expectation(device):
    """Every engine on every class of device, dense or mixture, gives finite shares and a band around 1."""
    for engine in ENGINES.values():
        weights = "Q4_K_M" if "gguf" in engine.formats else "bf16"
        for config in (LLAMA, MIXTURE):
            found = expectation(find_device(device), engine, of(config, weights, engine.name))
            assert 0 < found.decode.memory <= 1 and 0 < found.prefill.compute <= 1
            assert found.decode_band[0] < 1 < found.decode_band[1]
            assert found.prefill_band[0] < 1 < found.prefill_band[1]
            assert found.rows > 0 and str(found.rows) in found.basis


def test_small_models_are_further_from_the_bandwidth():
    """The cost per layer is fixed, so four bits reach a smaller share of the bandwidth than sixteen."""
    device, engine = find_device("RTX 4090"), ENGINES["llama.cpp"]
    shares = []
    for weights in ("fp16", "Q4_K_M"):
        work = of(LLAMA, weights, "llama.cpp")
        machine = Machine.of(device, work, engine)
        over = expectation(device, engine, work).decode
        shares.append(float(decode_step(work, machine, 1, 0) / decode_step(work, machine, 1, 0, over)))
    assert shares[1] < shares[0] < 1


def test_calibration_meets_the_measurement():
    """With measured over expected time as factors, the calibrated expectation gives the measured times."""
    device, engine, work = find_device("H100 SXM"), ENGINES["vLLM"], of(LLAMA, "bf16", "vLLM", Layout(2))
    machine = Machine.of(device, work, engine)
    base = expectation(device, engine, work)
    measured_step, measured_prompt = 0.0123, 0.456
    step = float(decode_step(work, machine, 8, 1000, base.decode))
    prompt = float(prefill_time(work, machine, 4096, 0, base.prefill))
    found = calibrated(base, measured_step / step, measured_prompt / prompt, "a benchmark")
    assert float(decode_step(work, machine, 8, 1000, found.decode)) == pytest.approx(measured_step)
    assert float(prefill_time(work, machine, 4096, 0, found.prefill)) == pytest.approx(measured_prompt)
    assert found.calibrated and "a benchmark" in found.basis


def test_calibration_of_nothing_changes_nothing():
    """Without a measurement the expectation stays what it was."""
    base = expectation(find_device("H100 SXM"), ENGINES["vLLM"], of(LLAMA, "bf16", "vLLM"))
    assert calibrated(base, None, None, None) is base


def test_row_ids_are_drawn_together():
    """Consecutive row ids stand as a range, others by themselves."""
    assert runs(["D00002", "D00001", "P00009", "D00003", "D00007"]) == "D00001-D00003 D00007 P00009"


def test_parameter_names_are_unique():
    """Each parameter of the fit has one place."""
    assert len(set(NAMES)) == len(NAMES)


def test_a_fitted_prior_outweighs_a_few_rows_and_gives_way_to_many():
    """Rows twice as slow as their class pull a group's parameters the further, the more of them there are."""
    x, models, _ = evidence()
    group = x.take((x.engine == "vLLM") & (x.group == "datacentre") & ~x.mixture & (x.quantity == "tpot"))
    prior = models.whole.fit(("datacentre", "servers", "dense")).values
    slow = replace(group, measured=2 * group.measured)
    few, many = (slow.take(np.arange(len(slow)) % step == 0) for step in (50, 1))
    free = ("memory 16-bit", "memory 8-bit", "layer_s", "step_s")
    held, loose = (fit(few, prior, free, fitted).values for fitted in (True, False))
    pulled = fit(many, prior, free, True).values
    moved = [float(np.mean(np.log(seconds_of(slow, p) / seconds_of(slow, prior)))) for p in (held, loose, pulled)]
    assert 0 < moved[0] < moved[1]
    assert moved[0] < moved[2]


def test_bands_of_few_devices_are_even():
    """Where up to three devices were measured, the band reaches as far up as down."""
    _, models, left = evidence()
    rows = [line.split(",") for line in text_of(models, left).splitlines() if "_band" in line]
    for row in rows:
        low, high, devices = float(row[6]), float(row[7]), int(row[9])
        assert low <= 1 <= high
        assert not 1 < devices <= FEW or low * high == pytest.approx(1, rel=1e-2)


def test_coverage_of_the_bands_with_each_device_left_out():
    """Between 70 % and 95 % of the measured values lie in the band of a device that had no part in it, kind by kind."""
    x, _, left = evidence()
    held = inside(x, left)
    for kind in (report.mainstream(x), (x.quantity == "tpot") & ~x.mixture, (x.quantity == "tpot") & x.mixture,
                 x.quantity == "prefill_rate", x.quantity == "batch_rate"):  # fmt: skip
        assert 0.7 <= np.mean(held[kind]) <= 0.95


def test_boxes_with_unified_memory_are_sorted_by_their_chip():
    """DGX Spark and Jetson follow NVIDIA's GPUs, Strix Halo does not: their prefill differs by several times."""
    found = [device_class(find_device(name)) for name in ("DGX Spark", "ryzen-ai-max-395")]
    assert found == ["nvidia_unified", "unified"]
    work, engine = of(LLAMA, "Q4_0", "llama.cpp"), ENGINES["llama.cpp"]
    spark, strix = (expectation(find_device(n), engine, work).prefill for n in ("DGX Spark", "ryzen-ai-max-395"))
    assert spark.compute > 2 * strix.compute


def test_cards_before_ampere_gain_nothing_from_newer_builds():
    """Without captured graphs, a layer costs what it cost in 2024."""
    work, engine = of(LLAMA, "Q8_0", "llama.cpp"), ENGINES["llama.cpp"]
    for name, gains in (("GTX 1080 Ti", False), ("RTX 4090", True)):
        today, before = (expectation(find_device(name), engine, work, year).decode for year in (None, 2024))
        assert (today.layer_s < before.layer_s) is gains


def test_mixtures_without_rows_of_their_own_prefill_slower_than_dense_models():
    """Taken from dense models, a mixture reaches less of the peak in prefill, and it says where that is from."""
    device, engine = find_device("RTX 4090"), ENGINES["llama.cpp"]
    dense, mixture = (expectation(device, engine, of(c, "Q4_K_M", "llama.cpp")) for c in (LLAMA, MIXTURE))
    assert mixture.prefill.compute == pytest.approx(MIXTURE_PREFILL * dense.prefill.compute)
    assert mixture.decode.memory == dense.decode.memory
    assert mixture.nearest.endswith("only of dense models")
