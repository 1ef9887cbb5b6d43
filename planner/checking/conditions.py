"""At which prompt, answer and concurrency something was measured; what the tool leaves out is the scenario's."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from planner.measurements import BenchRow, Measured
from planner.plan import Plan, mean_context
from planner.resolve import budget_of
from planner.units import count, digits, few

# Up to this many in flight on average, requests came one at a time.
ALONE: Final = 1.05
# No tool prints longer prompts in good faith; the scenario takes no more.
_LONGEST: Final = 10_000_000


@dataclass(frozen=True)
class Conditions:
    """The load of a measurement.

    prompt, output  tokens of each request; cached: first tokens of the prompt that were not computed again
    context         tokens of context, on average over the answer
    flight          conversations in flight at once in one copy, on average
    together        those of them that are served at once, as far as memory holds and the engine admits them
    accepted        tokens that one step writes for each conversation (speculative decoding)
    closed          a fixed number of conversations, each waiting for its answer
    stated          the tool states the prompt length
    assumed         one sentence for each figure that it does not state, or that the plan sees differently
    """

    prompt: float
    output: float
    cached: float
    context: float
    flight: float
    together: float
    accepted: float
    closed: bool
    stated: bool
    assumed: tuple[str, ...]

    @property
    def alone(self) -> bool:
        """Whether requests came one at a time."""
        return self.together <= ALONE

    @property
    def words(self) -> str:
        """The load in words: "prompt 1,024, answer 256, 8 at once"."""
        at_once = "alone" if self.alone else f"{few(self.flight)} at once"
        return f"prompt {count(self.prompt)}, answer {count(self.output)}, {at_once}"


def conditions(measured: Measured, p: Plan) -> Conditions:
    """The load of a measurement on the hardware of a plan."""
    s, assumed = p.scenario, []
    prompt, output = measured.prompt_tokens, measured.output_tokens
    stated = prompt is not None
    if prompt is None:
        assumed.append(
            f"The output does not state the prompt length: {count(s.prompt)} tokens are taken, as in the scenario."
        )
    if output is None:
        assumed.append(
            f"The output does not state the answer length: {count(s.output)} tokens are taken, as in the scenario."
        )
    cached = s.shared_prefix if prompt is None else (measured.prefix_hit_rate or 0.0) * prompt
    prompt = min(max(prompt or s.prompt, 1.0), _LONGEST)
    output = min(max(output or s.output, 1.0), _LONGEST)
    accepted = max(measured.accept_length or s.accepted, 1.0)
    if measured.accept_length is None and s.accepted > 1:
        assumed.append(f"The scenario's {digits(s.accepted)} tokens per step with speculative decoding are taken.")
    many, said = _together(measured, p)
    assumed += said
    found = Conditions(
        prompt, output, min(cached, prompt - 1), mean_context(prompt, output), many, many, accepted,
        measured.loop == "closed", stated, tuple(assumed),
    )  # fmt: skip
    if measured.rows:
        return _bench(measured, found)
    held = seats(p, found)
    served = max(min(many, held), min(many, (_writing(measured) or 0.0) / p.scenario.copies))
    if served > held * ALONE:
        assumed.append(
            f"By the plan {few(held)} requests are served at once, yet by its tokens/s the server wrote "
            f"{few(served)} together, which are taken: its settings or its memory are not those of the scenario."
        )
    elif many > held * ALONE:
        assumed.append(
            f"By the plan {few(held)} of {few(many)} requests in flight are served at once; the others wait."
        )
    return replace(found, together=served, assumed=tuple(assumed))


def _writing(measured: Measured) -> float | None:
    """Requests that write at the same time: Little's law for the decode stage alone, without the queue."""
    if measured.output_tok_per_s and measured.tpot_s.centre:
        return measured.output_tok_per_s * measured.tpot_s.centre
    return None


def _together(measured: Measured, p: Plan) -> tuple[float, list[str]]:
    """Conversations in service in one copy: as printed, else by Little's law, else as in the scenario."""
    copies = p.scenario.copies
    if measured.kind == "single":
        return 1.0, []
    writing = _writing(measured)
    if measured.loop == "closed" or writing is None:
        known = measured.in_flight or measured.max_concurrency or measured.running
    else:
        known = min(measured.in_flight or math.inf, writing)
    if known:
        return max(known / copies, 1.0), []
    users = p.scenario.users if p.scenario.load == "closed" else max((p.load.in_flight or 1.0), 1.0)
    sentence = f"The output does not state how many requests ran at once: {few(users)} are taken, as in the scenario."
    return max(users / copies, 1.0), [sentence]


def seats(p: Plan, c: Conditions) -> float:
    """Requests of this length served at once by one copy: what memory holds, where it loads, and the engine admits."""
    s = p.scenario.change(prompt=max(1, round(c.prompt)), output=min(max(1, round(c.output)), 1_000_000))
    admitted = p.seqs * p.layout.attention_data
    held = budget_of(s, p.device).concurrent
    return float(min(admitted, held) if held else admitted)


def _bench(measured: Measured, c: Conditions) -> Conditions:
    """llama-bench tests prompt and answer apart: the answer starts at the depth of its row, not behind the prompt."""
    mine = [row for row in measured.rows if row.model == measured.model]
    prompt, answer = headline(mine, "pp"), headline(mine, "tg")
    if prompt is not None:
        c = replace(c, prompt=float(prompt.depth + prompt.prompt_tokens), cached=float(prompt.depth))
    if answer is not None:
        c = replace(c, output=float(answer.output_tokens), context=mean_context(answer.depth, answer.output_tokens))
    kept = tuple(a for a in c.assumed if not ("prompt length" in a and prompt is None) and "answer length" not in a)
    return replace(c, assumed=kept, stated=prompt is not None)


def headline(rows: Sequence[BenchRow], test: str) -> BenchRow | None:
    """The first test of its kind on the emptiest cache: the one whose rate is the measurement's figure."""
    return min((row for row in rows if row.test == test), key=lambda row: row.depth, default=None)
