"""xLSTM-7B: matrix-memory LSTM (mLSTM) in every layer.

Source: xLSTM 7B (arXiv 2503.13427), section 3; the checkpoint's tensor list.
"""

from __future__ import annotations

from math import ceil

from planner.architecture.builders import join, linear, mlp, norm
from planner.architecture.decoder import Sizes, decoder, pre_norms
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ssm import OUTER_PRODUCT, recurrence

MIXER = "mlstm_layer."


@family("xlstm")
def xlstm(k: Keys) -> Body:
    """Per head a memory of query x value dimension, a normaliser and a maximum; widths are factors of hidden."""
    hidden = k.integer(_named(k, "hidden_size", "embedding_dim"))
    heads, bias = k.integer("num_heads", 8), k.flag("use_bias")
    layers = k.integer(_named(k, "num_hidden_layers", "num_blocks"), most=MOST_LAYERS)
    s = Sizes(hidden, layers, k.integer("vocab_size"), heads, k.tied())
    queries = int(hidden * k.number("qk_dim_factor", 0.5, most=64))
    values = int(hidden * k.number("v_dim_factor", 1.0, most=64))
    multiple = k.integer("ffn_round_up_to_multiple_of", 64)
    width = ceil(hidden * k.number("ffn_proj_factor", 2.667, most=64) / multiple) * multiple
    layer = join(
        linear(f"{MIXER}q", queries, hidden, "mixer", bias=bias, units=heads),
        linear(f"{MIXER}k", queries, hidden, "mixer", bias=bias, units=heads),
        linear(f"{MIXER}v", values, hidden, "mixer", bias=bias, units=heads),
        linear(f"{MIXER}ogate_preact", values, hidden, "mixer", bias=bias, units=heads),
        linear(f"{MIXER}igate_preact", heads, hidden, "mixer", bias=True),
        linear(f"{MIXER}fgate_preact", heads, hidden, "mixer", bias=True),
        norm(f"{MIXER}multihead_norm", values, bias=bias),
        linear(f"{MIXER}out_proj", hidden, values, "mixer", bias=bias, units=heads),
        mlp(hidden, width, bias=bias, prefix="ffn.", names=("proj_up_gate", "proj_up", "proj_down")),
        pre_norms(hidden, "norm_mlstm", "norm_ffn", bias=bias),
        recurrence(queries * values // heads + queries + heads, OUTER_PRODUCT, units=heads),
    )
    return decoder(s, [layer] * s.layers, heads, prefix="backbone.blocks.{i}.", embedding="backbone.embeddings",
                   final="backbone.out_norm")  # fmt: skip


def _named(k: Keys, name: str, other: str) -> str:
    """The name under which a file gives this size; the files have two for each, which must agree."""
    if k.has(name) and k.has(other) and None not in (k.data[name], k.data[other]) and k.data[name] != k.data[other]:
        raise k.refuse(f"{name} and {other} say the same thing, but differ. Correct one of the two.")
    return other if k.has(other) and not k.has(name) else name
