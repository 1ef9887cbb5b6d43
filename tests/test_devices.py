"""The device table and everything that makes a `Device`."""

import csv
import math
import pickle
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.devices import (
    COMPUTE_FALLBACKS,
    Device,
    DeviceError,
    custom_device,
    find_device,
    load_devices,
    measured_device,
    prices,
    short_label,
)
from planner.devices.table import GIB, PEAK_COLUMNS, read_device
from planner.errors import PlannerError

DATA = Path(__file__).resolve().parents[1] / "data"
ROWS = list(csv.DictReader((DATA / "devices.csv").read_text(encoding="utf-8").splitlines()))
DEVICES = load_devices()
NUMBERS = [
    "memory_gb",
    "memory_gib_usable",
    "bandwidth_gb_s",
    "bandwidth_calc_gb_s",
    "measured_bw_fraction",
    *PEAK_COLUMNS.values(),
    "interconnect_gb_s_bidir",
    "pcie_gb_s_per_dir",
    "tdp_w",
    "price_usd_per_hour",
]

# Figures that vendors print with sparsity (or with FP16 accumulation), in TFLOP/s: none may stand in a dense column.
SPARSE = {
    "h100-sxm": {"fp16": 1979, "bf16": 1979, "fp8": 3958, "int8": 3958},
    "h100-pcie": {"fp16": 1513, "bf16": 1513, "fp8": 3026},
    "l40s": {"fp16": 733, "bf16": 733, "fp8": 1466},
    "l4": {"fp16": 242, "bf16": 242, "fp8": 485},
    "a10": {"fp16": 250, "bf16": 250},
    "a10g": {"fp16": 140, "bf16": 140},
    "rtx-4090": {"fp16": 330.4, "bf16": 330.4, "fp8": 660.6},
    "rtx-5090": {"fp16": 419, "bf16": 419, "fp4": 3352},
    "b200": {"fp4": 18000, "fp8": 9000},
    "jetson-orin-nano-8gb-super": {"int8": 67},
    "jetson-thor-t5000": {"fp4": 2070},
    "dgx-spark-gb10": {"fp4": 1000},
    "rx-9070-xt": {"int8": 779},
    "trainium2": {"bf16": 2563, "fp16": 2563},
}


def device(name: str) -> Device:
    return find_device(name)


def test_table_is_whole() -> None:
    """Every row of the file becomes one device, with an id and a label of its own."""
    assert len(DEVICES) == len(ROWS) >= 120
    assert len({d.id for d in DEVICES}) == len(DEVICES)
    assert len({short_label(d).casefold() for d in DEVICES}) == len(DEVICES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_cells_are_numbers(row: dict[str, str]) -> None:
    """Each numeric cell is empty or a positive finite number; an unknown figure is never 0."""
    for column in [*NUMBERS, "year", "typical_devices_per_node"]:
        assert row[column] == "" or (math.isfinite(float(row[column])) and float(row[column]) > 0), column


@pytest.mark.parametrize("d", DEVICES, ids=lambda d: d.id)
def test_si_units(d: Device) -> None:
    """Values lie where bytes, bytes/s, FLOP/s and W must lie, so that no unit was mixed up."""
    assert 4 * GIB <= d.memory_bytes_usable <= 2000 * GIB
    assert 30e9 < d.bandwidth < 100e12
    assert all(0.5e12 < rate < 100e15 for rate in d.peaks.values())
    assert d.pcie_bytes_per_s is None or d.pcie_bytes_per_s in (16e9, 32e9, 64e9, 128e9)
    assert d.interconnect_bytes_per_s is None or 30e9 <= d.interconnect_bytes_per_s <= 2e12
    assert d.tdp_w is None or 5 <= d.tdp_w <= 5000
    assert d.memory_unit == "GiB"


@pytest.mark.parametrize("d", [d for d in DEVICES if d.bandwidth_calc], ids=lambda d: d.id)
def test_bandwidth_agrees_with_the_bus(d: Device) -> None:
    """Printed bandwidth is within 3 % of bus width x transfer rate, and the ceiling takes the larger."""
    assert d.bandwidth_calc is not None
    assert abs(d.bandwidth / d.bandwidth_calc - 1) < 0.03
    assert d.ceiling_bandwidth == max(d.bandwidth, d.bandwidth_calc)


@pytest.mark.parametrize(("device_id", "figures"), SPARSE.items(), ids=SPARSE)
def test_no_sparse_figure_in_a_dense_column(device_id: str, figures: dict[str, float]) -> None:
    """The known with-sparsity figures of this device stand in none of its dense columns."""
    peaks = device(device_id).peaks
    for kind, sparse in figures.items():
        assert kind not in peaks or peaks[kind] < 0.75 * sparse * 1e12, kind


@pytest.mark.parametrize("d", DEVICES, ids=lambda d: d.id)
def test_ratios_between_types(d: Device) -> None:
    """FP16 and BF16 agree, TF32 is at most half of them, 8 bit is 1 to 2 times 16 bit, 4 bit at most 4 times."""
    fp16, bf16 = d.peaks.get("fp16"), d.peaks.get("bf16")
    wide = bf16 or fp16
    if d.vendor == "NVIDIA" and fp16 and bf16:
        assert fp16 == bf16
    if wide is None:
        return
    half_rate = "half rate" in d.fp16_accumulate
    slack = 1.02  # vendors round each figure on its own
    if "tf32" in d.peaks and d.vendor == "NVIDIA":
        # B100 is printed as 0.9 of 1.75 PFLOP/s: two figures rounded apart from each other.
        assert d.peaks["tf32"] <= wide * (1.0 if half_rate else 0.52) * slack
    if "fp32" in d.peaks and d.kind != "cpu":
        assert d.peaks["fp32"] <= wide * slack
    if "fp8" in d.peaks and not d.announced:
        assert wide / slack <= d.peaks["fp8"] <= (2 if d.vendor != "AWS" else 4) * wide * slack
    if "int8" in d.peaks and d.arch not in ("Blackwell Ultra", "Rubin"):
        widest = 4 if half_rate or d.kind == "cpu" or d.vendor == "Qualcomm" else 2
        assert wide / slack <= d.peaks["int8"] <= widest * wide * slack
    if "fp4" in d.peaks and not d.announced:
        assert d.peaks["fp4"] <= (8 if half_rate or d.arch == "Blackwell Ultra" else 4) * wide * slack


def test_geforce_runs_fp32_accumulation_at_half_rate() -> None:
    """The same die gives a GeForce half the 16-bit rate of the workstation part, but its full INT8."""
    geforce, workstation = device("rtx-4090"), device("rtx-6000-ada")
    assert geforce.peaks["fp16"] / workstation.peaks["fp16"] == pytest.approx(0.5, rel=0.1)
    assert geforce.peaks["int8"] / geforce.peaks["fp16"] == pytest.approx(4, rel=0.01)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["id"])
