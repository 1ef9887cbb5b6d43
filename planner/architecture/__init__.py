"""From the text of a config.json to an Architecture."""

from planner.architecture.ledger import Architecture, Block, Cache, KeyLog, Matrix, Mixing
from planner.architecture.reader import read_config

__all__ = ["Architecture", "Block", "Cache", "KeyLog", "Matrix", "Mixing", "read_config"]
