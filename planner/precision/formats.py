"""Formats that one can choose for a model's weights: bits, what stays at 16 bit, the risk, and who can run them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from planner.errors import PlannerError
from planner.names import named
from planner.precision import layouts
from planner.precision.layouts import Compute, Layout

Family = Literal["plain", "matrices", "gguf"]


@dataclass(frozen=True)
class Format:
    """A storage format for weights.

    name      stable key, as on the command line and in links
    label     short text for forms and tables
    bits      bits per weight of a quantized matrix, scales and zero points included (GGUF mixes: the average over the
              layers of Llama models from 7B to 70B; embeddings and head apart)
    compute   type of the matrix product where the device has it
    kept      what is left at 16 bit
    risk      what it does to quality, in plain words
    risk_source  where that was measured
    kernels   which devices and engines run it, in plain words
    needs     column of the device table that must hold a figure for its fast path (None: runs anywhere)
    source    where the layout is described
    family    plain: every element alike; matrices: linear layers only; gguf: llama.cpp's mixes
    layout    how a quantized matrix lies in memory (None for GGUF mixes, where it differs by matrix)
    """

    name: str
    label: str
    bits: float
    compute: Compute
    kept: str
    risk: str
    risk_source: str
    kernels: str
    needs: str | None
    source: str
    family: Family
    layout: Layout | None = None


_NOTHING = "everything is stored alike"
_KEPT = "embeddings, output head, norms, routers, convolutions, biases and vision parts stay at 16 bit"
_GGUF_KEPT = "norms, routers and biases stay at 32 bit, vision parts at 16 bit; embeddings and head are quantized too"
_IEEE = "IEEE 754-2019"
_STUDY = "Kurtic et al. 2024, arXiv:2411.02355 (Llama 3.1, over 500,000 evaluations)"
_FP4 = "Egiazarian et al. 2025, arXiv:2509.23202"
_GGML = "llama.cpp ggml/src/ggml-common.h (block layouts) and src/llama-quant.cpp (mixes)"
_GGUF_RISK = "llama.cpp tools/quantize/quantize.cpp, perplexity of Llama-3-8B on wikitext"
_GGUF_RUNS = (
    "llama.cpp and tools built on it (Ollama, LM Studio): any CPU, Apple, NVIDIA, AMD or Intel GPU; "
    "weights are widened for the product, so the gain is in memory and bandwidth, not in compute"
)


def _gguf(name: str, bits: float, risk: str, label: str | None = None) -> Format:
    return Format(
        name, label or f"{name} (GGUF)", bits, "fp16", _GGUF_KEPT, risk, _GGUF_RISK, _GGUF_RUNS, None, _GGML, "gguf"
    )


_ALL: Final = (
    Format("fp32", "FP32", 32, "fp16", _NOTHING, "None: the format of training's master weights.", _IEEE,
           "Every device and engine; on GPUs products usually run at TF32 or 16 bit.", None, _IEEE, "plain",
           layouts.FP32),
    Format("bf16", "BF16", 16, "fp16", _NOTHING, "None: most models are published in it.",
           "the models' own config files",
           "Every engine; NVIDIA from Ampere, AMD from CDNA, Apple from M2, recent CPUs.",
           None, "bfloat16: 8-bit exponent, 7-bit fraction", "plain", layouts.BF16),
    Format("fp16", "FP16", 16, "fp16", _NOTHING,
           "None for models published in it; converting from BF16 can overflow in rare models.", _IEEE,
           "Every engine and every GPU.", None, _IEEE, "plain", layouts.FP16),
    Format("fp8", "FP8", 8.0 + 16 / 4096, "fp8", _KEPT,
           "Practically none: lossless within noise at all sizes tested.", _STUDY,
           "vLLM, SGLang, TensorRT-LLM. Products at 8 bit on NVIDIA from Ada and AMD from CDNA 3; "
           "on an A100 or older it saves memory and bandwidth but computes at 16 bit.", "fp8_tflops",
           "compressed-tensors float-quantized: one byte per weight, a 16-bit scale per output channel", "matrices",
           layouts.per_channel("fp8", "fp8")),
    Format("fp8-block", "FP8 in 128x128 blocks", 8 + 32 / 16384, "fp8", _KEPT,
           "Practically none; DeepSeek-V3 was trained in it.", "DeepSeek-V3 technical report, arXiv:2412.19437",
           "vLLM, SGLang, TensorRT-LLM on NVIDIA Hopper and later and AMD CDNA 3 and later.", "fp8_tflops",
           "DeepSeek-V3 checkpoints: one byte per weight, an FP32 scale per 128 x 128 tile", "matrices",
           layouts.fp8_block()),
    Format("int8", "INT8 (W8A8)", 8.0 + 16 / 4096, "int8", _KEPT,
           "Small: 1 to 3 % lower scores when tuned well, more when not.", _STUDY,
           "vLLM, SGLang, TensorRT-LLM; products at 8 bit on NVIDIA from Turing (kernels from Ampere up to Hopper), "
           "AMD CDNA 3 and recent CPUs.", "int8_tops",
           "compressed-tensors int-quantized: one byte per weight, a 16-bit scale per output channel", "matrices",
           layouts.per_channel("int8", "int8")),
    Format("int4", "INT4 (AWQ/GPTQ, groups of 128)", 4 + 20 / 128, "fp16", _KEPT,
           "Some: close to 8 bit on benchmarks of larger models, visible on small models, code and long reasoning.",
           _STUDY,
           "vLLM, SGLang, TensorRT-LLM, exllamav2 on NVIDIA from Turing (fast Marlin kernels from Ampere) and AMD; "
           "weights are widened to 16 bit for the product, so prefill and large batches gain nothing.", None,
           "AutoAWQ GEMM packing: 4-bit codes, a 16-bit scale and a 4-bit zero point per 128 weights", "matrices",
           layouts.awq(4, 128)),
    Format("mxfp4", "MXFP4", 4.25, "fp4", _KEPT + "; in mixtures of experts only the routed experts are quantized",
           "Marked when converted afterwards, since scales are powers of two; none to speak of where the model was "
           "trained for it (gpt-oss).", _FP4,
           "Products at 4 bit on NVIDIA Blackwell and AMD CDNA 4; elsewhere vLLM and SGLang compute at 16 bit.",
           "fp4_tflops", "OCP Microscaling Formats 1.0: 32 weights share an 8-bit exponent", "matrices",
           layouts.mxfp4()),
    Format("nvfp4", "NVFP4", 4.5, "fp4", _KEPT,
           "Some: better than MXFP4 and near INT4 with groups; calibration matters.", _FP4,
           "Products at 4 bit on NVIDIA Blackwell (vLLM, SGLang, TensorRT-LLM); on older ones weights only, at 16 bit.",
           "fp4_tflops", "NVIDIA NVFP4: 16 weights share an FP8 scale, FP32 scales per matrix", "matrices",
           layouts.nvfp4()),
    _gguf("Q8_0", 8.5, "Practically none: perplexity +0.003."),
    _gguf("Q6_K", 6.5625, "Very small: perplexity +0.02."),
    _gguf("Q5_K_M", 5.66, "Small: perplexity +0.06."),
    _gguf("Q4_K_M", 4.81, "Some: perplexity +0.18; the usual choice when memory is short."),
    _gguf("Q4_0", 4.5, "Noticeable: perplexity +0.47; an older type, fast on CPUs."),
    _gguf("Q3_K_M", 3.86, "Clear: perplexity +0.66."),
    _gguf("Q2_K", 2.94, "Severe: perplexity +3.5; answers degrade visibly."),
    Format("mxfp4-gguf", "MXFP4 experts (GGUF)", 4.25, "fp16",
           "norms, routers and biases stay at 32 bit; everything but the experts is Q8_0",
           "None to speak of for gpt-oss, whose experts are published in MXFP4.",
           "gpt-oss model card, arXiv:2508.10925",
           _GGUF_RUNS, None, _GGML, "gguf"),
)  # fmt: skip

FORMATS: Final[dict[str, Format]] = {f.name: f for f in _ALL}

# Names of GGUF file types where they differ from the format's name.
FILE_TYPES: Final = {"mxfp4-gguf": "MXFP4_MOE"}

ALIASES: Final = {
    "float32": "fp32", "f32": "fp32", "bfloat16": "bf16", "float16": "fp16", "f16": "fp16", "half": "fp16",
    "16-bit": "bf16", "fp8_e4m3": "fp8", "float8": "fp8", "fp8-dynamic": "fp8", "fp8_block": "fp8-block",
    "w8a8": "int8", "awq": "int4", "gptq": "int4", "int4-awq": "int4", "int4-gptq": "int4", "w4a16": "int4",
    "4-bit": "int4", "8-bit": "int8", "fp4": "nvfp4", "mxfp4_moe": "mxfp4-gguf", "q4_k": "Q4_K_M", "q5_k": "Q5_K_M",
    "q3_k": "Q3_K_M",
}  # fmt: skip


def find_format(name: str) -> Format:
    """The format of this name or alias, case, blanks and hyphens aside; PlannerError with the known ones otherwise."""
    aliases = {alias: FORMATS[of] for alias, of in ALIASES.items()}
    if found := named(str(name), FORMATS) or named(str(name), aliases):
        return found
    raise PlannerError(
        f"weights is {str(name)[:40]!r}; expected checkpoint or one of {', '.join(FORMATS)}. Choose one of these."
    )
