"""Scenario <-> link and file: parameters with the form's texts, a pasted config as a code, a gate for what comes in."""

from planner.share.config_code import decode_config, encode_config
from planner.share.files import read_scenario_file, scenario_file
from planner.share.gate import scenario_from, vet
from planner.share.links import LONG, LONGEST, link, parameters, read_link
from planner.share.option_texts import labels, read_number, to_text, to_value

__all__ = [
    "LONG", "LONGEST", "decode_config", "encode_config", "labels", "link", "parameters", "read_link",
    "read_number", "read_scenario_file", "scenario_file", "scenario_from", "to_text", "to_value", "vet",
]  # fmt: skip
