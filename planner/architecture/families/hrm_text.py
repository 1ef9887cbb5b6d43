"""HRM-Text: a slow and a fast stack of layers that run in cycles, each run with keys and values of its own.

Source: model code and tensors of transformers 5.24. Norms have no weights.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import attention, join, linear, mlp, stack, vector
from planner.architecture.decoder import decoder, sizes
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys


@family("hrm_text")
def hrm_text(k: Keys) -> Body:
    """The fast stack runs `L_cycles` times in each of `H_cycles`, the slow one once; saved files count every run."""
    s = sizes(k)
    slow, fast = k.integer("H_cycles", 2, most=1000), k.integer("L_cycles", 3, most=1000)
    each = k.optional("num_layers_per_stack", least=1, most=MOST_LAYERS)
    layers, total = (each, s.layers) if each else (s.layers, s.layers * slow * (fast + 1))
    dim, bias = k.head_dim(s.hidden, s.heads), k.flag("attention_bias")
    layer = join(
        attention(s.hidden, s.heads, s.heads, dim, bias=bias),
        linear("self_attn.gate_proj", s.heads * dim, s.hidden, "attention", bias=bias, units=s.heads),
        mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias")),
    )
    stacks = [
        replace(block, runs=runs, caches=block.caches * runs)
        for name, runs in (("L_module", slow * fast), ("H_module", slow))
        for block in stack([layer] * layers, f"model.{name}.layers.{{i}}.")
    ]
    outside = [vector("model.z_L_init", s.hidden)]
    return decoder(replace(s, layers=total), [], s.heads, final="", extra=stacks, outside=outside)
