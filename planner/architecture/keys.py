"""Reading one section of a config and remembering what was used, defaulted and left alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from planner.architecture.vocabulary import ALIASES, FRAME, OFTEN_LEFT_OUT, SHAPE_KEYS, STATED
from planner.errors import ConfigError

_MISSING: Final = object()

# Wider than any model published; they keep a mistyped config from producing absurd work.
LARGEST: Final = 10**9
MOST_LAYERS: Final = 10_000

Path = tuple[str, ...]  # the names from the top of the config to a key; a name may itself hold dots


def shown(value: Any) -> str:
    """A value as JSON writes it (null, true, NaN), cut to 60 characters, for messages."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."


@dataclass
class Log:
    """What happened to the keys of one config, shared by all its sections."""

    used: dict[Path, Any] = field(default_factory=dict)
    defaulted: dict[str, Any] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    guesses: list[str] = field(default_factory=list)


class Keys:
    """One section (a JSON object) of a config.

    data      the section
    path      its dotted path from the top, "" at the top (or the names one by one, where a name holds a dot)
    defaults  what an absent key means in this section (the model class's defaults); null is not absent
    log       shared record of all sections
    wrapper   the section around a language model's, whose `tie_word_embeddings` goes before its own
    """

    def __init__(self, data: Mapping[str, Any], path: str | Path = "", defaults: Mapping[str, Any] | None = None,
                 log: Log | None = None, wrapper: Keys | None = None) -> None:  # fmt: skip
        self.data = data
        self.where: Path = path if isinstance(path, tuple) else tuple(path.split(".")) if path else ()
        self.defaults = defaults or {}
        self.log = log if log is not None else Log()
        self.wrapper = wrapper

    @property
    def path(self) -> str:
        """The section's dotted path from the top, for messages."""
        return ".".join(self.where)

    def _full(self, name: str) -> str:
        return ".".join((*self.where, name))

    def use(self, name: str) -> None:
        """Record a key as used, an object by its presence alone (its own keys are recorded as they are read)."""
        value = self.data[name]
        if isinstance(value, Mapping):
            self.log.used.setdefault((*self.where, name), {})
        else:
            self.log.used[(*self.where, name)] = value

    def has(self, *names: str) -> bool:
        """Whether one of these keys (or their aliases) is present, be it null."""
        for name in names:
            for candidate in (name, *ALIASES.get(name, ())):
                if candidate in self.data:
                    self.use(candidate)
                    return True
        return False

    def raw(self, name: str, default: Any = _MISSING) -> Any:
        """The value as written, or the class default, or `default`; a missing one is recorded and None returned.

        Aliases are tried in turn; a null under one name gives way to a value under another.
        """
        null_seen = None
        for candidate in (name, *ALIASES.get(name, ())):
            if candidate in self.data:
                value = self.data[candidate]
                if value is None:
                    null_seen = null_seen or candidate
                    continue
                self.log.used[(*self.where, candidate)] = value
                return value
        if null_seen:
            self.log.used[(*self.where, null_seen)] = None
            return None
        by_class = next((c for c in (name, *ALIASES.get(name, ())) if c in self.defaults), None)
        if by_class is not None:
            default = self.defaults[by_class]
        if name in (STATED if by_class is None else SHAPE_KEYS):
            self._class_default(name, default)
        if default is _MISSING:
            if self._full(name) not in self.log.missing:
                self.log.missing.append(self._full(name))
            return None
        self.log.defaulted[self._full(name)] = default
        return default

    def _class_default(self, name: str, default: Any) -> None:
        """Say when a key that gives the model its shape is absent: a file of a real model nearly always has it."""
        if default is not _MISSING and default:  # null or 0: there is no such part
            self._say_absent(name, f"is absent; the default of this model class, {default}, is used.")

    def _say_absent(self, name: str, what: str) -> None:
        """A guess, or just a note where a wrapper leaves its language model at the class's defaults."""
        sentence = f"{self._full(name)} {what}"
        stated = any(key in self.data for frame in FRAME for key in (frame, *ALIASES.get(frame, ())))
        if self.where and (name in OFTEN_LEFT_OUT or not stated):
            self.warn(sentence)
        else:
            self.guess(f"{sentence} Check that the whole config.json was pasted.")

    def _bad(self, name: str, value: Any, expected: str) -> ConfigError:
        key = next((c for c in (name, *ALIASES.get(name, ())) if c in self.data), name)
        return ConfigError(
            f"{self._full(key)} is {shown(value)}; expected {expected}. "
            "Correct this key in the config and paste it again."
        )

    def integer(self, name: str, default: Any = _MISSING, *, null: Any = _MISSING, least: int = 1,
                most: int = LARGEST) -> int:  # fmt: skip
        """A whole number from `least` to `most`.

        default  value when the key is absent and the model class has no default
        null     value when the key is null (not given: null counts as an error)
        Raises ConfigError naming the key, the value and what was expected.
        """
        value = self.raw(name, default)
        if value is None:
            if self._full(name) in self.log.missing:
                return max(least, 1)
            if null is _MISSING:
                raise self._bad(name, None, f"a whole number from {least} to {most:,}")
            return null  # type: ignore[no-any-return]
        if isinstance(value, float) and math.isfinite(value) and value == int(value):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise self._bad(name, value, f"a whole number from {least} to {most:,}")
        return value

    def optional(self, name: str, default: int | None = None, *, least: int = 0, most: int = LARGEST) -> int | None:
        """A whole number, or None where the key is null (or absent with no class default)."""
        if self.raw(name, default) is None:
            return None
        return self.integer(name, default, least=least, most=most)

    def number(self, name: str, default: Any = _MISSING, *, least: float = 0, most: float = 1e12) -> float:
        """A finite number from `least` to `most`."""
        value = self.raw(name, default)
        if value is None and self._full(name) in self.log.missing:
            return max(least, 1)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value <= most:
            raise self._bad(name, value, f"a number from {least:,.15g} to {most:,.15g}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        """True or false; null counts as false."""
        value = self.raw(name, default)
        if value is None:
            return False
        if value in (0, 1):
            return bool(value)
        raise self._bad(name, value, "true or false")

    def text(self, name: str, default: str | None = None) -> str | None:
        """A string or None."""
        value = self.raw(name, default)
        if value is not None and not isinstance(value, str):
            raise self._bad(name, value, "a text")
        return value

    def items(self, name: str, default: Sequence[Any] | None = None, *, most: int = MOST_LAYERS) -> list[Any] | None:
        """A list or None; longer than `most` is refused."""
        value = self.raw(name, default)
        if value is None:
            return None
        if not isinstance(value, (list, tuple)) or len(value) > most:
            raise self._bad(name, value, f"a list of at most {most:,} entries")
        return list(value)

    def section(self, name: str, defaults: Mapping[str, Any] | None = None) -> Keys:
        """A nested object as a section of its own (empty where absent or null)."""
        value = self.data.get(name)
        if value is not None and not isinstance(value, Mapping):
            raise self._bad(name, value, "an object in braces")
        if name in self.data:
            self.use(name)
        return Keys(value or {}, (*self.where, name), defaults, self.log)

    def warn(self, sentence: str) -> None:
        """Something the user should know about how this config was read."""
        if sentence not in self.log.warnings:
            self.log.warnings.append(sentence)

    def guess(self, sentence: str) -> None:
        """An assumption that makes the whole reading a guess."""
        if sentence not in self.log.guesses:
            self.log.guesses.append(sentence)

    def refuse(self, sentence: str) -> ConfigError:
        """An error about this section, to be raised by the caller."""
        return ConfigError(sentence)

    # Shapes that nearly every family asks for -----------------------------------------------------------------

    def layers(self) -> int:
        """Number of layers."""
        return self.integer("num_hidden_layers", most=MOST_LAYERS)

    def head_dim(self, hidden: int, heads: int) -> int:
        """head_dim when given and not null; else the class's fixed one; else hidden / heads."""
        default = self.defaults.get("head_dim")
        if default is not None and not self.has("head_dim"):
            # A class default that equals its own hidden / heads follows the file's sizes unless it is marked fixed.
            derived = default * self.defaults.get("num_attention_heads", 0) == self.defaults.get("hidden_size")
            if self.defaults.get("head_dim_fixed", not derived):
                self.log.defaulted[self._full("head_dim")] = default
                return int(default)
        if self.has("head_dim") and (value := self.raw("head_dim", None)) is not None and value != 0:
            return self.integer("head_dim")
        if hidden % heads:
            raise self.refuse(
                f"{self._full('hidden_size')} is {hidden}, which {heads} attention heads do not divide, and head_dim "
                "is absent. Add head_dim, or correct num_attention_heads."
            )
        self.log.defaulted[self._full("head_dim")] = hidden // heads
        return hidden // heads

    def kv_heads(self, heads: int) -> int:
        """num_key_value_heads; null means as many as query heads, absent means the class default or as many.

        A class whose default is its own number of heads follows the file's heads.
        """
        given = self.has("num_key_value_heads")
        kv = self.integer("num_key_value_heads", null=heads) if given else self._absent_kv_heads(heads)
        if heads % kv and not self.log.missing:
            raise self.refuse(
                f"{self._full('num_key_value_heads')} is {kv}, which does not divide the {heads} attention heads. "
                "Correct num_key_value_heads or num_attention_heads."
            )
        return kv

    def _absent_kv_heads(self, heads: int) -> int:
        """Said where the class has a number of its own, because files of such models do give theirs."""
        default = self.defaults.get("num_key_value_heads")
        kv = heads if default in (None, self.defaults.get("num_attention_heads")) else int(default)
        self.log.defaulted[self._full("num_key_value_heads")] = kv
        if default is not None:
            self._say_absent("num_key_value_heads", f"is absent; {kv} is used, as the model class has it.")
        elif "num_key_value_heads" in self.defaults:
            self.warn(f"{self._full('num_key_value_heads')} is absent, so each of the {heads} query heads has its own.")
        return kv

    def tied(self) -> bool:
        """Whether the head is the embedding table again; in a wrapper its own flag goes first."""
        if self.wrapper is not None and self.wrapper.has("tie_word_embeddings"):
            return self.wrapper.flag("tie_word_embeddings", False)
        return self.flag("tie_word_embeddings", False)
