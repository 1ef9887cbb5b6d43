"""xLSTM-7B: matrix-memory LSTM (mLSTM) in every layer.

Source: xLSTM 7B (arXiv 2503.13427), section 3; the checkpoint's tensor list.
"""

from __future__ import annotations

from planner.architecture.builders import join, linear, mlp, norm
from planner.architecture.decoder import Sizes, decoder, pre_norms
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ssm import OUTER_PRODUCT, recurrence

MIXER = "mlstm_layer."


@family("xlstm")
def xlstm(k: Keys) -> Body:
    """Per head a memory of query dimension x value dimension, a normaliser and a maximum. Widths are factors of hidden."""
    hidden = k.integer("embedding_dim" if k.data.get("hidden_size") is None and k.has("embedding_dim") else "hidden_size", 4096)
    heads, bias = k.integer("num_heads", 8), k.flag("use_bias")
    layers = "num_blocks" if k.data.get("num_hidden_layers") is None and k.has("num_blocks") else "num_hidden_layers"
    s = Sizes(hidden, k.integer(layers, 32, most=10_000), k.integer("vocab_size", 50304), heads, k.tied())
    queries, values = (_round_up(hidden * k.number(f"{name}_dim_factor", default, most=64), 64)
                       for name, default in (("qk", 0.5), ("v", 1.0)))  # fmt: skip
    width = _round_up(
        hidden * k.number("ffn_proj_factor", 2.667, most=64), k.integer("ffn_round_up_to_multiple_of", 64)
    )
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
                   final="backbone.out_norm" if k.flag("add_out_norm", True) else "", norm_bias=bias)  # fmt: skip


def _round_up(size: float, multiple: int) -> int:
    """`size` rounded up to a multiple, as xLSTM's config does it."""
    return int((size + multiple - 1) // multiple * multiple)
