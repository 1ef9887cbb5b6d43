"""A what-if planner for serving large language models on your own hardware.

The public surface: `read_config`, `load_devices`, `Scenario`, `PlannerError`, loaded on first use, so that the command
line answers at once; and the function `planner.plan.plan` (`planner.plan` itself is its module).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.architecture import read_config as read_config
    from planner.devices import load_devices as load_devices
    from planner.errors import PlannerError as PlannerError
    from planner.scenario import Scenario as Scenario

_HOMES = {
    "read_config": "planner.architecture",
    "load_devices": "planner.devices",
    "Scenario": "planner.scenario",
    "PlannerError": "planner.errors",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'planner' has no attribute {name!r}")
