"""What the pages answer: the verdict first, the plan's own figures, charts and tables that hold something."""

import json
import re

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from planner import service
from planner.compared import beside, census, compare, devices, wait
from planner.curves import capacity_ceiling
from planner.findings import findings
from planner.fleet import fleet
from planner.people import asking
from planner.plan import Plan, plan
from planner.scenario import Scenario
from planner.share import scenario_from
from planner.units import between, count, duration, gib, rate, span
from tests.pages.conftest import Open
from tests.pages.reading import charts, tables, texts
from ui.nav import PAGES

PATHS = [path for path, _, _ in PAGES]
# Pages that answer for the scenario of the form.
ANSWERS = [path for path in PATHS if path.split("/")[1] not in ("check.py", "evidence.py")]

# A million million parameters on 24 GB.
NOTHING_FITS = {"model": "Kimi K2 1T", "device": "RTX 4090"}
FITS = {"model": "Llama 3.1 8B", "device": "L40S", "users": 40, "weights": "FP8"}
OVERLOAD = {"load": "Arrivals per second", "rate": 500, "model": "Llama 3.1 8B"}


def planned(**query: object) -> Plan:
    return plan(scenario_from({name: str(value) for name, value in query.items()}))


def shown(page: AppTest) -> dict[str, str]:
    """Figures of the page: label -> value."""
    return {metric.label: metric.value for metric in page.metric}


def first_box(page: AppTest) -> str:
    """The sentence right below the title."""
    title, answer = [element for element in page.main if element.type in ("title", "success", "warning", "error")][:2]
    assert title.type == "title", "the page does not begin with its title"
    return str(answer.value)


@pytest.mark.parametrize("path", ANSWERS)
@pytest.mark.parametrize("query", [FITS, NOTHING_FITS, OVERLOAD], ids=["fits", "nothing fits", "overload"])
def test_verdict_comes_first(open_page: Open, path: str, query: dict[str, object]) -> None:
    """Below the title stands one sentence in a box with the mark that says whether it is good news."""
    assert re.match(r"\*\*[✓!✕]\*\* \S.+\.$", first_box(open_page(path, **query)))


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("query", [FITS, NOTHING_FITS], ids=["fits", "nothing fits"])
def test_charts_hold_rows_and_have_a_text(open_page: Open, path: str, query: dict[str, object]) -> None:
    """Each chart has rows to draw and a text that stands for it."""
    for chart in charts(open_page(path, **query)):
        assert len(chart.rows) > 0
        assert len(chart.alt) > 20 and chart.alt.endswith(".")


@pytest.mark.parametrize("path", PATHS)
def test_charts_draw_fields_that_their_rows_have(open_page: Open, path: str) -> None:
    """Every field that a chart encodes is a column of its rows, or made by its own transform."""
    for chart in charts(open_page(path, **FITS)):
        made = set(re.findall(r"'as': '(\w+)'", str(chart.spec))) | {"at", "end"}
        wanted = set(re.findall(r"'field': '(\w+)'", str(chart.spec)))
        assert wanted - made <= set(chart.rows.columns)


@pytest.mark.parametrize("path", PATHS)
def test_every_table_can_be_downloaded(open_page: Open, path: str) -> None:
    """A page offers a CSV for each of its tables."""
    page = open_page(path, **FITS)
    downloads = [button for button in page.main.get("download_button") if button.proto.label == "Download as CSV"]
    assert len(downloads) >= len(tables(page))


def test_fit_page_shows_the_plans_memory(open_page: Open) -> None:
    """The figures of “Does it fit?” are those of plan()."""
    p = planned(**FITS)
    page = open_page("pages/fit.py", **FITS)
    assert shown(page) == {
        "Weights": gib(p.memory.weights),
        "Room for conversations": gib(p.memory.pool),
        "One conversation": gib(p.memory.request),
        "Holds at once": count(p.memory.concurrent),
    }
    assert f"{gib(p.memory.slope)} for a further token" in [metric.delta for metric in page.metric]


def test_fit_page_draws_parts_that_sum_to_the_budget(open_page: Open) -> None:
    """The parts of the chosen device's bar sum to what the device exposes."""
    p = planned(**FITS)
    rows = charts(open_page("pages/fit.py", **FITS))[0].rows
    own = rows[rows["label"] == "L40S"]
    assert own["gib"].sum() == pytest.approx(p.memory.usable / 2**30, rel=1e-9)


