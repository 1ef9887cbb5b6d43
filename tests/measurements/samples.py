from pathlib import Path

from planner.measurements import Measured, read

FOLDER = Path(__file__).parents[1] / "data" / "samples"
NAMES = sorted(path.name for path in FOLDER.iterdir() if path.name != "README.md")


def text(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def sample(name: str) -> Measured:
    return read(text(name))
