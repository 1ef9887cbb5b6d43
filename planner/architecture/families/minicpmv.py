"""MiniCPM-V 2.5 to 4.5: Llama or Qwen with SigLIP and a resampler, its keys at the top of the file.

Source: the model code beside the checkpoints, which chooses the language model's class by `version`.
"""

from __future__ import annotations

from typing import Final

from planner.architecture.document_towers import minicpmv as towers
from planner.architecture.families import Body, family
from planner.architecture.families.multimodal import Wrapper, read_wrapper
from planner.architecture.keys import Keys

BY_VERSION: Final = {"2.5": "llama", "2.6": "qwen2", "4.0": "llama", "4": "llama", "4.5": "qwen3"}


@family("minicpmv", wrapper=True)
def minicpmv(k: Keys) -> Body:
    """The language model that `version` stands for; a guess where it says nothing known."""
    value = k.raw("version", None)
    text = BY_VERSION.get(str(value), "")
    if not text:
        named = k.text("_name_or_path") or ""
        text = "llama" if "llama" in named.lower() else "qwen2"
        k.guess(
            f"version is {'absent' if value is None else repr(value)[:40]}, which says which language model this is; "
            f"it is read as {text!r}. Compare the parameters with the published number."
        )
    return read_wrapper(Wrapper(text, towers, ("llm.", "llm."), flat=True), k)
