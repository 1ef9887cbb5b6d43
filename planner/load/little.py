"""Little's law, and the service rate it is held against.

L = lambda x W (requests in flight = arrivals per second x seconds each stays) is an identity: it holds in overload too
and promises no capacity. Capacity comes from the service rate: with n requests in flight a copy finishes n of them in

    mu(n) = n / R(n),  R(n) from the mean field of continuous batching (closed.py)

which rises to mu(n_max), n_max being what memory holds and the engine admits. At or past it there is no steady state.
Sources: Little 1961; the mean-field form of continuous batching (state-dependent processor sharing).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def in_flight(arrivals_per_s: npt.ArrayLike, time_in_system_s: npt.ArrayLike) -> Array:
    """Little's law: requests in flight = arrivals per second x seconds each stays (10/s x 2 s = 20)."""
    return np.asarray(np.asarray(arrivals_per_s, float) * np.asarray(time_in_system_s, float))


@dataclass(frozen=True)
class Load:
    """What the asked load means, per whole installation (all copies).

    mode              closed: so many conversations at once; open: so many arrivals per second
    in_flight         requests inside at once (None: no steady state)
    arrivals_per_s    arrivals in steady state; in closed mode the rate that the users produce
    time_in_system_s  seconds a request stays (None: no steady state)
    utilization       arrivals over the service rate at the largest batch (None: nothing can be served)
    steady_state      whether the queue stays bounded
    capacity_per_s    service rate at the largest batch
    holds             requests that memory holds and the engines admit at once
    backlog_per_s     requests by which the queue grows each second (0 in steady state)
    """

    mode: str
    in_flight: float | None
    arrivals_per_s: float | None
    time_in_system_s: float | None
    utilization: float | None
    steady_state: bool
    capacity_per_s: float
    holds: int
    backlog_per_s: float = 0.0


Residence = Callable[[Array], Array]


def load(mode: str, users: int, rate: float, copies: int, holds: int, seconds: Residence) -> Load:
    """The load that users (closed) or arrivals (open) put on `copies` alike copies, each holding `holds` requests.

    Requests are dealt evenly to the copies. Raises nothing: with nothing to serve it says so in the result.
    """
    if holds < 1:
        return Load(mode, None, rate if mode == "open" else None, None, None, mode == "closed" and users == 0, 0.0, 0,
                    rate if mode == "open" else 0.0)  # fmt: skip
    each = users / copies
    served = min(each, float(holds))
    grid = np.sort(np.append(np.geomspace(1, holds, min(holds, 200)), max(served, 1.0)))
    rates = np.maximum.accumulate(grid / seconds(grid))
    capacity = float(rates[-1])
    if mode == "closed":
        throughput = min(served, 1.0) * float(rates[np.searchsorted(grid, max(served, 1.0))])
        return Load(mode, float(users), throughput * copies, each / throughput, throughput / capacity, True,
                    capacity * copies, holds * copies)  # fmt: skip
    each_rate = rate / copies
    used = each_rate / capacity
    if used >= 1:
        return Load(mode, None, rate, None, used, False, capacity * copies, holds * copies,
                    rate - capacity * copies)  # fmt: skip
    n = float(np.interp(each_rate, np.concatenate([[0.0], rates]), np.concatenate([[0.0], grid])))
    stay = float(seconds(np.array([max(n, 1.0)]))[0])
    return Load(mode, float(in_flight(rate, stay)), rate, stay, used, True, capacity * copies, holds * copies)
