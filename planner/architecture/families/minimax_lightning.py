"""MiniMax-Text-01 and M1: lightning attention in seven of eight layers, experts in all.

Source: MiniMax-01 (arXiv 2501.08313), section 2; the checkpoints' tensor lists.
"""

from __future__ import annotations

from planner.architecture.builders import attention, join
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import MIXTRAL, counts, moe
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ssm import lightning


@family("minimax", "minimax_text_01", "minimax_m1")
def minimax(k: Keys) -> Body:
    """Linear layers from `layer_types` or the original `attn_type_list` (0 linear, 1 full); else every second one."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    count, used = counts(k)
    experts = moe(s.hidden, k.integer("intermediate_size"), count, used, prefix="block_sparse_moe.", names=MIXTRAL)
    common = join(experts, pre_norms(s.hidden))
    mixers = {True: lightning(s.hidden, s.heads, dim, k.integer("block_size", 256)),
              False: attention(s.hidden, s.heads, kv, dim)}  # fmt: skip
    return decoder(s, [join(mixers[linear], common) for linear in _linear_layers(k, s.layers)], kv)


def _linear_layers(k: Keys, layers: int) -> list[bool]:
    kinds = layer_kinds(k, layers)
    if kinds is not None:
        return [kind == "linear_attention" for kind in kinds]
    codes = k.items("attn_type_list", None)
    if codes is None:
        return [i % 2 == 1 for i in range(layers)]
    if len(codes) < layers or not all(code in (0, 1) for code in codes):
        raise k.refuse(
            f"attn_type_list has {len(codes)} entries; expected 0 (linear) or 1 (full) for each of {layers} layers. "
            "Correct the list or num_hidden_layers."
        )
    return [code == 0 for code in codes[:layers]]
