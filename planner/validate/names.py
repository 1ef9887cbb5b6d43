"""What published rows call things -> what the planner calls them; None where it knows no such thing."""

from __future__ import annotations

import re
from typing import Final

from planner.architecture import Architecture
from planner.efficiency.classes import family
from planner.engines import ENGINES, Engine
from planner.errors import PlannerError
from planner.precision import KvFormat, checkpoint_kv, find_kv_format

# Beginning of an engine's name, lower case without blanks and hyphens -> engine. Wrappers of llama.cpp run its kernels.
_ENGINES: Final = (
    ("llama.cpp", "llama.cpp"), ("llamacpp", "llama.cpp"), ("ollama", "llama.cpp"), ("lmstudio", "llama.cpp"),
    ("llamabench", "llama.cpp"), ("koboldcpp", "llama.cpp"), ("vllm", "vLLM"), ("trtllm", "TensorRT-LLM"),
    ("tensorrtllm", "TensorRT-LLM"), ("nvidiatensorrtllm", "TensorRT-LLM"), ("sglang", "SGLang"),
    ("lmdeploy", "LMDeploy"), ("turbomind", "LMDeploy"),
)  # fmt: skip
# From this version on vLLM frees window pages and counts graphs inside its share of memory.
_VLLM_NEW: Final = (0, 21)
# A row of a later year that states no version is of such a version too.
_YEAR_NEW: Final = 2027

# Spellings of weight types. GGUF sub-types without a format of their own stand for the nearest mix.
_WEIGHTS: Final = (
    (r"q8_0|q8-class|q8$", "Q8_0"), (r"q6_k", "Q6_K"), (r"q5_k", "Q5_K_M"), (r"q4_k", "Q4_K_M"), (r"q4_0", "Q4_0"),
    (r"q3_k", "Q3_K_M"), (r"q2_k", "Q2_K"), (r"exl2|exl3|bpw|mlc|bnb|bitsandbytes|nf4|iq\d|q\d_", ""),
    (r"nvfp4", "nvfp4"), (r"mxfp4", "mxfp4"), (r"fp8.*block|block.*fp8", "fp8-block"),
    (r"fp8|float8|e4m3|w8a8.?fp", "fp8"),
    (r"fp4", "nvfp4"), (r"awq|gptq|int4|w4a16|4.?bit|4b", "int4"), (r"int8|w8a8|8.?bit|sq", "int8"),
    (r"fp32|float32|f32", "fp32"), (r"bf16|bfloat16|fp16|float16|f16|half|16.?bit", "bf16"),
)  # fmt: skip
_GGUF: Final = ("Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "Q4_0", "Q3_K_M", "Q2_K")


def version_of(text: str) -> tuple[int, int] | None:
    """Major and minor version in a text such as "0.8.5 V0"; None where there is none."""
    found = re.match(r"\s*v?(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else None


def engine_of(name: str, version: str = "", year: int | None = None) -> Engine | None:
    """The engine (and its version range) that a row names."""
    key = re.sub(r"[\s_\-]", "", name.lower())
    found = next((known for start, known in _ENGINES if key.startswith(start)), None)
    if found != "vLLM":
        return ENGINES[found] if found else None
    number = version_of(version)
    new = number >= _VLLM_NEW if number else year is None or year >= _YEAR_NEW
    return ENGINES["vLLM" if new else "vLLM 0.20"]


# What llama.cpp runs on, where its name says so; each is a program of its own as far as speed goes.
_BACKENDS: Final = ("CUDA", "Metal", "ROCm", "HIP", "Vulkan", "SYCL", "OpenCL", "CPU")


def group_of(name: str) -> str:
    """One spelling for an engine and its backend, whatever its version: "vLLM" for "vllm", "llama.cpp CUDA".

    An engine that the planner does not know keeps the spelling of the row.
    """
    known = engine_of(name)
    if known is None:
        return name
    words = set(re.findall(r"[a-z]+", name.lower()))
    backend = next((b for b in _BACKENDS if b.lower() in words), "") if "gguf" in known.formats else ""
    return f"{family(known)} {backend}".strip()


def weights_of(text: str, arch: Architecture, engine: Engine) -> str | None:
    """The weight format that a row states, as a key of FORMATS or "checkpoint".

    A checkpoint that is quantized itself is what a server of Hugging Face files loads, whatever kernels are listed.
    """
    low = text.strip().lower()
    if not low:
        return None
    found = next((name for pattern, name in _WEIGHTS if re.search(pattern, low)), "")
    if arch.quantization and "gguf" not in engine.formats and found not in ("bf16", "fp32"):
        return "checkpoint"
    if not found:
        return None
    if "gguf" in engine.formats:
        found = "mxfp4-gguf" if found == "mxfp4" else found
        if found not in (*_GGUF, "mxfp4-gguf", "bf16", "fp32"):
            # llama.cpp measured beside other engines with "int4" or "int8": its own files of that width.
            found = {"int4": "Q4_K_M", "int8": "Q8_0"}.get(found, "")
    return found or None


def kv_of(text: str, arch: Architecture, weights: str, engine: Engine) -> KvFormat | None:
    """The KV format that a row states; where it states none, what the checkpoint asks for, else 16 bit.

    TensorRT-LLM FP8 and FP4 checkpoints quantize the cache to FP8 (the default of ModelOpt, which makes them).
    """
    low = re.sub(r"\(.*", "", text.strip().lower()).strip()
    if low in ("", "auto", "checkpoint", "default"):
        asked = checkpoint_kv(arch) if weights == "checkpoint" else None
        if asked is None and low == "" and engine.name == "TensorRT-LLM" and weights in ("fp8", "nvfp4", "fp8-block"):
            asked = "fp8"
        return find_kv_format(asked or "bf16")
    try:
        return find_kv_format("fp8" if low.startswith("fp8") else low)
    except PlannerError:
        return None
