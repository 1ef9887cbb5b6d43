"""OPT, XGLM and BioGPT: decoders in the style of fairseq, with biases everywhere.

Sources: the checkpoints' tensor lists (transformers 5.24 classes of the same names).
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import head, linear, outer, stack, table
from planner.architecture.decoder import sizes
from planner.architecture.families import Body, family
from planner.architecture.families.dense import Traits, dense_layers, layer_norms, outside, register
from planner.architecture.keys import Keys

# Position tables start two rows early: those rows are for padding.
FAIRSEQ = Traits(
    qkv_bias=True, mlp_bias=True, norm_bias=True, gated=False, gqa=False, width_times=4,
    embedding="model.embed_tokens", layer="model.layers.{i}.", final_norm="model.layer_norm",
    attention=tuple(f"self_attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "out_proj")), mlp=("fc1", "fc2"),
    norms=("self_attn_layer_norm", "final_layer_norm"),
)  # fmt: skip
register(FAIRSEQ, "xglm")
register(
    replace(
        FAIRSEQ, positions=2, embedding="biogpt.embed_tokens", position_table="biogpt.embed_positions",
        layer="biogpt.layers.{i}.", final_norm="biogpt.layer_norm", head="output_projection",
    ),
    "biogpt",
)  # fmt: skip


@family("opt")
def opt(k: Keys) -> Body:
    """OPT and Galactica; OPT-350m embeds in 512 dimensions, projects in and out, and has no final norm."""
    biased = k.flag("enable_bias", True)
    traits = replace(
        FAIRSEQ, qkv_bias=biased, mlp_bias=biased, norm_weight=k.flag("layer_norm_elementwise_affine", True),
        norm_bias=k.flag("layer_norm_elementwise_affine", True), positions=2, layer="model.decoder.layers.{i}.",
        position_table="model.decoder.embed_positions", final_norm="model.decoder.final_layer_norm",
    )  # fmt: skip
    s = sizes(k)
    width = k.integer("word_embed_proj_dim", s.hidden, null=s.hidden)
    projections = () if width == s.hidden else (
        linear("model.decoder.project_in", s.hidden, width, "other"),
        linear("model.decoder.project_out", width, s.hidden, "other"),
    )  # fmt: skip
    normed = k.flag("do_layer_norm_before", True) and not k.flag("_remove_final_layer_norm")
    final = layer_norms(k, traits, s.hidden, (traits.final_norm,)) if normed else ()
    return Body(
        blocks=[
            outer(table("model.decoder.embed_tokens", s.vocab, width)),
            *stack(dense_layers(k, traits, s, s.heads), traits.layer),
            outer(*outside(k, traits, s.hidden), *projections, *final, head(s.vocab, width, tied=s.tied)),
        ],
        n_layers=s.layers, hidden=s.hidden, vocab=s.vocab, heads=s.heads, kv_heads=s.heads, tied=s.tied,
    )  # fmt: skip
