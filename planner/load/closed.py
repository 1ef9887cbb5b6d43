"""Closed loop: a fixed number of conversations, each sending its next request when the last one is answered.

Mean field of continuous batching: of n requests in service, each needs one prefill, which the others wait for, and
D = output - 1 decode steps, which are shared. So in the time of one request's D steps the n - 1 others prefill once each:

    TPOT = step(n) + (n - 1) / D x prefill work            R(n) = TTFT + D x TPOT            throughput = n / R(n)

Prefill work is the prompt's computation without per-step overheads: its chunks ride in decode steps that are taken anyway.
Sources: continuous batching as state-dependent processor sharing; the interactive law R = N / X for users beyond the seats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.roofline import Machine, Overheads, decode_step, prefill_parts, prefill_time
from planner.work import Array, Number, Work

# Requests per user in a benchmark run, where the start-up burst is inside the mean (vllm bench: prompts = 10 x concurrency).
ROUNDS = 10


@dataclass(frozen=True)
class ClosedLoop:
    """Steady state of one copy; arrays have the broadcast shape of the arguments.

    in_service           requests being served at once: users, but no more than the engine admits
    ttft_s               mean seconds to the first token in steady state, waiting for a seat included
    ttft_run_s           the same over a run of ROUNDS requests per user that starts with all users at once
    tpot_s, itl_s        seconds per further output token (mean), and of one decode step without anyone's prefill
    e2e_s                seconds from sending to the last token
    requests_per_s, output_tok_per_s   of the copy
    """

    in_service: Array
    ttft_s: Array
    ttft_run_s: Array
    tpot_s: Array
    itl_s: Array
    e2e_s: Array
    requests_per_s: Array
    output_tok_per_s: Array


def prefill_work(work: Work, machine: Machine, tokens: Number, cached: Number, over: Overheads) -> Array:
    """Seconds that a prompt's chunks add to the steps that carry them; groups of attention data parallel share the time."""
    compute, _ = prefill_parts(work, machine, tokens, cached)
    return np.asarray(compute / over.compute / work.layout.attention_data)


def closed_loop(work: Work, machine: Machine, decode: Overheads, prefill: Overheads, users: Number, prompt: Number,
                output: Number, cached: Number = 0, max_seqs: Number = np.inf) -> ClosedLoop:  # fmt: skip
    """The steady state of `users` conversations on one copy.

    decode, prefill  shares and overheads of decode steps and of prefill (ceiling: the defaults of Overheads)
    users, prompt, output, cached  conversations; tokens of each prompt, answer and cached prefix; any shapes that broadcast
    max_seqs         requests in service at most: what the engine admits and memory holds
    """
    users_, out = np.asarray(users, float), np.asarray(output, float)
    n = np.minimum(users_, max_seqs)
    steps = np.maximum(out - 1, 0.0)
    step = decode_step(work, machine, n, np.asarray(prompt, float) + out / 2, decode)
    one = prefill_work(work, machine, prompt, cached, prefill)
    alone = prefill_time(work, machine, prompt, cached, prefill)
    with np.errstate(divide="ignore", invalid="ignore"):
        tpot = np.where(steps > 0, step + (n - 1) / np.maximum(steps, 1) * one, np.nan)
    decoding = np.where(steps > 0, steps * np.nan_to_num(tpot), 0.0)
    # An arrival waits for the rest of the running step, and for prompts ahead of it in the same budget.
    busy = np.minimum(n * one / np.maximum(alone + decoding, 1e-12), 0.95)
    ahead = np.where(n > 1, step / 2 + busy * one / (2 * (1 - busy)), 0.0)
    first = alone + ahead
    served = first + decoding
    rate = n / served
    total = users_ / rate
    ttft = first + total - served
    burst = (np.maximum(n, 1) + 1) / 2 * np.maximum(one, alone - step) + np.where(n > 1, step, 0.0) + total - served
    run = (np.maximum(burst, first) + (ROUNDS - 1) * ttft) / ROUNDS
    shape = np.broadcast_shapes(n.shape, total.shape, out.shape)

    def full(a: Array) -> Array:
        return np.broadcast_to(a, shape)

    return ClosedLoop(full(n), full(ttft), full(run), full(tpot), full(np.asarray(step)), full(total), full(rate),
                      full(rate * out))  # fmt: skip
