"""Closed loop: a fixed number of conversations, each sending its next request when the last one is answered.

Mean field of continuous batching: of n requests in service, each needs one prefill, which the others wait for, and
D = output - 1 decode steps, which are shared. So while one request makes its D steps the n - 1 others prefill once:

    TPOT = step(n) + (n - 1) / D x prefill work            R(n) = TTFT + D x TPOT            throughput = n / R(n)

Prefill work is the prompt's computation without per-step overheads: its chunks ride in steps that are taken anyway.

So a limit on TPOT is kept with more users when answers are longer: each prompt's work is spread over more tokens,
until the growing contexts outweigh that. It is no artefact: requests per second fall all the while. All of the others'
prompts are taken to fall into a request's decode steps, none into its wait for the first token, which is pessimistic on
TPOT where answers are few tokens long and leaves their sum, R, as it is.

Sources: continuous batching as state-dependent processor sharing; the interactive law R = N / X beyond the seats.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.layout import Array, Number
from planner.roofline import Machine, Overheads, decode_step, prefill_parts, prefill_time
from planner.work import Work

# Seconds around the engine's steps until a first token is out (HTTP, tokeniser, scheduler): 0.06 to 0.08 in closed-loop
# rows of vLLM and TensorRT-LLM on H100 and H200, 2025-26.
REQUEST_S = 0.07
# A benchmark run starts with all users at once, and similar lengths keep part of them together; in the mean over
# 10 requests per user a prompt waits for 0.17 of half the others (the same rows; the burst alone would give 0.1).
TOGETHER = 0.17


@dataclass(frozen=True)
class ClosedLoop:
    """Steady state of one copy; arrays have the broadcast shape of the arguments.

    in_service           requests being served at once: users, but no more than the engine admits
    ttft_s               mean seconds to the first token in steady state, waiting for a seat included
    ttft_run_s           the same as the mean of a benchmark run that starts with all users at once
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


def prefill_work(work: Work, machine: Machine, tokens: Number, cached: Number, over: Overheads,
                 users: Number) -> Array:  # fmt: skip
    """Seconds that a prompt's chunks add to the steps of `users` sequences; attention groups share the time.

    So do pipeline stages, as many as there are sequences to fill them: while one stage works on a chunk, the others
    work on other sequences, and each step is held up by one stage's share. Source: a pipeline's time
    (m + k - 1) / (m k) with k stages, for ever more micro-batches m (Huang et al. 2019, GPipe).
    """
    compute, _ = prefill_parts(work, machine, tokens, cached)
    stages = np.minimum(np.maximum(np.asarray(users, float), 1.0), work.layout.pipeline)
    return np.asarray(compute / over.compute / work.layout.attention_data / stages)


def closed_loop(work: Work, machine: Machine, decode: Overheads, prefill: Overheads, users: Number, prompt: Number,
                output: Number, cached: Number = 0, max_seqs: Number = np.inf,
                request_s: float = REQUEST_S, accepted: float = 1.0) -> ClosedLoop:  # fmt: skip
    """The steady state of `users` conversations on one copy.

    decode, prefill  shares and overheads of decode steps and of prefill (ceiling: the defaults of Overheads)
    users, prompt, output, cached  conversations; tokens of each prompt, answer and cached prefix; shapes broadcast
    max_seqs         requests in service at most: what the engine admits and memory holds
    request_s        seconds of a request outside the engine's steps
    accepted         tokens per step and sequence (speculative decoding: more than 1)
    """
    users_, out = np.asarray(users, float), np.asarray(output, float)
    n = np.minimum(users_, max_seqs)
    steps = np.maximum(out - 1, 0.0) / accepted
    step = decode_step(work, machine, n, np.asarray(prompt, float) + out / 2, decode)
    one = prefill_work(work, machine, prompt, cached, prefill, n)
    alone = prefill_time(work, machine, prompt, cached, prefill)
    with np.errstate(divide="ignore", invalid="ignore"):
        per_step = np.where(steps > 0, step + (n - 1) / np.where(steps > 0, steps, 1.0) * one, np.nan)
    decoding = np.where(steps > 0, steps * np.nan_to_num(per_step), 0.0)
    # An arrival waits for the rest of the running step, and for prompts ahead of it in the same budget.
    busy = np.minimum((n - 1) * one / np.maximum(alone + decoding, 1e-12), 0.95)
    first = alone + request_s + np.where(n > 1, step / 2 + busy * one / (2 * (1 - busy)), 0.0)
    # Whatever the answers' length, n requests take at least the arithmetic of their n prompts.
    served = np.maximum(first + decoding, n * one)
    rate = n / served
    total = users_ / rate
    ttft = total - decoding
    run = alone + request_s + TOGETHER * (n - 1) / 2 * one + total - served
    shape = np.broadcast_shapes(n.shape, total.shape, out.shape)

    def full(a: Array) -> Array:
        return np.broadcast_to(a, shape)

    return ClosedLoop(full(n), full(ttft), full(run), full(per_step / accepted), full(np.asarray(step)), full(total),
                      full(rate), full(rate * out))  # fmt: skip
