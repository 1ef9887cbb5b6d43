"""Which modules a quantization config speaks of: exact names, parents, globs and regular expressions.

Configs and checkpoints disagree about prefixes (`model.`, `language_model.model.`, `backbone.`), about a few synonyms
(`block_sparse_moe` for `mlp`, `w1` for `gate_proj`) and about fused modules (`qkv_proj` for `q_proj`, `k_proj` and
`v_proj`). Both sides are brought to one spelling before they are compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

# Path components that wrap a text model and say nothing.
WRAPPERS: Final = frozenset({"model", "language_model", "text_model", "backbone", "transformer", "llm", "thinker"})

SYNONYMS: Final = {
    "block_sparse_moe": "mlp", "feed_forward": "mlp", "ffn": "mlp", "w1": "gate_proj", "w2": "down_proj",
    "w3": "up_proj", "attn": "self_attn", "attention": "self_attn", "shared_expert": "shared_experts",
    "head": "lm_head", "embed": "embed_tokens", "embeddings": "embed_tokens",
}  # fmt: skip

# A module and the fused ones that hold it, both ways.
FUSED: Final = {
    "q_proj": ("qkv_proj",), "k_proj": ("qkv_proj",), "v_proj": ("qkv_proj",),
    "gate_proj": ("gate_up_proj",), "up_proj": ("gate_up_proj",),
    "qkv_proj": ("q_proj", "k_proj", "v_proj"), "gate_up_proj": ("gate_proj", "up_proj"),
    "in_proj_qkvz": ("in_proj_qkv", "in_proj_z"), "in_proj_qkv": ("in_proj_qkvz",), "in_proj_z": ("in_proj_qkvz",),
    "in_proj_ba": ("in_proj_b", "in_proj_a"), "in_proj_b": ("in_proj_ba",), "in_proj_a": ("in_proj_ba",),
}  # fmt: skip

MOST_PATTERNS: Final = 200_000
MOST_REGEXES: Final = 2_000
LONGEST_PATTERN: Final = 400
# Repetitions in one expression: the time to try a name grows with the name's length to this power.
MOST_REPEATS: Final = 3

# A repeated group can take exponential time; module names never need one.
_REPEATED_GROUP = re.compile(r"(?<!\\)\)[+*{]")
_REPEAT = re.compile(r"(?<!\\)[+*]|\{\d*,\d*\}")
_EXPERT = re.compile(r"experts\.\d+")
_DIGIT = re.compile(r"\d")
_EXPERT_NUMBER = re.compile(r"experts\W+[^a-z]*\d")
_ENDS = ("weight", "bias", "packed")
_SUFFIX = re.compile(r"\.(weight|bias|weight_packed|qweight)$")


@lru_cache(maxsize=65536)
def spelling(path: str) -> str:
    """A module path without wrapping components, with synonyms replaced."""
    parts = (_SUFFIX.sub("", path) if path.endswith(_ENDS) else path).split(".")
    start = 0
    while start < len(parts) - 1 and parts[start] in WRAPPERS:
        start += 1
    return ".".join(SYNONYMS.get(part, part) for part in parts[start:])


def alternatives(path: str) -> tuple[str, ...]:
    """A spelt path and the same with its last component fused or split."""
    stem, _, last = path.rpartition(".")
    others = FUSED.get(last, ())
    return (path, *(f"{stem}.{other}" if stem else other for other in others))


class Names:
    """A set of modules, given as in a quantization config.

    patterns  plain names (a module, a parent of it, or any run of components of its path), globs with `*`,
              regular expressions after `re:`
    always_regex  every pattern is a regular expression (GPTQ's `dynamic`)
    `unclear` lists the patterns that could not be used.
    """

    def __init__(self, patterns: Iterable[str], *, always_regex: bool = False) -> None:
        self._plain: dict[str, set[str]] = {}
        self._starts: dict[str, set[str]] = {}
        self._regexes: list[re.Pattern[str]] = []
        self._known: dict[str, bool] = {}
        self.unclear: list[str] = []
        self.by_layer = False
        self.by_expert = False
        count = 0
        for pattern in patterns:
            count += 1
            if not isinstance(pattern, str) or not pattern or len(pattern) > LONGEST_PATTERN or count > MOST_PATTERNS:
                self.unclear.append(str(pattern)[:60])
                continue
            self._add(pattern, always_regex)
        self._whole = frozenset().union(*self._plain.values())
        self._lengths = {
            first: sorted({name.count(".") + 1 for name in names}) for first, names in self._plain.items()
        }  # fmt: skip
        self._start_lengths = {first: sorted({len(s) for s in names}) for first, names in self._starts.items()}

    def __bool__(self) -> bool:
        return bool(self._plain or self._starts or self._regexes)

    def _add(self, pattern: str, always_regex: bool) -> None:
        self.by_layer = self.by_layer or bool(_DIGIT.search(pattern))
        self.by_expert = self.by_expert or bool(_EXPERT_NUMBER.search(pattern))
        if always_regex or pattern.startswith("re:"):
            self._add_regex(pattern.removeprefix("re:"))
            return
        spelt = spelling(pattern)
        self.by_layer = self.by_layer or "?" in spelt  # one character can be a layer's number
        if "*" not in spelt and "?" not in spelt and "[" not in spelt:
            self._plain.setdefault(spelt.partition(".")[0], set()).add(spelt)
        elif spelt.endswith("*") and spelt.count("*") == 1 and "?" not in spelt and "[" not in spelt:
            self._starts.setdefault(spelt[:-1][:1], set()).add(spelt[:-1])
        else:
            self._add_regex("".join({"*": ".*", "?": "."}.get(c, re.escape(c)) for c in spelt) + r"(?:\.|$)")

    def _add_regex(self, expression: str) -> None:
        expression = re.sub(r"\.\*\$?$", "", re.sub(r"(\.\*)+", ".*", expression))  # what follows may be anything
        repeats = len(_REPEAT.findall(expression))
        if repeats > MOST_REPEATS or _REPEATED_GROUP.search(expression) or len(self._regexes) >= MOST_REGEXES:
            self.unclear.append(expression[:60])
            return
        try:
            self._regexes.append(re.compile(expression))
        except (re.error, OverflowError, RecursionError):
            self.unclear.append(expression[:60])

    def __contains__(self, path: object) -> bool:
        """Whether the module of this checkpoint path is meant."""
        if not isinstance(path, str):
            return False
        if self.by_expert:
            return self._meant(path)
        one = _EXPERT.sub("experts.0", path)  # all experts of a layer alike
        if one not in self._known:
            self._known[one] = self._meant(one)
        return self._known[one]

    def _meant(self, path: str) -> bool:
        spelt = spelling(path)
        if spelt in self._whole or self._named(spelt):
            return True
        both_ways = alternatives(spelt)
        return any(self._named(p) for p in both_ways[1:]) or (bool(self._regexes) and self._matched(path, both_ways))

    def _named(self, path: str) -> bool:
        parts = path.split(".")
        for at, part in enumerate(parts):
            if part in self._plain:
                names = self._plain[part]
                for length in self._lengths[part]:
                    if at + length <= len(parts) and ".".join(parts[at : at + length]) in names:
                        return True
        if not self._starts:
            return False
        starts = self._starts.get(path[:1], ())
        return "" in self._starts or any(path[:n] in starts for n in self._start_lengths.get(path[:1], ()))

    def _matched(self, path: str, spelt: tuple[str, ...]) -> bool:
        stem, _, _ = path.rpartition(".")
        written = [path, *(f"{stem}.{p.rpartition('.')[2]}" for p in spelt)]
        tried = dict.fromkeys([
            *written, *spelt, *(f"model.{p}" for p in spelt),
            *(f"model.language_model.{p}" for p in spelt), *(f"language_model.model.{p}" for p in spelt),
        ])  # fmt: skip
        return any(regex.match(p) for regex in self._regexes for p in tried)
