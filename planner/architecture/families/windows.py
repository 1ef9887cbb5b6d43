"""Which layers see only the last tokens: sliding windows and chunks, layer by layer.

A file that lists `layer_types` decides for itself. Without the list each family has a rule of its own; the rules are
named here once. A window longer than the context is full attention in effect, and is still listed as a window.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal

from planner.architecture.keys import Keys

Rule = Literal["types", "all", "flagged", "late", "odd early", "even", "last of", "first of"]

# rule -> does layer i slide, given the period n (max_window_layers for the rules in FLAGGED, which hold only with
# use_sliding_window).
RULES: Final[dict[Rule, Callable[[int, int], bool]]] = {
    "types": lambda i, n: False,  # only where layer_types says so
    "all": lambda i, n: True,  # mistral, mixtral, phi3, starcoder2
    "flagged": lambda i, n: True,  # qwen3_moe
    "late": lambda i, n: i >= n,  # qwen2, qwen3: from max_window_layers on
    "odd early": lambda i, n: i % 2 == 0 and i < n,  # qwen2_moe: the first, third ... layer before max_window_layers
    "even": lambda i, n: i % 2 == 0,  # gemma2, gpt_oss
    "last of": lambda i, n: (i + 1) % n != 0,  # gemma3 (6), cohere2, olmo3, exaone4 (4): the last of n is full
    "first of": lambda i, n: i % n != 0,  # cwm (4): the first of n is full
}
FLAGGED: Final = frozenset({"flagged", "late", "odd early"})


def layer_windows(k: Keys, layers: int, rule: Rule, *, period: int = 1,
                  key: str = "sliding_window") -> list[int | None]:  # fmt: skip
    """Tokens visible at most in each layer; None for full attention.

    k       section of the text model
    layers  number of layers
    rule    what holds where the file has no `layer_types`
    period  layers per group for "last of" and "first of" unless the file has `sliding_window_pattern`
    key     the key with the window in tokens (null or 0: every layer sees everything)
    Raises ConfigError when `layer_types` is shorter than the model.
    """
    if rule in FLAGGED and not k.flag("use_sliding_window"):
        return [None] * layers
    if rule in ("last of", "first of"):
        slides = _grouped(k, layers, rule, period)
    else:
        first = k.integer("max_window_layers", layers, null=layers, least=0) if rule in FLAGGED else period
        slides = [RULES[rule](i, first) for i in range(layers)]
    listed = layer_kinds(k, layers)
    if listed is not None:
        slides = ["sliding" in kind for kind in listed]
    if not any(slides):
        return [None] * layers
    window = k.optional(key) or None
    return [window if sliding else None for sliding in slides]


def _grouped(k: Keys, layers: int, rule: Rule, period: int) -> list[bool]:
    """Layers that slide in a pattern of `sliding_window_pattern` layers: a number, or letters such as "LLLG"."""
    pattern = k.raw("sliding_window_pattern", None)
    if pattern is None:
        pattern = k.raw("_sliding_window_pattern", period)
    if isinstance(pattern, str) and pattern and set(pattern) <= set("LG"):
        # L local, G global; the last layer is global whatever the letters say (EXAONE 4).
        return [pattern[i % len(pattern)] == "L" and i != layers - 1 for i in range(layers)]
    if isinstance(pattern, bool) or not isinstance(pattern, int) or pattern < 1:
        raise k.refuse(
            f"sliding_window_pattern is {pattern!r}; expected how many layers form a group (such as {period}), "
            'or letters L and G such as "LLLG". Correct this key in the config and paste it again.'
        )
    return [RULES[rule](i, pattern) for i in range(layers)]


def layer_chunks(k: Keys, layers: int, *, step: int = 4) -> list[int | None]:
    """Tokens of the chunk that each layer of Llama 4 attends within; None for full attention.

    Every `step`-th layer (no_rope_layer_interval, or a 0 in no_rope_layers) has no rotary positions and sees all.
    """
    interval = k.integer("no_rope_layer_interval", step, null=step)
    listed = layer_kinds(k, layers)
    rope = k.items("no_rope_layers", None)
    if listed is not None:
        chunked = ["chunked" in kind for kind in listed]
    elif rope:
        if len(rope) < layers:
            raise k.refuse(f"no_rope_layers has {len(rope)} entries for {layers} layers; give one entry per layer.")
        chunked = [bool(rotary) for rotary in rope[:layers]]
    else:
        chunked = [(i + 1) % interval != 0 for i in range(layers)]
    size = k.optional("attention_chunk_size") or None
    return [size if chunk else None for chunk in chunked]


def layer_kinds(k: Keys, layers: int, name: str = "layer_types") -> list[str] | None:
    """The kind of each layer where the file lists them ("full_attention", "sliding_attention", "linear_attention" ...).

    A longer list than the model has layers is cut (some files keep the list of the model they were cut from).
    Raises ConfigError for a shorter list and for entries that are no text.
    """
    listed = k.items(name, None)
    if not listed:
        return None
    if len(listed) < layers:
        raise k.refuse(
            f"{name} has {len(listed)} entries for {layers} layers; give one entry per layer, "
            "or correct num_hidden_layers."
        )
    if not all(isinstance(kind, str) for kind in listed):
        raise k.refuse(f'{name} holds entries that are no text; expected names such as "full_attention".')
    if len(listed) > layers:
        k.warn(f"{name} has {len(listed)} entries for {layers} layers; the first {layers} are used.")
    return listed[:layers]
