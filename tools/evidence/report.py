"""Tables of how well predictions hold, as Markdown."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from planner.efficiency.table import nearest
from planner.validate.case import Case
from planner.validate.names import group_of
from planner.validate.predict import bound_seconds
from tools.evidence.cases import Array, Features
from tools.evidence.fit import seconds, step_seconds
from tools.evidence.model import Models

# Engines in the line of mainstream ones, as `group_of` spells them: llama.cpp on ROCm, and rows of it that state no
# backend, are apart.
MAINSTREAM = ("llama.cpp CUDA", "llama.cpp Metal", "llama.cpp Vulkan", "vLLM", "TensorRT-LLM", "SGLang", "LMDeploy")
SINGLE = ("decode_rate", "request_rate_out")


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table; floats in percent."""

    def cell(value: object) -> str:
        return f"{100 * value:.1f} %" if isinstance(value, float) else str(value)

    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(cell, row)) + " |" for row in rows])


def errors(x: Features, predicted: Array) -> Array:
    """Predicted / measured - 1 of each case's own figure (tokens per second, or seconds)."""
    return np.asarray(np.where(x.rate > 0, x.measured / predicted, predicted / x.measured) - 1)


def mainstream(x: Features) -> Array:
    """Cases of one sequence's decode on mainstream engines."""
    return np.array([c.quantity in SINGLE and engine(c) in MAINSTREAM for c in x.cases])


def engine(case: Case) -> str:
    """The engine of a case in the one spelling of all tables, whatever its source wrote."""
    return group_of(case.engine_name)


def above(cases: Iterable[Case]) -> list[str]:
    """Ids of cases faster than the bound that nothing can beat."""
    return [c.id for c in cases if (1 / c.measured if c.fast else c.measured) < bound_seconds(c) * (1 - 1e-9)]


def figures(error: Array, held: Array | None = None) -> list[object]:
    """n, median, mean and p90 of the absolute errors, median error, share inside the band."""
    size = np.abs(error)
    row: list[object] = [len(error), float(np.median(size)), float(np.mean(size)), float(np.quantile(size, 0.9)),
                         float(np.median(error))]  # fmt: skip
    return row if held is None else [*row, float(np.mean(held))]


HEAD = ("n", "median", "mean", "p90", "bias (median)", "inside band")


def by(x: Features, error: Array, held: Array, keys: Callable[[int], tuple[object, ...]], names: Sequence[str]) -> str:
    """Figures for each distinct key of the cases."""
    groups: dict[tuple[object, ...], list[int]] = {}
    for i in range(len(x)):
        groups.setdefault(keys(i), []).append(i)
    ordered = sorted(groups.items(), key=lambda group: tuple(map(str, group[0])))
    rows = [(*key, *figures(error[i], held[i])) for key, i in ordered]
    return table((*names, *HEAD), rows)


def calibrated_errors(x: Features, models: Models) -> Array:
    """TPOT errors of dense models when two rows of the same model, device, engine and layout calibrate the rest.

    The fit has no row of that device. The rows that calibrate are those with the least and the most prompt work in
    flight; the two factors (decode, prefill) make the prediction meet both exactly where that is possible.
    """
    chosen = (x.quantity == "tpot") & ~x.mixture
    groups: dict[tuple[str, ...], list[int]] = {}
    for i in np.flatnonzero(chosen):
        c = x.cases[i]
        groups.setdefault((c.arch.name, c.device.name, engine(c), c.weights, str(x.tensor[i])), []).append(int(i))
    found: list[float] = []
    for members in groups.values():
        if len(members) < 4:
            continue
        part = x.take(np.isin(np.arange(len(x)), members))
        model = models.without(str(part.device[0]))
        key, _ = nearest(model.keys(), str(part.group[0]), str(part.engine[0]), False)
        p = model.fit(key).values
        steps = step_seconds(part, p)
        prompts = seconds(part, p) - steps
        order = np.argsort([c.prompt * c.batch / c.output for c in part.cases], kind="stable")
        two = [int(order[0]), int(order[-1])]
        factors = np.linalg.solve(np.array([[steps[i], prompts[i]] for i in two]), part.measured[two])
        if not (0.3 < factors[0] < 3 and 0.2 < factors[1] < 5):
            ratio = float(np.mean(part.measured[two] / (steps + prompts)[two]))
            factors = np.array([ratio, ratio])
        rest = np.setdiff1d(np.arange(len(part)), two)
        found += list((factors[0] * steps + factors[1] * prompts)[rest] / part.measured[rest] - 1)
    return np.array(found)
