"""Prefill FLOPs as a FLOP counter over the reference implementation sees them, for comparison with measured counts.

Not the planner's own prefill work (that halves causal attention, caps windows and computes one row of logits): here
attention is the full T x T square in every layer, whatever its window, and logits are computed at every position.
"""

from __future__ import annotations

from planner.architecture.ledger import Architecture


def oracle_prefill_flops(arch: Architecture, tokens: int = 512) -> float:
    """FLOPs of one text-only pass over `tokens` tokens, batch 1.

    Two FLOPs per multiply-add of each matrix and convolution that a token passes through, plus the attention square and
    the work of state-space and linear-attention layers, chunk by chunk. Layers that look at an image are skipped, as
    they are without one. Biases, norms, softmax and rotary positions are not counted.
    """
    total = 0.0
    for block in arch.blocks:
        if block.part != "text" or any(m.cross for m in block.mixing):
            continue
        passes = block.count * block.runs
        products = sum(m.flops for m in block.matrices)
        between = sum(m.pair * ((m.window or 0) if m.chunked else tokens) + m.token for m in block.mixing)
        total += passes * tokens * (products + between)
    return total
