"""Dory 2: a decoder on the hypersphere (nGPT) whose middle layers run several times.

There are no norms with weights; learnt scales stand in their place. Each passage through a middle layer keeps keys and
values of its own, unless `recurrent_kv_cache_mode` is "last_loop". Source: model code and tensors of transformers 5.24.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import attention, join, linear, mlp, stack, vector
from planner.architecture.decoder import decoder, grouped, sizes
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Block


@family("dory")
def dory(k: Keys) -> Body:
    """Three windows, then a layer that sees all; published files list attention and MLP as layers of their own."""
    listed = k.items("layer_types", None, most=2 * MOST_LAYERS)
    halved = 2 if listed and "mlp" in listed else 1
    s = sizes(k)
    if s.layers % halved:
        raise k.refuse(
            f"num_hidden_layers is {s.layers}, but layer_types pairs each attention with an MLP. Correct one."
        )
    kinds = layer_kinds(k, s.layers)
    s = replace(s, layers=s.layers // halved)
    slides = [kind == "sliding_attention" for kind in kinds[::halved]] if kinds else [
        (i + 1) % 4 != 0 for i in range(s.layers)
    ]  # fmt: skip
    first = k.integer("n_input_layers", 8 * halved, least=0) // halved
    last = k.integer("n_output_layers", 8 * halved, least=0) // halved
    middle = (k.optional("n_recurrent_layers") or halved * (s.layers - first - last)) // halved
    if first + middle + last != s.layers:
        raise k.refuse(
            f"n_input_layers, n_recurrent_layers and n_output_layers add up to {first + middle + last} of the "
            f"{s.layers} layers. Correct one of them."
        )
    loops = k.integer("n_recurrent_loops", 2, most=1000)
    kept = loops if k.text("recurrent_kv_cache_mode", "per_loop") == "per_loop" else 1
    kv, dim = grouped(k, s)
    width, bias = k.integer("intermediate_size"), k.flag("attention_bias")
    common = join(
        linear("self_attn.gate_proj", s.heads * dim, s.hidden, "attention", units=s.heads),
        *(vector(f"self_attn.{name}", s.heads * dim, "attention", units=s.heads) for name in ("sqk", "s_gate")),
        mlp(s.hidden, width, bias=k.flag("mlp_bias")),
        *(vector(f"mlp.{name}", width, "mlp", units=width) for name in ("suv_gate", "suv_up")),
        vector("lambda_1", s.hidden), vector("lambda_2", s.hidden),
    )  # fmt: skip
    window = k.integer("sliding_window")
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, window=window if slide else None), common)
        for slide in slides
    ]

    def section(start: int, end: int, runs: int = 1, kept: int = 1) -> list[Block]:
        """The layers from one number to another, passed through `runs` times, with `kept` caches each."""
        return [
            replace(b, layers=tuple(i + start for i in b.layers), runs=runs, caches=b.caches * kept)
            for b in stack(layers[start:end], "model.layers.{i}.")
        ]

    blocks = [
        *section(0, first), *section(first, first + middle, loops, kept), *section(first + middle, s.layers),
    ]  # fmt: skip
    return decoder(s, [], kv, final="", extra=blocks, outside=[vector("lm_head.logit_scale", s.vocab)])
