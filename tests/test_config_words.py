"""What was read from a config, in words."""

import json

from planner.architecture import read_config
from planner.config_words import KINDS, cache_rows, key_rows
from tests.pages.reading import ROOT

CONFIGS = ROOT / "tests" / "data" / "model_configs"
LLAMA = (CONFIGS / "llama" / "Llama-3.3-70B-Instruct.json").read_text()


def test_every_key_has_a_row_with_its_fate():
    """Used, defaulted and ignored keys each have one row; those used show their value, common ones a meaning."""
    arch = read_config(LLAMA)
    rows = {row["Key"]: row for row in key_rows(arch)}
    assert set(rows) == {*arch.keys.used, *arch.keys.defaulted, *arch.keys.ignored}
    assert rows["hidden_size"]["Value"] == "8192" and rows["hidden_size"]["Meaning"]
    assert rows["rope_theta"]["What became of it"] == "not used"


def test_keys_of_a_section_show_the_values_of_that_section():
    """A key of a nested section is looked up there, and a section itself is not spelled out."""
    arch = read_config((CONFIGS / "qwen_vl" / "Qwen2.5-VL-3B-Instruct.json").read_text())
    rows = {row["Key"]: row["Value"] for row in key_rows(arch)}
    assert rows["vision_config.depth"] == str(arch.config["vision_config"]["depth"])
    assert rows["vision_config"] == "…"


def test_layers_are_described_by_what_they_keep():
    """Every kind of layer has words, and the layers of the rows are those of the model."""
    (row,) = cache_rows(read_config(LLAMA))
    assert row["Each such layer keeps"] == KINDS["full"] and row["Layers"] == 80
    assert row["Numbers for each token"] == 2 * 8 * 128
    windowed = json.loads(LLAMA) | {"model_type": "mistral", "sliding_window": 4096}
    assert cache_rows(read_config(json.dumps(windowed)))[0]["Looks back, tokens"] == 4096
