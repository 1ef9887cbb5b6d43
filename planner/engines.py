"""Serving engines: what each stores, takes and admits by default.

Versions matter where a default changed; such versions stand as engines of their own. Sources: the engines' public
sources and issue threads (vLLM config/cache.py, config/scheduler.py, EngineArgs.get_batch_defaults; vLLM issue 43308 on
window pages; llama.cpp and TensorRT-LLM documentation).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from planner.devices import Device
from planner.errors import PlannerError
from planner.names import named

GIB: Final = 2**30


@dataclass(frozen=True)
class Engine:
    """One engine (and version range) as far as the planner must know it.

    utilization       default share of the device memory it takes
    block             tokens per KV block; a request's last block is rounded up
    frees_windows     window and chunk layers give back pages that slid out; False keeps all tokens of the request
    state_bytes       bytes per element of recurrent state (SSM, linear attention); convolution state is 16 bit
    conv_full         convolution state keeps the full kernel width (else kernel - 1)
    graphs_inside     captured graphs count inside the utilisation
    graphs_bytes      what captured graphs take
    runtime_bytes     context and libraries with one device per copy, with several (collectives' buffers)
    index_bytes       bytes of an element of sparse-attention index keys (vLLM: fp8 with one fp32 scale per 128)
    torch_allocator   loads weights through PyTorch's caching allocator, whose rounding counts as theirs
    rotary_bytes      bytes per element of its tables of rotary positions (vLLM: 16 bit; SGLang on CUDA: fp32)
    tensor_parallel   splits a layer over devices; False: layers are dealt out to devices one after another
    formats           weight formats it can load, by prefix: "hf" (Hugging Face checkpoints), "gguf"
    vendors, kinds    devices it runs on
    """

    name: str
    note: str
    utilization: float
    block: int = 16
    frees_windows: bool = True
    state_bytes: float = 4.0
    conv_full: bool = False
    graphs_inside: bool = False
    graphs_bytes: float = 0.5 * GIB
    # vLLM start logs: median 0.09 GiB on one device (16 logs), 2.3 with several (6 logs, 0.9 to 4.0)
    runtime_bytes: tuple[float, float] = (0.1 * GIB, 2.2 * GIB)
    index_bytes: float = 132 / 128
    torch_allocator: bool = False
    rotary_bytes: float = 0.0
    tensor_parallel: bool = True
    formats: tuple[str, ...] = ("hf",)
    vendors: tuple[str, ...] = ("NVIDIA", "AMD", "Intel", "Google", "AWS")
    kinds: tuple[str, ...] = ("gpu", "accelerator", "edge", "apu", "cpu")
    # Keeps blocks of a shared prefix once: vLLM automatic prefix caching, SGLang RadixAttention, block reuse of
    # TensorRT-LLM and LMDeploy. llama.cpp's server has a cache of its own in each slot.
    shares_prefix: bool = True
    sampler_bytes: float = 38.6  # per sequence slot and vocabulary entry: peak of the sampler's warm-up (start logs)

    def max_num_seqs(self, device: Device) -> int:
        """Requests admitted at once by default on this device."""
        if self.name.startswith("vLLM"):
            return 1024 if _large(device) else 256
        return {"SGLang": 256, "TensorRT-LLM": 2048, "LMDeploy": 256, "llama.cpp": 256}[self.name]

    def max_num_batched_tokens(self, device: Device) -> int:
        """Tokens processed in one step by default on this device."""
        if self.name.startswith("vLLM"):
            return 8192 if _large(device) else 2048
        return {"SGLang": 8192, "TensorRT-LLM": 8192, "LMDeploy": 8192, "llama.cpp": 512}[self.name]

    def runs_on(self, device: Device) -> bool:
        """Whether there is a build of it for this device (custom devices: assumed)."""
        if device.custom:
            return True
        if self.name.startswith("vLLM") and device.kind == "cpu":
            return True
        return (device.vendor in self.vendors or "*" in self.vendors) and device.kind in self.kinds


def _large(device: Device) -> bool:
    # vLLM's own rule: 70 GiB and more, but not an A100 (PR 17885).
    return device.memory_bytes_usable >= 70 * GIB and "A100" not in device.name


_NV_AMD = ("NVIDIA", "AMD", "Intel")
ENGINES: Final[dict[str, Engine]] = {
    engine.name: engine
    for engine in (
        Engine("vLLM", "0.21 and later: frees window pages, counts graphs inside the utilisation", 0.92,
               graphs_inside=True, torch_allocator=True, rotary_bytes=2.0),
        Engine("vLLM 0.20", "before 0.21: keeps whole pages for window layers of mixed models, graphs come on top", 0.9,
               frees_windows=False, torch_allocator=True, rotary_bytes=2.0),
        Engine("SGLang", "0.4 and later", 0.88, vendors=_NV_AMD, torch_allocator=True, rotary_bytes=4.0),
        Engine("TensorRT-LLM", "1.0 and later; utilisation is its share of free memory", 0.9, block=32,
               vendors=("NVIDIA",), kinds=("gpu", "edge"), runtime_bytes=(1.0 * GIB, 3.0 * GIB)),
        Engine("LMDeploy", "TurboMind", 0.8, block=64, vendors=("NVIDIA",), kinds=("gpu",), frees_windows=False),
        Engine("llama.cpp", "also Ollama and LM Studio; layers are dealt out to devices", 1.0, block=1,
               frees_windows=True, conv_full=False, graphs_bytes=0.0, runtime_bytes=(0.5 * GIB, 0.5 * GIB),
               tensor_parallel=False, shares_prefix=False, formats=("gguf",), vendors=("*",),
               kinds=("gpu", "apu", "cpu", "edge"), sampler_bytes=4.0, index_bytes=2.0),
    )
}  # fmt: skip

# Names that links of earlier versions used, and names people type.
FORMER_ENGINES: Final = {"Ollama": "llama.cpp", "vllm": "vLLM", "sglang": "SGLang", "trtllm": "TensorRT-LLM",
                         "tensorrt-llm": "TensorRT-LLM", "lmdeploy": "LMDeploy", "ollama": "llama.cpp"}  # fmt: skip


def find_engine(name: str) -> Engine:
    """The engine of this name; case, blanks and hyphens do not matter. Raises PlannerError with the names there are."""
    former = {old: ENGINES[new] for old, new in FORMER_ENGINES.items()}
    if found := named(name, ENGINES) or named(name, former):
        return found
    raise PlannerError(f"engine = {name!r} is not known; the planner knows {', '.join(ENGINES)}. Choose one of these.")