def test_each_number_has_its_source(row: dict[str, str]) -> None:
    """Each filled number has a source row with the same value; size, bandwidth and rates are never unsourced."""
    sources = device(row["id"]).sources
    for column in (column for column in NUMBERS if row[column]):
        assert float(sources[column].value) == float(row[column]), column
        assert sources[column].source and sources[column].confidence, column
        if column in {"memory_gb", "memory_gib_usable", "bandwidth_gb_s", *PEAK_COLUMNS.values()}:
            assert sources[column].confidence != "unsourced", column


def test_prices_are_quotes() -> None:
    """Each price in the table is one of the collected quotes, with provider and source; the undated ones are known."""
    quotes = {(quote.device_id, quote.usd_per_hour, quote.date) for quote in prices()}
    priced = [d for d in DEVICES if d.price_usd_per_hour is not None]
    assert len(priced) >= 39
    for d in priced:
        assert (d.id, d.price_usd_per_hour, d.price_date) in quotes
        assert d.price_provider and d.price_source
    assert {d.id for d in priced if d.price_date is None} == {"tpu-v5p", "inferentia2", "trainium1"}


def test_eighty_gb_is_what_the_tool_reports() -> None:
    """An "80 GB" H100 offers the 79.65 GiB that nvidia-smi shows, not 80e9 bytes."""
    h100 = device("h100-sxm")
    assert h100.memory_bytes_usable == 79.65 * GIB
    assert not h100.memory_derived


def test_missing_memory_is_derived_and_marked() -> None:
    """A blank usable size follows the median of the same vendor and kind, and Apple's rule by size."""
    l40 = device("l40")
    assert l40.memory_derived
    assert 0.93 * 48 * GIB < l40.memory_bytes_usable < 48 * GIB
    assert device("apple-m1").memory_bytes_usable == pytest.approx(16 * GIB * 2 / 3)
    assert device("apple-m4-max").memory_bytes_usable == pytest.approx(128 * GIB * 3 / 4)


@pytest.mark.parametrize(
    ("name", "compute", "tflops", "runs_at"),
    [
        ("a100-80gb-sxm", "fp8", 312, "bf16"),
        ("a100-80gb-sxm", "int8", 624, "int8"),
        ("h100-sxm", "fp8", 1978.9, "fp8"),
        ("h100-sxm", "fp4", 989.4, "bf16"),
        ("b200", "fp4", 9000, "fp4"),
        ("t4", "bf16", 65, "fp16"),
        ("epyc-7763", "bf16", 5.02, "fp32"),
        ("xeon-8480plus", "fp16", 114.7, "bf16"),
        ("tpu-v4", "fp32", 275, "bf16"),
        ("gtx-1080-ti", "fp16", 11.34, "fp32"),
    ],
)
def test_peak_falls_back_to_what_really_runs(name: str, compute: str, tflops: float, runs_at: str) -> None:
    """Without a unit for a type the rate of the type that really runs applies, and its name is told."""
    assert device(name).peak(compute) == (pytest.approx(tflops * 1e12), runs_at)


@pytest.mark.parametrize("compute", COMPUTE_FALLBACKS)
def test_every_device_can_compute(compute: str) -> None:
    """Every device of the table has a rate for every compute type."""
    assert all(d.peak(compute)[0] > 0 for d in DEVICES)


