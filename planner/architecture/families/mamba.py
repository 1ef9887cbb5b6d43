"""Pure state-space models: Mamba, Falcon-Mamba and Mamba-2. No layer has a cache that grows.

Sources: the checkpoints' tensor lists (transformers 5.24 classes of the same names).
"""

from __future__ import annotations

from planner.architecture.builders import join, norm
from planner.architecture.decoder import Sizes, decoder
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ssm import mamba1, mamba2, time_step_rank

LAYER, EMBEDDING, FINAL = "backbone.layers.{i}.", "backbone.embeddings", "backbone.norm_f"


@family("mamba", "falcon_mamba")
def mamba(k: Keys) -> Body:
    """Mamba; Falcon-Mamba adds norms without weights.

    The inner width is as given (`expand` of Falcon-Mamba's file is not it), else `expand` x hidden.
    """
    hidden = k.integer("hidden_size")
    usual = int(k.number("expand", 2, least=1, most=64) * hidden)
    inner = k.integer("intermediate_size", usual, null=usual) if "intermediate_size" in k.data else usual
    mixer = mamba1(
        hidden, inner, k.integer("state_size", 16), k.integer("conv_kernel", 4),
        time_step_rank(k, "time_step_rank", hidden),
        bias=k.flag("use_bias"), conv_bias=k.flag("use_conv_bias", True),
    )  # fmt: skip
    s = Sizes(hidden, k.layers(), k.integer("vocab_size"), inner, k.tied())
    layers = [join(mixer, norm("norm", hidden))] * s.layers
    return decoder(s, layers, inner, prefix=LAYER, embedding=EMBEDDING, final=FINAL)


@family("mamba2")
def mamba_2(k: Keys) -> Body:
    """Mamba-2, such as Codestral Mamba."""
    hidden, heads = k.integer("hidden_size"), k.integer("num_heads", 128)
    mixer = mamba2(
        hidden, heads, k.integer("head_dim", 64), k.integer("state_size", 128), k.integer("n_groups", 8),
        k.integer("conv_kernel", 4), k.integer("chunk_size", 256),
        bias=k.flag("use_bias"), conv_bias=k.flag("use_conv_bias", True),
    )  # fmt: skip
    s = Sizes(hidden, k.layers(), k.integer("vocab_size"), heads, k.tied())
    layers = [join(mixer, norm("norm", hidden))] * s.layers
    return decoder(s, layers, heads, prefix=LAYER, embedding=EMBEDDING, final=FINAL)
