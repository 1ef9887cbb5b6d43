"""The published measurements with their predictions, worked out once for all tests."""

from functools import lru_cache

from tools.evidence.cases import Array, Features, cases, features
from tools.evidence.model import Models, left_out


@lru_cache(maxsize=1)
def evidence() -> tuple[Features, Models, Array]:
    """Cases, fits, and the seconds that fits without each case's device predict."""
    x = features(cases())
    models = Models(x)
    return x, models, left_out(x, models)