def test_unknown_compute_type_is_refused() -> None:
    """A type that does not exist is named together with those that do."""
    with pytest.raises(DeviceError, match=r'"fp7".*fp8'):
        device("l4").peak("fp7")


def test_link_to_its_own_host_is_no_peer_link() -> None:
    """NVLink-C2C joins a GPU to its Grace processor, so two GH200 are not joined by it; halves count one direction."""
    assert device("gh200-96gb").interconnect_bytes_per_s is None
    assert device("h100-sxm").interconnect_bytes_per_s == 450e9


@pytest.mark.parametrize("d", DEVICES, ids=lambda d: d.id)
def test_found_by_every_name(d: Device) -> None:
    """Id, name and label find the device, whatever the case and spaces."""
    for name in (d.id, d.name, short_label(d), d.name.upper(), f"  {d.id.title()} "):
        assert find_device(name) is d


def test_other_names_point_at_devices() -> None:
    """Trade names and another order of words find their device."""
    assert find_device("H100 SXM 80GB").id == "h100-sxm"
    assert find_device("Strix Halo").id == "ryzen-ai-max-395"
    assert find_device("H100 SXM").id == "h100-sxm"


@pytest.mark.parametrize(("typo", "meant"), [("H100 80GB SXN", "H100 80GB SXM"), ("H100", "H100 80GB PCIe")])
def test_unknown_device_suggests(typo: str, meant: str) -> None:
    """A slip, or a name that several devices share, is answered with the nearest labels."""
    with pytest.raises(PlannerError, match=meant):
        find_device(typo)


@given(st.text(max_size=400))
def test_any_text_is_a_device_or_one_sentence(text: str) -> None:
    """No text makes the lookup fail in another way, or answer at length."""
    try:
        assert find_device(text) in DEVICES
    except DeviceError as error:
        assert len(str(error)) < 400


def test_typed_in_device() -> None:
    """A typed-in device carries the figures given, in SI units, and nothing made up."""
    d = custom_device("My  card", 24, 1000, 165, 330, interconnect_gb_s=100)
    assert (d.name, d.custom, d.memory_bytes_usable, d.bandwidth) == ("My card", True, 24 * GIB, 1e12)
    assert d.peak("fp8") == (330e12, "fp8")
    assert d.peak("fp4") == (165e12, "bf16")
    assert d.interconnect_bytes_per_s == 50e9
    assert d.price_usd_per_hour is None and d.tdp_w is None and not d.sources


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"memory_gib": 0}, "memory_gib"),
        ({"memory_gib": math.nan}, "nan"),
        ({"bandwidth_gb_s": -5}, "-5 GB/s"),
        ({"bandwidth_gb_s": math.inf}, "bandwidth_gb_s"),
        ({"tflops_16bit": 1e12}, "0.001 to 1e\\+06 TFLOP/s"),
        ({"tflops_8bit": "fast"}, "tflops_8bit"),
        ({"name": "x" * 61}, "61 characters"),
    ],
)
def test_impossible_figures_are_refused(changes: dict[str, object], words: str) -> None:
    """A figure out of range is answered with the field, the value and the range."""
    given_values = {"name": "card", "memory_gib": 24, "bandwidth_gb_s": 1000, "tflops_16bit": 165} | changes
    with pytest.raises(DeviceError, match=words):
        custom_device(**given_values)  # type: ignore[arg-type]


def test_device_named_by_measurements() -> None:
    """A part that only measurements name has its own bandwidth and rate; an unknown one is None."""
    small = measured_device("M3 Max  30C")
    assert small is not None
    assert (small.bandwidth, small.peak("bf16")) == (300e9, (10.6e12, "fp16"))
    assert small.bandwidth < device("apple-m3-max").bandwidth
    assert measured_device("M99") is None


@pytest.mark.parametrize("cell", ["0", "fast", "-3", "nan"])
def test_bad_cell_is_named(cell: str) -> None:
    """A cell that is no positive number is named by column and device instead of being read as something."""
    with pytest.raises(DeviceError, match='"bandwidth_gb_s" of device "l4"'):
        read_device(next(row for row in ROWS if row["id"] == "l4") | {"bandwidth_gb_s": cell}, ())


def test_devices_can_be_hashed_and_sent() -> None:
    """A device can be a cache key and can travel to another process."""
    assert len(set(DEVICES)) == len(DEVICES)
    assert pickle.loads(pickle.dumps(DEVICES)) == DEVICES


def test_table_reads_without_pandas() -> None:
    """Loading the table does not import pandas, so that the command line answers at once."""
    code = "import sys; from planner.devices.table import load_devices; load_devices(); print('pandas' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("printed", "device_id"),
    [("NVIDIA H100 80GB HBM3", "h100-sxm"), ("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"), ("NVIDIA L40S", "l40s"),
     ("NVIDIA H200", "h200-sxm"), ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb")],
)  # fmt: skip
def test_names_as_tools_print_them(printed: str, device_id: str) -> None:
    """The name that nvidia-smi prints finds the device."""
    assert find_device(printed).id == device_id
