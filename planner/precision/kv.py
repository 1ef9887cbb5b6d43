"""Formats of the KV cache: bytes of one stored element, scales included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.errors import PlannerError
from planner.names import named


@dataclass(frozen=True)
class KvFormat:
    """A storage format for keys, values and latents.

    name   stable key, as on the command line and in links
    label  short text for forms and tables
    bytes_per_element  true bytes of one element, block scales included
    scales  where its scales are and why they are or are not in that figure
    risk   what it does to quality, in plain words
    engines  which engines offer it
    needs  column of the device table that must hold a figure for a fast path (None: runs anywhere)
    """

    name: str
    label: str
    bytes_per_element: float
    scales: str
    risk: str
    engines: str
    needs: str | None = None


_BLOCK = "a 16-bit scale per 32 elements, included"
_LLAMA = "llama.cpp (--cache-type-k, --cache-type-v) and tools built on it"

_ALL: Final = (
    KvFormat("bf16", "16 bit", 2.0, "none", "None: the default of every engine.", "All engines."),
    KvFormat("fp32", "32 bit", 4.0, "none", "None.", _LLAMA + "; CPU engines"),
    # vLLM and SGLang: one FP32 scale per layer (or per head) for the whole cache: below one byte in a thousand.
    KvFormat("fp8", "FP8", 1.0, "per layer or head, too small to count",
             "Small: close to 16 bit with calibrated scales; long contexts are the most sensitive.",
             "vLLM, SGLang, TensorRT-LLM; attention itself runs at 8 bit only on devices with FP8.", "fp8_tflops"),
    # TensorRT-LLM: one scale per layer; LMDeploy stores a scale and zero point per head and token: 4 B per 128.
    KvFormat("int8", "INT8", 1.0, "per layer, too small to count (LMDeploy: per head and token, 3 % more)",
             "Small with calibrated scales.", "TensorRT-LLM, LMDeploy."),
    KvFormat("nvfp4", "NVFP4", 0.5 + 1 / 16, "an FP8 scale per 16 elements, included",
             "Noticeable on long contexts and small models; a recent option.", "TensorRT-LLM on NVIDIA Blackwell.",
             "fp4_tflops"),
    # Block layouts: llama.cpp ggml-common.h.
    KvFormat("q8_0", "q8_0", 34 / 32, _BLOCK, "Practically none.", _LLAMA),
    KvFormat("q5_1", "q5_1", 24 / 32, _BLOCK + ", with a 16-bit minimum", "Small.", _LLAMA),
    KvFormat("q5_0", "q5_0", 22 / 32, _BLOCK, "Some.", _LLAMA),
    KvFormat("q4_1", "q4_1", 20 / 32, _BLOCK + ", with a 16-bit minimum", "Noticeable, keys more than values.", _LLAMA),
    KvFormat("q4_0", "q4_0", 18 / 32, _BLOCK, "Noticeable, keys more than values.", _LLAMA),
)  # fmt: skip

KV_FORMATS: Final[dict[str, KvFormat]] = {f.name: f for f in _ALL}

ALIASES: Final = {
    "fp16": "bf16", "f16": "bf16", "float16": "bf16", "bfloat16": "bf16", "16-bit": "bf16", "fp16/bf16": "bf16",
    "float32": "fp32", "f32": "fp32", "fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "fp8_inc": "fp8", "fp4": "nvfp4",
}  # fmt: skip


def find_kv_format(name: str) -> KvFormat:
    """The KV format of this name or alias, case and blanks aside; PlannerError naming the known ones otherwise."""
    aliases = {alias: KV_FORMATS[of] for alias, of in ALIASES.items()}
    found = named(str(name), KV_FORMATS) or named(str(name), aliases)
    if found is None:
        raise PlannerError(
            f"kv is {str(name)[:40]!r}; expected auto or one of {', '.join(KV_FORMATS)}. Choose one of these."
        )
    return found