def test_speed_page_shows_the_plans_speeds(open_page: Open) -> None:
    """The figures of “How fast?” are those of plan()."""
    p = planned(**FITS)
    batch = p.decode.batch
    assert batch is not None
    page = open_page("pages/speed.py", **FITS)
    figures = {metric.label: (metric.value, metric.delta) for metric in page.metric}
    alone, first = p.decode.expected, p.prefill.expected
    together, each = batch.expected, service.token_time(p)
    assert each is not None
    assert figures.pop("Each, whole answer")[0] == f"{rate(1 / each.high)} to {rate(1 / each.low)} tokens/s"
    assert figures == {
        "Alone, at most": (f"{rate(p.decode.ceiling)} tokens/s", f"expected: {rate(alone.low)} to {rate(alone.high)}"),
        f"{count(batch.size)} together, at most": (
            f"{rate(batch.ceiling)} tokens/s",
            f"expected: {rate(together.low)} to {rate(together.high)}",
        ),
        "First token, at least": (
            duration(p.prefill.floor),
            f"expected: {duration(first.low)} to {duration(first.high)}",
        ),
    }


def test_speed_page_repeats_the_warnings_that_concern_it(open_page: Open) -> None:
    """Sixteen devices that share each layer are warned about below the verdict on speed."""
    query = {"model": "Llama 3.1 70B", "devices": 16}
    warned = [f.sentence for f in findings(planned(**query)) if f.code == "beyond-node"]
    assert warned and warned[0] in texts(open_page("pages/speed.py", **query))


@pytest.mark.parametrize("path", ["pages/speed.py", "pages/people.py"])
def test_a_limit_stands_in_verdict_and_scenario_line(open_page: Open, path: str) -> None:
    """A limit that is set is judged in the first box and named in the line above the pages."""
    page = open_page(path, **FITS, max_tpot=0.001)
    assert first_box(page).startswith("**✕** Misses your limit: at least")
    assert "allowed: a token every 1 ms" in texts(page)


@pytest.mark.parametrize(("query", "beside"), [({}, "first half cached"), ({"shared_prefix": 256}, "first 25% cached")])
def test_first_tokens_are_drawn_alike_with_and_without_a_cache(
    open_page: Open, query: dict[str, object], beside: str
) -> None:
    """Both cases have a floor and the expected band, so that like is read against like; what is cached comes sooner."""
    page = open_page("pages/speed.py", **FITS, prompt=1024, **query)
    drawn = next(chart.rows for chart in charts(page) if "prefix" in chart.rows)
    assert drawn[["floor", "low", "mid", "high"]].notna().all(axis=None)
    whole, part = (drawn[drawn["prefix"] == name].set_index("tokens") for name in ("nothing cached", beside))
    assert len(whole) == len(part) > 0
    assert (part[["floor", "mid"]] <= whole[["floor", "mid"]]).all(axis=None)


def test_people_page_shows_the_plans_load(open_page: Open) -> None:
    """The figures of “How many people?” are those of plan(), and L = λ × W."""
    p = planned(**FITS)
    flow = p.load
    assert flow.arrivals_per_s and flow.time_in_system_s
    assert flow.arrivals_per_s * flow.time_in_system_s == pytest.approx(40, rel=1e-6)
    page = open_page("pages/people.py", **FITS)
    ends = service.served(p)
    assert ends.stay and ends.answered
    assert shown(page) == {
        "Inside at once (L)": "40",
        "Each stays (W)": span(ends.stay.low, ends.stay.high),
        "Answered (λ)": f"{between(ends.answered.low, ends.answered.high, 3)} per second",
        "Expected capacity": f"{between(ends.capacity.low, ends.capacity.high, 3)} per second",
    }
    below = {metric.label: metric.delta for metric in page.metric}
    assert below["Inside at once (L)"] == f"{count(flow.holds)} fit" and flow.holds >= 40
    assert below["Each stays (W)"] == f"middle {duration(flow.time_in_system_s)}"
    assert str(below["Expected capacity"]).endswith(f"ceiling: {rate(capacity_ceiling(p))}")
    assert asking(p) in texts(page)


def test_people_page_tabulates_tenths_of_what_can_be_served(open_page: Open) -> None:
    """Ten rows up to what can be served, each obeying L = λ × W."""
    table = tables(open_page("pages/people.py", **FITS))[0]
    assert len(table) == 10
    assert table["Requests per second"].iloc[-1] == pytest.approx(planned(**FITS).load.capacity_per_s, rel=1e-3)
    product = table["Requests per second"] * table["Seconds each stays"]
    assert product.tolist() == pytest.approx(table["Requests in flight"].tolist(), rel=2e-3)


def test_past_capacity_there_is_no_steady_state(open_page: Open) -> None:
    """Arrivals past capacity are called so, and neither requests in flight nor time in system get a number."""
    page = open_page("pages/people.py", **OVERLOAD)
    assert "No steady state: 500 requests per second arrive" in first_box(page)
    assert shown(page)["Inside at once (L)"] == shown(page)["Each stays (W)"] == "grows"


