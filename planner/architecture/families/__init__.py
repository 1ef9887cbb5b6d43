"""The registry of model families: `model_type` -> function from keys to a list of matrices and caches.

To add a family, write a function here-about, decorate it with `@family("its_model_type")`; every module of
this folder is loaded. See docs/adding-a-family.md.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from planner.architecture.keys import Keys
from planner.architecture.ledger import Block


@dataclass(frozen=True)
class Body:
    """What a family function returns: the ledger and the shapes that findings speak of."""

    blocks: list[Block]
    n_layers: int
    hidden: int
    vocab: int
    heads: int
    kv_heads: int
    tied: bool


FamilyFunction = Callable[[Keys], Body]
FAMILIES: dict[str, FamilyFunction] = {}
WRAPPERS: set[str] = set()  # families that count the towers around their language model themselves


def family(*model_types: str, wrapper: bool = False) -> Callable[[FamilyFunction], FamilyFunction]:
    """Register a function for these values of `model_type`; a wrapper is a language model with towers around it."""

    def register(function: FamilyFunction) -> FamilyFunction:
        for model_type in model_types:
            FAMILIES[model_type] = function
        if wrapper:
            WRAPPERS.update(model_types)
        return function

    return register


@cache
def load_all() -> dict[str, FamilyFunction]:
    """Every family, its module imported on the first call."""
    for module in iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    return FAMILIES
