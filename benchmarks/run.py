"""Time the core, the command line and the pages: `python -m benchmarks.run [core] [cli] [pages]`, all by default.

Each table sets its timings beside a reference taken in the same run, because seconds of one machine, on one day, say
little about another: to compare two versions, days or machines, compare the ratios. The targets are something else:
seconds that a reader waits, on an idle machine of today with two cores; on a slower or busy one they may be missed
without anything having changed here.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

from benchmarks.timing import Timing, table, timed

ROOT = Path(__file__).resolve().parents[1]
PAGE_REPEATS = 12
START_REPEATS = 9
CORE_REPEATS = 60

EMPTY_PAGE = "import streamlit as st\nst.title('Empty')\nst.write('Nothing is computed here.')\n"


def core() -> str:
    """plan() of the default scenario, anew each time, beside reading a config.json with the standard library."""
    from planner.architecture import read_config
    from planner.plan import plan
    from planner.scenario import Scenario

    configs = sorted((ROOT / "data" / "models").glob("**/*.json"))
    text = configs[0].read_text(encoding="utf-8")
    scenarios = [Scenario.of(prompt=1000 + step) for step in range(CORE_REPEATS + 10)]
    remaining = iter(scenarios)
    reference = timed("json.loads of one config.json", lambda: json.loads(text), CORE_REPEATS)
    items = [
        timed(f"read_config({configs[0].name})", lambda: read_config(text), CORE_REPEATS, target=0.020),
        timed("plan(), a new prompt length each time", lambda: plan(next(remaining)), CORE_REPEATS, target=0.010),
    ]
    return table(reference, items)


def cli() -> str:
    """Wall time of the command line from start to exit, beside an interpreter that does nothing."""
    # Byte code is kept, as it is by default: the warm-up runs write it.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}

    def run(*arguments: str) -> None:
        command = [sys.executable, *arguments]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)

    options = ["--model", "Llama 3.1 8B", "--device", "h100-sxm", "--users", "8"]
    reference = timed("python -c pass", lambda: run("-c", "pass"), START_REPEATS)
    items = [
        timed("import numpy", lambda: run("-c", "import numpy"), START_REPEATS),
        timed("import pydantic", lambda: run("-c", "import pydantic"), START_REPEATS),
        timed("python -m planner devices", lambda: run("-m", "planner", "devices"), START_REPEATS),
        timed("python -m planner plan", lambda: run("-m", "planner", "plan", *options), START_REPEATS, target=0.7),
    ]
    return table(reference, items)


def pages() -> str:
    """Server time of one rerun of each page, with another number of users each time, beside an almost empty page."""
    import logging

    from streamlit.testing.v1 import AppTest

    # Outside a server Streamlit warns at each run that there is none.
    logging.getLogger("streamlit.runtime.scriptrunner_utils.script_run_context").disabled = True
    empty = AppTest.from_string(EMPTY_PAGE, default_timeout=60)
    empty.run()
    reference = timed("an empty page", empty.run, PAGE_REPEATS)
    items = [page(path) for path in sorted((ROOT / "pages").glob("*.py")) if not path.name.startswith("_")]
    return table(reference, items)


def page(path: Path) -> Timing:
    """Reruns of one page of the app, after a first run that fills its caches."""
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=120)
    app.run()
    app.switch_page(f"pages/{path.name}").run()
    if app.exception:
        raise RuntimeError(f"{path.name} shows an exception: {app.exception[0].value}")
    users = itertools.count(2)

    def rerun() -> None:
        app.session_state["users"] = next(users)
        app.run()

    return timed(f"pages/{path.name}", rerun, PAGE_REPEATS, target=0.100)


PARTS = {"core": core, "cli": cli, "pages": pages}


def main(arguments: list[str]) -> int:
    """Print the tables asked for."""
    unknown = [name for name in arguments if name not in PARTS]
    if unknown:
        print(f"There is no benchmark {unknown[0]!r}; choose from {', '.join(PARTS)}.", file=sys.stderr)
        return 2
    print(f"Python {platform.python_version()} on {platform.system()} {platform.machine()}\n")
    for name in arguments or PARTS:
        print(f"## {name}\n\n{PARTS[name].__doc__}\n\n{PARTS[name]()}\n", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