def test_nobody_fits_and_the_page_says_what_to_do(open_page: Open) -> None:
    """Where not one request fits there is no figure and no chart, but changes that help."""
    page = open_page("pages/people.py", **NOTHING_FITS)
    assert not charts(page) and not page.metric
    assert any(str(button.key).startswith("change_") for button in page.main.button)


@pytest.mark.parametrize("path", ["pages/speed.py", "pages/people.py", "pages/method.py"])
def test_what_does_not_fit_gets_no_speed(open_page: Open, path: str) -> None:
    """A model that the device cannot hold is given no speed of its own, neither in words nor in figures."""
    page = open_page(path, **NOTHING_FITS)
    assert first_box(page).startswith("**✕**")
    assert not re.search(r"\d tokens/s", first_box(page) + " ".join(shown(page).values()))
    assert "Decode ceiling of one conversation" not in texts(page)


def test_devices_page_lists_the_whole_table_and_filters_it(open_page: Open) -> None:
    """All devices are listed; the filters leave those that hold the scenario, and those of a vendor."""
    page = open_page("pages/devices.py", **FITS)
    everything = tables(page)[0]
    page.checkbox(key="only_fitting").check().run()
    fitting = tables(page)[0]
    assert 0 < len(fitting) < len(everything) and set(fitting["Verdict"]) == {"fits"}
    page.multiselect(key="only_vendors").set_value(["AMD"]).run()
    assert set(tables(page)[0]["Vendor"]) == {"AMD"}


def test_devices_verdict_and_table_name_the_same_fastest(open_page: Open) -> None:
    """The fastest of the verdict tops the table below one's own device; announced devices are marked and come after."""
    page = open_page("pages/devices.py", model="Qwen3 32B", users=8)
    everything = tables(page)[0]["Device"].str.endswith("(announced)").sum()
    page.checkbox(key="only_fitting").check().run()
    table = tables(page)[0]
    announced = table["Device"].str.endswith("(announced)")
    assert announced.any() and list(announced) == sorted(announced)
    # One's own device holds fewer than asked here: the filter leaves it out, and the fastest comes first.
    assert "H100 80GB SXM holds fewer than asked" in first_box(page)
    assert f"Expected to be fastest: {table['Device'].iloc[0]} (" in first_box(page)
    assert f"{everything} are announced only" in texts(page)


def test_both_pages_count_the_devices_alike(open_page: Open) -> None:
    """“How fast?” and “Devices” say the same sentence of how many devices would do, and its parts are all devices."""
    said = [
        re.search(r"Of \d+ devices.*?\.", texts(open_page(path, **FITS)).replace("\\", ""))
        for path in ("pages/speed.py", "pages/devices.py")
    ]
    assert said[0] and said[1] and said[0][0] == said[1][0]
    rows = fleet(planned(**FITS).scenario)
    assert sum(census(rows).values()) == len(rows)


def test_two_devices_whose_order_turns_are_said_to() -> None:
    """Where the higher ceiling is expected to be the slower device, the sentence says so; else it does not."""
    p = planned(model="DeepSeek-R1 671B", device="H200 141GB SXM", devices=8)
    rows = {r.device.label: r for r in fleet(p.scenario)}
    own = rows["H200 141GB SXM"]
    for other in rows.values():
        if other.mid and other.ceiling and own.mid and own.ceiling and other.runs:
            turned = (other.mid > own.mid) != (other.ceiling > own.ceiling)
            assert ("has the higher ceiling, but" in compare(p.scenario, own, other)) == turned
    assert "has the higher ceiling, but" in compare(p.scenario, own, rows["MI300X"])


def test_boxes_are_not_named_as_a_server_of_eight() -> None:
    """With several devices per copy the smallest one named is one that can be joined to others."""
    p = planned(model="DeepSeek-R1 671B", device="H200 141GB SXM", devices=8)
    rows = fleet(p.scenario)
    said = devices(p, rows)[1]
    named = re.findall(r"(?:fastest|Least memory|known price): 8 x (.+?) \(", said)
    assert len(named) == 3 and len(said) < 420
    assert all(r.device.kind in ("gpu", "accelerator") for r in rows if r.device.label in named)


@pytest.mark.parametrize("choices", [{"model": "Llama 3.1 8B"}, {"model": "Qwen3 32B", "devices": 2, "copies": 3}])
def test_least_memory_and_cheapest_are_what_they_say(choices: dict[str, object]) -> None:
    """Of the shipped devices that do all that is asked, none with less memory or a lower price is passed over."""
    p = planned(**choices)
    rows = fleet(p.scenario)
    fit = [r for r in rows if r.serves and not r.device.announced and (r.joins or p.layout.devices == 1)]
    said = devices(p, rows)[1]
    least = re.search(r"Least memory: (?:\d+ x )?(.+?) \(", said)
    price = re.search(r"known price: (?:\d+ x )?(.+?) \(([\d.]+) USD per hour", said)
    assert least and price
    memory = {r.device.label: r.device.memory_bytes_usable for r in fit}
    assert memory[least[1]] == min(memory.values())
    prices = {r.device.label: r.price for r in fit if r.price is not None}
    assert prices[price[1]] == min(prices.values()) and float(price[2]) == pytest.approx(prices[price[1]], abs=0.005)


