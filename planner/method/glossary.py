"""The words of the field in plain ones."""

from __future__ import annotations

from typing import Final

GLOSSARY: Final = {
    "Prefill": "Reading the whole prompt at once, before the first token of the answer. Usually bound by arithmetic "
               "(FLOP/s).",
    "Decode": "Writing the answer, one token at a time. Usually bound by memory bandwidth: all weights are read for "
              "every token.",
    "TTFT": "Time to first token: waiting in the queue plus prefill.",
    "ITL": "Inter-token latency: the time between one token and the next.",
    "TPOT": "Time per output token: (end-to-end − TTFT) / (output tokens − 1). Some tools include TTFT; the planner "
            "converts.",
    "KV cache": "Conversation memory: what the model keeps of every token so far, so that it need not read them again.",
    "Prefix cache": "The engine keeps the KV cache of a shared beginning, such as a system prompt, and skips its "
                    "prefill.",
    "A provider's prompt cache": "A price list's discount for repeated prompts. Another thing than the prefix cache "
                                 "here, though it is built on one.",
    "Token": "A piece of a word; about three quarters of an English word.",
    "Weights": "The model's parameters. Fewer bits each (quantization) take less memory and are read faster.",
    "Tables and rounding": "What a loaded model takes beyond its file: tables of rotary positions, and what the "
                           "memory allocator rounds tensors up to.",
    "Tensor parallel": "Several devices share every layer; they must exchange sums at each.",
    "Pipeline parallel": "Each device holds some layers; adds memory, does not speed up one conversation.",
    "Copies (data parallel)": "Whole models side by side, each serving its own requests.",
    "MoE": "Mixture of experts: all experts must be in memory, a token passes through a few.",
    "Active parameters": "Those one token passes through.",
    "MLA, latent": "Attention that keeps one compressed entry per token; small, but every device holds it whole.",
    "Sliding window": "Layers that look back only so many tokens; whether their memory stays small depends on the "
                      "engine.",
    "Ceiling": "What arithmetic allows. No software beats it.",
    "Expected, band": "What published measurements of similar systems reach, from the 10th to the 90th percentile.",
    "Expected capacity": "Requests per second that are expected to be served with as many at once as fit. Arrivals "
                         "over it are how busy the system is; from about 85 % on waits stay long.",
    "Throughput": "Tokens or requests per second of all users together; can rise while each waits longer.",
    "Goodput": "Requests per second that succeed and meet every limit, over all requests sent; failed ones stay in "
               "the denominator.",
    "Open and closed loop": "Open: requests arrive whatever the server does. Closed: each user waits for the answer "
                            "before asking again.",
    "GB and GiB": "GB = 10^9 bytes, GiB = 2^30 = 1.074 GB. An “80 GB” H100 shows 79.65 GiB.",
}  # fmt: skip

