"""`curl -w` around one streamed request: time_pretransfer, time_starttransfer and time_total.

Meaning: https://curl.se/docs/manpage.html#-w. Each is seconds since curl started; the request has just been sent at
pretransfer and the first byte of the answer has come at starttransfer, so their difference is TTFT for a stream, as
long as the server sends its header with the first token.
"""

from __future__ import annotations

import re

from planner.measurements.documents import Pasted
from planner.measurements.measured import Measured, Stat
from planner.measurements.numbers import count, number, ratio

_PAIR = re.compile(
    r"(?:time_)?(namelookup|connect|appconnect|pretransfer|starttransfer|total)\"?\s{0,8}[:=]?\s{1,8}\"?(\d{1,6}[.,]\d{1,9})",
    re.IGNORECASE,
)
_TIGHT = re.compile(
    r"time_(pretransfer|starttransfer|total)[\"']?\s{0,8}[:=]\s{0,8}[\"']?(\d{1,6}(?:[.,]\d{1,9})?)", re.IGNORECASE
)
_USAGE = re.compile(r'"(prompt_tokens|completion_tokens)"\s*:\s*(\d{1,9})')


def read(pasted: Pasted) -> Measured | None:
    """TTFT and total of one request, None where no starttransfer was printed."""
    times: dict[str, float] = {}
    for pattern in (_PAIR, _TIGHT):
        for match in pattern.finditer(pasted.text):
            figure = number(match.group(2).replace(",", "."))
            if figure is not None:
                times[match.group(1).lower()] = figure
    if "starttransfer" not in times:
        return None
    usage = {match.group(1): count(match.group(2)) for match in _USAGE.finditer(pasted.text)}
    prompt, output = usage.get("prompt_tokens"), usage.get("completion_tokens")
    sent = times.get("pretransfer", 0.0)
    ttft = max(times["starttransfer"] - sent, 0.0)
    total = times.get("total")
    e2e = total - sent if total is not None and total >= times["starttransfer"] else None
    steps = output - 1 if output and output > 1 else None
    tpot = ratio(None if e2e is None else e2e - ttft, steps) or None
    return Measured(
        tool="curl",
        label="curl",
        kind="single",
        prompt_tokens=float(prompt) if prompt is not None else None,
        output_tokens=float(output) if output is not None else None,
        in_flight=1.0,
        completed=1,
        ttft_s=Stat(mean=ttft),
        tpot_s=Stat(mean=tpot),
        e2e_s=Stat(mean=e2e),
        decode_tok_per_s=ratio(1.0, tpot),
        notes=tuple(_notes("pretransfer" in times, e2e, output)),
    )


def _notes(pretransfer: bool, e2e: float | None, output: int | None) -> list[str]:
    notes = ["Client time of one request: network and queue are in it."]
    if not pretransfer:
        notes.append("time_pretransfer is missing, so the connection is in TTFT too.")
    notes.append(
        "starttransfer is the first byte of the answer: it is TTFT only with streaming, and too short where the "
        "server sends its header before the first token."
    )
    if e2e is not None and output is None:
        notes.append(
            "The number of output tokens is not in the text, so there is no TPOT: ask for usage "
            '("stream_options": {"include_usage": true}) and paste the last lines of the stream too.'
        )
    return notes
