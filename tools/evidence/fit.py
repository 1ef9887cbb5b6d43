"""Fit of shares and overheads to measured times: robust least squares on log time, near a prior where rows are few.

step   = max(compute / c_d, memory / m) + step_s + layer_s x layers + sequence_s x batch + reduce_s x log2(tp) x layers
prompt = max(compute / c_p, memory / m) [+ the same overheads, for a prompt that has its own pass]
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tools.evidence.cases import Array, Features

TYPES = ("16-bit", "8-bit", "4-bit", "4-bit K")
NAMES = (*(f"memory {t}" for t in TYPES), *(f"compute {t}" for t in TYPES), "unpack", "layer_s", "step_s", "sequence_s",
         "reduce_s", "newer")  # fmt: skip
INDEX = {name: i for i, name in enumerate(NAMES)}
# Strength of a prior: small, so that three devices outweigh it. One that rests on more rows of the same class (a fit to
# all its serving engines, or medians of public tables) counts as so many rows more, and gives way as a group has more
# rows of its own: ten predict left-out devices about as well as more do, and cost those that were measured next to
# nothing.
HOLD = 0.04
FITTED_ROWS = 10
# Log errors beyond this count by their size, not their square.
ROBUST = 0.1


@dataclass(frozen=True)
class Fit:
    """Parameters by position in NAMES, and how many rows and devices they rest on."""

    values: Array
    rows: int = 0
    devices: int = 0


def step_seconds(x: Features, p: Array) -> Array:
    """Seconds of one decode step of each case."""
    memory, compute = np.zeros(len(x)), np.ones(len(x))
    for i, name in enumerate(TYPES):
        memory = np.where(x.storage == name, p[i], memory)
        compute = np.where(x.storage == name, p[len(TYPES) + i], compute)
    unpack = np.where(x.storage == "4-bit K", p[INDEX["unpack"]], 1e9)
    # `unpack` is a share of the FLOP/s at which one sequence's products run where blocks must be unpacked.
    busy = np.maximum(np.maximum(x.step_compute / compute, x.step_memory / memory), x.step_compute / x.batch / unpack)
    return busy + overhead_seconds(x, p) + p[INDEX["sequence_s"]] * x.batch


def overhead_seconds(x: Features, p: Array) -> Array:
    """Seconds added to each pass."""
    newer = np.where(x.newer, p[INDEX["newer"]], 1.0)
    return (p[INDEX["step_s"]] * x.stages + newer * p[INDEX["layer_s"]] * x.layers
            + p[INDEX["reduce_s"]] * np.log2(x.tensor) * x.layers)  # fmt: skip


def seconds(x: Features, p: Array) -> Array:
    """Seconds per unit of each case, as the planner predicts them."""
    memory, compute = np.ones(len(x)), np.ones(len(x))
    for i, name in enumerate(TYPES):
        memory = np.where(x.storage == name, p[i], memory)
        compute = np.where(x.storage == name, p[len(TYPES) + i], compute)
    alone = np.maximum(x.prompt_compute / compute, x.prompt_memory / memory) + overhead_seconds(x, p)
    prompt = np.where(x.whole_prompt > 0, alone, x.prompt_compute / compute)
    return x.per_step * step_seconds(x, p) + x.per_prompt * prompt


def fit(x: Features, prior: Array, free: tuple[str, ...], fitted: bool = False, rounds: int = 25) -> Fit:
    """Parameters that bring log(predicted / measured) near 0; the others stay at `prior`.

    fitted  the prior rests on more rows of the class, and holds accordingly
    """
    if not len(x):
        return Fit(prior.copy())
    hold = HOLD + (FITTED_ROWS / len(x) if fitted else 0.0)
    where = np.array([INDEX[name] for name in free])
    names, inverse, counts = np.unique(x.device, return_inverse=True, return_counts=True)
    # A device with many rows counts more than one with a single row, but far less than in proportion.
    w = counts[inverse] ** -0.7
    target, base = np.log(x.measured), np.log(prior)
    theta = base.copy()
    upper = np.where([n.startswith(("memory", "compute")) for n in NAMES], 0.0, np.inf)
    damp = 1e-3

    def residual(t: Array) -> Array:
        return np.log(seconds(x, np.exp(t))) - target

    def cost(t: Array) -> float:
        e = np.abs(residual(t))
        return float(np.sum(w * np.where(e < ROBUST, e * e / 2, ROBUST * (e - ROBUST / 2))) / ROBUST
                     + hold * np.sum((t - base) ** 2))  # fmt: skip

    best = cost(theta)
    for _ in range(rounds):
        e = residual(theta)
        weight = w / np.maximum(np.abs(e), ROBUST)
        jacobian = np.empty((len(x), len(where)))
        for column, i in enumerate(where):
            moved = theta.copy()
            moved[i] += 1e-3 if moved[i] + 1e-3 <= upper[i] else -1e-3
            jacobian[:, column] = (residual(moved) - e) / (moved[i] - theta[i])
        left = (jacobian * weight[:, None]).T @ jacobian + 2 * hold * np.eye(len(where))
        right = -(jacobian * weight[:, None]).T @ e - 2 * hold * (theta - base)[where]
        change = np.linalg.solve(left + damp * np.diag(np.diag(left)), right)
        trial = theta.copy()
        trial[where] = np.minimum(theta[where] + np.clip(change, -0.7, 0.7), upper[where])
        found = cost(trial)
        if found < best:
            small = best - found < 1e-6 * best
            theta, best, damp = trial, found, damp / 3
            if small:
                break
        else:
            damp *= 5
            if damp > 1e6:
                break
    return Fit(np.exp(theta), len(x), len(names))
