"""What figures of one run must satisfy together: rates, Little's law, goodput, failures. Violations become warnings."""

from __future__ import annotations

from dataclasses import replace

from planner.measurements.measured import Measured
from planner.measurements.numbers import ratio
from planner.units import digits, duration

# Printed figures are rounded to two decimals; a run counts its edges a little differently.
_TOLERANCE = 0.02
# Requests in flight are a mean over the run: start, end and rounding leave a few per cent.
_FLIGHT_TOLERANCE = 0.10
# A p99 rests on the slowest hundredth: with fewer requests it is the slowest one or two.
_REQUESTS_FOR_P99 = 500
_ALONE = 1.05


def checked(measured: Measured) -> Measured:
    """Add what follows from the figures (requests in flight, implied prefill rate) and the warnings."""
    if measured.kind == "metrics":
        return replace(measured, in_flight=_in_flight(measured), warnings=tuple(_share_warnings(measured)))
    in_flight = measured.in_flight or _in_flight(measured)
    measured = replace(measured, in_flight=in_flight, implied_prefill_tok_per_s=_implied_prefill(measured))
    if measured.prefill_tok_per_s is None and in_flight is not None and in_flight <= _ALONE and measured.prompt_tokens:
        measured = replace(measured, prefill_tok_per_s=ratio(measured.prompt_tokens, measured.ttft_s.typical))
    warnings = [*_rate_warnings(measured), *_flight_warnings(measured), *_share_warnings(measured)]
    return replace(
        measured,
        warnings=tuple(warnings),
        notes=(*measured.notes, *_loop_notes(measured)),
        runs=tuple(checked(run) if run is not measured else run for run in measured.runs),
    )


def _in_flight(measured: Measured) -> float | None:
    """Mean requests in flight: as printed, else by Little's law, throughput x mean end-to-end time."""
    if measured.concurrency is not None or measured.request_per_s is None or measured.e2e_s.centre is None:
        return measured.concurrency
    return measured.request_per_s * measured.e2e_s.centre


def _implied_prefill(measured: Measured) -> float | None:
    """Prompt tokens/s that the whole server must at least have computed, if no more was cached than is printed.

    The largest of: one request's prompt in the median TTFT; all prompts over the whole run; and, where all requests
    were sent at once, the share of all prompts that was finished at each printed percentile of TTFT.
    """
    if not measured.prompt_tokens:
        return None
    prompt, ttft = measured.prompt_tokens * (1.0 - min(measured.prefix_hit_rate or 0.0, 1.0)), measured.ttft_s
    bounds = [measured.prefill_tok_per_s, ratio(prompt, ttft.typical)]
    if measured.completed and measured.duration_s:
        bounds.append(measured.completed * prompt / measured.duration_s)
    if measured.loop == "burst" and measured.completed:
        shares = ((0.5, ttft.median), (0.9, ttft.p90), (0.95, ttft.p95), (0.99, ttft.p99))
        bounds.extend(ratio(share * measured.completed * prompt, time) for share, time in shares)
    known = [bound for bound in bounds if bound is not None]
    return max(known, default=None)


def _rate_warnings(measured: Measured) -> list[str]:
    warnings = []
    rate = ratio(measured.completed, measured.duration_s)
    if rate and measured.request_per_s and not _close(measured.request_per_s, rate, _TOLERANCE, 0.005):
        warnings.append(
            f"{measured.completed} requests in {duration(measured.duration_s or 0.0)} are {digits(rate)} requests/s, "
            f"but {digits(measured.request_per_s)} is printed."
        )
    tokens = ratio((measured.completed or 0) * (measured.output_tokens or 0), measured.duration_s)
    if tokens and measured.output_tok_per_s and not _close(measured.output_tok_per_s, tokens, _TOLERANCE, 0.05):
        warnings.append(
            f"The tokens written over the duration are {digits(tokens)} tokens/s, "
            f"but {digits(measured.output_tok_per_s)} is printed."
        )
    written = _product(measured.request_per_s, measured.output_tokens) if measured.completed is None else None
    if (
        written
        and measured.output_tok_per_s
        and not _close(written, measured.output_tok_per_s, _FLIGHT_TOLERANCE, 0.05)
    ):
        warnings.append(
            f"{digits(measured.request_per_s or 0.0)} requests/s of {measured.output_tokens:,.0f} tokens are "
            f"{digits(written)} tokens/s, but {digits(measured.output_tok_per_s)} is printed: the rates are over "
            "different times."
        )
    good = measured.goodput_per_s
    if good is not None and measured.request_per_s and good > measured.request_per_s * (1 + _TOLERANCE):
        warnings.append(
            f"Goodput {digits(good)} requests/s is more than the throughput {digits(measured.request_per_s)}."
        )
    return warnings


def _flight_warnings(measured: Measured) -> list[str]:
    if measured.request_per_s is None or measured.e2e_s.centre is None or measured.kind != "serving":
        return []
    flight = measured.request_per_s * measured.e2e_s.centre
    printed, cap = measured.concurrency, measured.max_concurrency
    if printed and not _close(flight, printed, _FLIGHT_TOLERANCE, 0.5):
        return [
            f"Throughput x end-to-end time gives {flight:.1f} requests in flight, but {printed:.1f} is printed "
            "(a median in place of a mean, or a run too short to be steady)."
        ]
    if cap and flight > cap * (1 + _FLIGHT_TOLERANCE):
        return [f"Throughput x end-to-end time gives {flight:.1f} requests in flight, above the cap of {cap:.0f}."]
    return []


def _share_warnings(measured: Measured) -> list[str]:
    warnings = []
    if measured.failed:
        sent = measured.sent or measured.failed
        warnings.append(
            f"{measured.failed:,} of {sent:,} requests failed ({measured.failed / sent:.1%}): latencies leave them "
            "out, a service level must count them."
        )
    if measured.ttft_s.p99 is not None and measured.completed is not None and measured.completed < _REQUESTS_FOR_P99:
        warnings.append(
            f"The 99th percentile of {measured.completed:,} requests rests on "
            f"{max(1, round(measured.completed / 100))} of them: {_REQUESTS_FOR_P99} or more make it steady."
        )
    return warnings


_LOOP_NOTES = {
    "closed": "Closed loop: the number in flight is fixed, so overload cannot show; the queue stays at the client.",
    "burst": "All requests were sent at once: TTFT is mostly the wait for the others, about half the time to drain.",
    "open": "Open loop: requests arrive whether or not the server keeps up, so a queue shows in TTFT.",
}


def _loop_notes(measured: Measured) -> list[str]:
    notes = [_LOOP_NOTES[measured.loop]] if measured.loop else []
    if measured.accept_length and measured.accept_length > 1:
        notes.append(
            f"Speculative decoding gives {measured.accept_length:g} tokens a step: one gap between chunks (ITL) is not "
            "one token, and the rate may pass the ceiling of one token a step."
        )
    return notes


def _product(first: float | None, second: float | None) -> float | None:
    return None if first is None or second is None else first * second


def _close(first: float, second: float, tolerance: float, rounding: float) -> bool:
    """Equal within a relative tolerance, or within half the last printed digit."""
    return abs(first - second) <= max(tolerance * max(first, second), rounding)