def test_first_tokens_of_two_devices_are_compared_by_their_bands() -> None:
    """What is expected of the first token is said as a range on both devices, for the order may turn within it."""
    p = planned(**FITS)
    rows = {r.device.label: r for r in fleet(p.scenario)}
    own, other = rows["L40S"], rows["H100 80GB SXM"]
    expected = p.prefill.expected
    assert (own.ttft_low, own.ttft, own.ttft_high) == pytest.approx((expected.low, expected.mid, expected.high))
    said = compare(p.scenario, own, other)
    assert f"expect {wait(other)} against {wait(own)};" in said
    assert wait(own) == f"{duration(expected.low)} to {duration(expected.high)}"


@pytest.mark.parametrize("query", [FITS, OVERLOAD], ids=["users", "arrivals"])
def test_the_key_number_stands_second(open_page: Open, query: dict[str, object]) -> None:
    """Right after its name each device has its expected figure, which a phone shows without scrolling sideways."""
    table = tables(open_page("pages/devices.py", **query))[0]
    key = "Expected to serve, requests/s" if "load" in query else "Expected from, tokens/s"
    assert list(table.columns[:2]) == ["Device", key] and table[key].notna().any()


def test_past_capacity_devices_lack_pace_not_room(open_page: Open) -> None:
    """Where memory holds requests but arrivals outrun the service, verdict, table and map say “cannot keep up”."""
    page = open_page("pages/devices.py", **OVERLOAD | {"rate": 50_000})
    assert "can keep up with 50,000 requests/s" in first_box(page) and "expected to serve" in first_box(page)
    assert "cannot keep up" in set(tables(page)[0]["Verdict"])
    assert "cannot keep up" in set(charts(page)[0].rows["fits"])


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(0.609, "61% of the bandwidth"), (1.62, "1.6 times the bandwidth"), (1, "the same bandwidth"), (37.4, "37 times")],
)
def test_ratios_are_said_as_people_say_them(ratio: float, said: str) -> None:
    """Less is a percentage, more is so many times."""
    assert beside(ratio, "bandwidth").startswith(said)


def test_bits_page_marks_what_does_not_fit(open_page: Open) -> None:
    """On a device too small for 16 bit the table leaves its speed blank, and the chart has no mark for it."""
    page = open_page("pages/bits.py", model="Qwen3 32B", device="RTX 4090", users=1)
    table = tables(page)[0].set_index("Weights")
    assert pd.isna(table.loc["BF16", "At most, tokens/s"]) and table.loc["BF16", "Verdict"] == "cannot load"
    drawn = charts(page)[0].rows
    assert "16 bit" not in set(drawn[drawn["label"] == "RTX 4090"]["series"])


def test_bits_page_keeps_a_device_that_nothing_fits(open_page: Open) -> None:
    """One's own device has its row in the chart even where no format fits, and the row says so."""
    drawn = charts(open_page("pages/bits.py", **NOTHING_FITS))[0].rows
    own = drawn[drawn["label"] == "RTX 4090"]
    assert list(own["flag"]) == ["✕ does not fit"] and own["ceiling"].isna().all() and own["rank"].item() == 0


def test_method_page_has_the_textbook_table(open_page: Open) -> None:
    """The textbook rates for 16 GB of weights are 6, 38, 54, 63, 127, 209 tokens/s."""
    assert list(tables(open_page("pages/method.py"))[0]["Tokens/s"]) == [6, 38, 54, 63, 127, 209]


def test_opening_example_is_close_to_a_limit(open_page: Open) -> None:
    """The scenario that the app opens with holds someone, but not everyone who asks."""
    assert plan(Scenario()).fits == "holds fewer than asked"
    assert first_box(open_page()).startswith("**!**")


def test_boxes_say_no_markup(open_page: Open) -> None:
    """A model's name with Markdown signs in it is shown as it was given."""
    large = {
        "model_type": "llama",
        "hidden_size": 16384,
        "num_hidden_layers": 126,
        "num_attention_heads": 128,
        "vocab_size": 99,
    }
    page = open_page(users=1)
    page.text_area(key="paste").set_value(json.dumps(large | {"intermediate_size": 53248}))
    page.text_input(key="paste_name").set_value("a*b_c[d]$e$").run()
    assert "a\\*b\\_c\\[d\\]\\$e\\$" in first_box(page)
