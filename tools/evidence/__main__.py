"""`python -m tools.evidence`: fits again, writes `data/efficiency.csv` and the tables of `docs/evidence.md`."""

from __future__ import annotations

import numpy as np

from planner.efficiency.table import TABLE
from planner.validate.case import Case
from tools.evidence import logs, report
from tools.evidence.cases import ROOT, Array, Features, cases, features
from tools.evidence.model import Models, left_out
from tools.evidence.table import inside, text_of

DOCUMENT = ROOT / "docs" / "evidence.md"
BEGIN, END = "<!-- tables: python -m tools.evidence -->", "<!-- end of tables -->"


def accuracy(x: Features, models: Models, predicted: Array) -> str:
    """The tables of accuracy; `predicted` are seconds from fits that leave each case's device out."""
    error, held = report.errors(x, predicted), inside(x, predicted)
    single = np.isin(x.quantity, report.SINGLE)
    main = report.mainstream(x)
    tpot = x.quantity == "tpot"
    dense, moe = ~x.mixture, x.mixture
    name = [report.engine(c) for c in x.cases]
    lines = [
        ("decode of one sequence, mainstream engines", main),
        ("the same, dense models", main & dense),
        ("decode of one sequence, every engine known here", single),
        ("time per output token, closed loop, dense", tpot & dense),
        ("time per output token, closed loop, mixtures of experts", tpot & moe),
        ("prefill", x.quantity == "prefill_rate"),
        ("throughput of static batches", x.quantity == "batch_rate"),
    ]
    calibrated = report.calibrated_errors(x, models)
    rows = [(label, *report.figures(error[m], held[m])) for label, m in lines]
    rows.append(("time per output token, dense, two rows calibrate the rest", *report.figures(calibrated), ""))
    parts = ["### Each device left out of the fit in turn", report.table(("what", *report.HEAD), rows)]
    sections = {"Decode of one sequence": single, "Time per output token": tpot,
                "Prefill": x.quantity == "prefill_rate", "Static batches": x.quantity == "batch_rate"}  # fmt: skip
    for title, mask in sections.items():
        y, e, h = x.take(mask), error[mask], held[mask]
        names = [n for n, keep in zip(name, mask, strict=True) if keep]
        kinds = np.where(y.mixture, "experts", "dense")
        table = report.by(y, e, h, lambda i, y=y, names=names, kinds=kinds: (names[i], y.group[i], kinds[i]),
                          ("engine", "class", "models"))  # fmt: skip
        parts += [f"### {title}: residuals by engine and device class", table]
        if title in ("Decode of one sequence", "Time per output token"):
            cause = report.by(y, e, h, lambda i, y=y: (y.storage[i], int(y.tensor[i]), int(y.stages[i])),
                              ("weights", "tensor parallel", "stages"))  # fmt: skip
            parts += [f"### {title}: residuals by weight type and layout", cause]
    return "\n\n".join(parts)


def ceilings(found: list[Case]) -> str:
    """Which cases are faster than the bound."""
    over = report.above(found)
    return f"Above the ceiling: {len(over)} of {len(found)} rows that are not marked suspect" + (
        f" ({', '.join(over[:20])})." if over else "."
    )


def main() -> None:
    """Regenerate and print."""
    found = cases()
    x = features(found)
    models = Models(x)
    predicted = left_out(x, models)
    TABLE.write_text(text_of(models, predicted), encoding="utf-8")
    memory = ["### Memory: start logs of vLLM", logs.text_of(logs.lines())]
    text = "\n\n".join([accuracy(x, models, predicted), ceilings(found), *memory])
    print(text)
    if DOCUMENT.exists() and BEGIN in (old := DOCUMENT.read_text(encoding="utf-8")):
        head, _, rest = old.partition(BEGIN)
        DOCUMENT.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


if __name__ == "__main__":
    main()
