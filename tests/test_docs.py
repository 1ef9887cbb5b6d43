"""What the guides show runs, and gives what they say."""

import json
import re
import shlex
from pathlib import Path

import pytest

from planner import evidence
from planner.__main__ import main
from planner.architecture import families, read_config
from planner.architecture.families import FAMILIES
from planner.devices import load_devices

ROOT = Path(__file__).resolve().parents[1]
SHAPE = {
    "hidden_size": 64, "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 100,
    "intermediate_size": 96, "moe_intermediate_size": 32, "num_experts": 64,
    "num_experts_per_tok": 6, "sliding_window": 16,
}  # fmt: skip


def blocks(file: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / file).read_text(), flags=re.DOTALL)


@pytest.fixture
def herons() -> None:
    families.load_all()
    for block in blocks("docs/adding-a-family.md"):
        exec(block, {})
    yield
    for name in ("heron", "heron_moe"):
        FAMILIES.pop(name)


def test_family_guide(herons: None) -> None:
    """The guide's two families read a config: windows on three of four layers, and experts that sum up."""
    plain = read_config({**SHAPE, "model_type": "heron"})
    assert sorted(c.kind for b, c in plain.caches() for _ in b.layers) == ["full", "window", "window", "window"]
    mixed = read_config({**SHAPE, "model_type": "heron_moe"})
    expert = 3 * 64 * 32
    assert mixed.total_params - mixed.active_params == 3 * (64 - 6) * expert


def commands() -> list[str]:
    text = (ROOT / "README.md").read_text()
    lines = re.findall(r"^python -m planner (.*?)(?:\s+#.*)?$", text, flags=re.MULTILINE)
    return [line for line in lines if not re.search(r"config\.json|bench\.json|rows\.csv", line)]


@pytest.mark.parametrize("line", commands())
def test_readme_commands(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Each command of the README that needs no file of the reader's runs."""
    assert main(shlex.split(line)) == 0
    assert capsys.readouterr().out.startswith(("{", "["))


def test_readme_shows_what_the_first_plan_prints(capsys: pytest.CaptureFixture[str]) -> None:
    """The figures below the commands are those of the first plan among them, rounded to four digits or fewer."""
    shown = json.loads(re.search(r"```json\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)[1])
    assert main(shlex.split(next(line for line in commands() if line.startswith("plan ")))) == 0
    assert holds(json.loads(capsys.readouterr().out), shown) > 10


def holds(printed: object, shown: object) -> int:
    """How many figures are shown, each of them as printed but for rounding."""
    if isinstance(shown, dict):
        return sum(holds(printed[name], value) for name, value in shown.items())
    assert shown == (printed if isinstance(printed, str) else pytest.approx(printed, rel=1e-3))
    return 1


def test_readme_counts_the_devices() -> None:
    """The number of devices that the README states is that of the table."""
    found = re.search(r"(\d+) devices with the source", (ROOT / "README.md").read_text())
    assert found and int(found[1]) == len(load_devices())


def test_readme_states_the_figures_of_the_evidence() -> None:
    """How close the planner comes is said in the README as `make evidence` found it."""
    readme = " ".join((ROOT / "README.md").read_text().split())
    rows = {row["What"]: row for row in evidence.left_out()}
    for what, said in (
        ("decode of one sequence, mainstream engines", r"half of {n} measured decode speeds of mainstream engines"),
        ("decode of one sequence, every engine known here", r"Of all {n},"),
    ):
        row = rows[what]
        figures = r"predicted within ([\d.]+ %), nine in ten within ([\d.]+ %), and ([\d.]+ %) lie inside"
        found = re.search(rf"{said.format(n=row['Rows'])}.{{0,150}}?{figures}", readme)
        assert found and found.groups() == (row["Median miss"], row["Nine in ten within"], row["Inside the band"])
    before = rows["time per output token, closed loop, dense"]["Mean miss"]
    after = rows["time per output token, dense, two rows calibrate the rest"]["Mean miss"]
    assert f"by {before} on average, by {after} once" in readme
    guide = evidence.GUIDE.read_text(encoding="utf-8")
    for what in ("weights within 2 %", "KV within 5 %"):
        n, within = re.search(rf"\| {what} \| (\d+) \| (\d+) \|", guide).groups()
        assert f"{what.split('%')[0].split(' within')[1].strip()} % in {within} of {n}" in readme


def test_readme_names_real_places() -> None:
    """Every file or folder that the README and the guides name exists."""
    for file in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", file.read_text()):
            assert (file.parent / target).exists(), f"{file.name}: {target}"
