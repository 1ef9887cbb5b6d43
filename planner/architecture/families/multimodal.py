"""placeholder"""
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
WRAPPERS: frozenset[str] = frozenset()
@family("wrapper")
def wrapper(k: Keys) -> Body:
    raise k.refuse("no")
