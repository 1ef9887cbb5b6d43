"""Zamba and Zamba2: state-space layers, some of which first pass a transformer block that they share.

The shared block is stored once (Zamba2: `num_mem_blocks` of them in turn) and run at every hybrid layer; what differs
there is a projection back into the stream, in Zamba2 also small adapters, and the KV cache. Its attention sees the
hidden state beside the embedding, so it is 2 x hidden wide.

Sources: Zamba (arXiv 2405.16712), figure 2; Zamba2 (arXiv 2411.15242), figure 2; the checkpoints' tensor lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from planner.architecture.builders import Layer, attention, convolution, join, linear, mlp, norm, vector
from planner.architecture.decoder import Sizes, decoder, sizes
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.ssm import OUTER_PRODUCT, conv_state, mamba2, recurrence, time_step_rank


@family("zamba")
def zamba(k: Keys) -> Body:
    """Zamba: Mamba in a few wide heads, one shared block."""
    s = sizes(k)
    wide = k.integer("attention_hidden_size", 2 * s.hidden, null=2 * s.hidden)
    dim = k.integer("attention_head_dim", 2 * s.hidden // s.heads, null=2 * s.hidden // s.heads)
    heads = attention(s.hidden, s.heads, k.kv_heads(s.heads), dim, input_dim=wide, prefix="shared_transf.self_attn.")
    shared = join(
        heads[0], mlp(s.hidden, k.integer("intermediate_size"), prefix="shared_transf.feed_forward."),
        norm("shared_transf.input_layernorm", wide), norm("shared_transf.pre_ff_layernorm", s.hidden),
    )  # fmt: skip
    period, offset = k.integer("attn_layer_period", 6, most=MOST_LAYERS), k.integer("attn_layer_offset", 4, least=0)
    rule = ["mamba", "mamba", "hybrid", *("hybrid" if i % period == offset else "mamba" for i in range(s.layers - 3))]
    kinds = layer_kinds(k, s.layers, "layers_block_type") or rule[: s.layers]
    hybrid = [i for i, kind in enumerate(kinds) if kind == "hybrid"]
    plain = join(_mamba_heads(k, s.hidden, "mamba."), norm("input_layernorm", s.hidden))
    with_block = join(
        linear("linear", s.hidden, s.hidden, "other", units=1), *heads[1], *heads[2],
        _mamba_heads(k, s.hidden, "mamba_decoder.mamba."), norm("mamba_decoder.input_layernorm", s.hidden),
    )  # fmt: skip
    layers = [with_block if kind == "hybrid" else plain for kind in kinds]
    return _body(s, layers, k.kv_heads(s.heads), [(shared, hybrid)])


def _mamba_heads(k: Keys, hidden: int, prefix: str) -> Layer:
    """Mamba whose inner channels are split among `n_mamba_heads` heads with time steps, B and C of their own."""
    heads, state, kernel = k.integer("n_mamba_heads", 2), k.integer("mamba_d_state", 16), k.integer("mamba_d_conv", 4)
    inner = k.integer("mamba_expand", 2) * hidden
    rank, dim = time_step_rank(k, "mamba_dt_rank", hidden), inner // heads
    bias = k.flag("mamba_proj_bias")
    return join(
        linear(f"{prefix}in_proj", 2 * inner, hidden, "mixer", bias=bias, units=heads),
        convolution(f"{prefix}conv1d", inner, kernel, bias=k.flag("mamba_conv_bias", True), units=heads),
        linear(f"{prefix}x_proj_weight", rank + 2 * state, dim, "mixer", copies=heads, units=1),
        linear(f"{prefix}dt_proj_weight", dim, rank, "mixer", bias=True, copies=heads, units=1),
        vector(f"{prefix}A_log", inner * state, "mixer", units=heads),
        vector(f"{prefix}D", inner, "mixer", units=heads),
        linear(f"{prefix}out_proj", hidden, inner, "mixer", bias=bias, units=heads),
        recurrence(inner * state, OUTER_PRODUCT, units=heads),
        conv_state(inner, kernel, units=heads),
    )


@family("zamba2")
def zamba2(k: Keys) -> Body:
    """Zamba2: Mamba-2, shared blocks in turn, low-rank adapters at every use."""
    s = sizes(k)
    wide, bias = 2 * s.hidden, k.flag("add_bias_linear")
    width = k.integer("intermediate_size", 4 * s.hidden, null=4 * s.hidden)
    block = "shared_transformer."
    heads = attention(s.hidden, s.heads, k.kv_heads(s.heads), wide // s.heads, input_dim=wide,
                      prefix=f"{block}self_attn.")  # fmt: skip
    shared = join(
        heads[0], mlp(s.hidden, width, bias=bias, fused=True, prefix=f"{block}feed_forward."),
        norm(f"{block}input_layernorm", wide), norm(f"{block}pre_ff_layernorm", s.hidden),
    )  # fmt: skip
    kinds = layer_kinds(k, s.layers, "layers_block_type") or _zamba2_kinds(s.layers)
    hybrid = [i for i, kind in enumerate(kinds) if kind == "hybrid"]
    inner, mamba_heads = k.integer("mamba_expand", 2) * s.hidden, k.integer("n_mamba_heads", 8)
    sizes_of_mamba = (
        mamba_heads, inner // mamba_heads, k.integer("mamba_d_state", 64), k.integer("mamba_ngroups", 1),
        k.integer("mamba_d_conv", 4), k.integer("chunk_size", 256),
    )  # fmt: skip
    plain = join(mamba2(s.hidden, *sizes_of_mamba, bias=bias, prefix="mamba."), norm("input_layernorm", s.hidden))
    with_block = join(
        linear("linear", s.hidden, s.hidden, "other", units=1), *heads[1], *heads[2],
        mamba2(s.hidden, *sizes_of_mamba, bias=bias, prefix="mamba_decoder.mamba."),
        norm("mamba_decoder.input_layernorm", s.hidden),
    )  # fmt: skip
    use = {layer: number for number, layer in enumerate(hybrid)}
    layers = [join(with_block, _adapters(k, s, width, use[i])) if i in use else plain for i in range(s.layers)]
    turns = k.integer("num_mem_blocks", 1, most=MOST_LAYERS)
    return _body(s, layers, k.kv_heads(s.heads), [(shared, hybrid[turn::turns]) for turn in range(turns)])


def _zamba2_kinds(layers: int) -> list[str]:
    """The order of Zamba2-2.7B, which a file without a list means."""
    hybrid = {6, 12, 18, 24, 30, 36, 42, 47, 51}
    return ["hybrid" if i in hybrid else "mamba" for i in range(layers)]


def _adapters(k: Keys, s: Sizes, width: int, use: int) -> list[Matrix]:
    """The low-rank adapters of one use of a shared block: on its MLP, and on q, k and v where the config says so."""
    rank = k.integer("adapter_rank", 128)
    targets = [("feed_forward.gate_up_proj_adapter_list", s.hidden, 2 * width)]
    if k.flag("use_shared_attention_adapter"):
        targets += [(f"self_attn.linear_{name}_adapter_list", 2 * s.hidden, 2 * s.hidden) for name in "qkv"]
    return [
        matrix
        for name, inputs, outputs in targets
        for matrix in (
            linear(f"shared_transformer.{name}.{use}.0", rank, inputs, "other", units=1),
            linear(f"shared_transformer.{name}.{use}.1", outputs, rank, "other"),
        )
    ]


def _body(s: Sizes, layers: Sequence[Layer], kv_heads: int, shared: Sequence[tuple[Layer, list[int]]]) -> Body:
    """The decoder, and each shared block at the first layer that runs it; caches and mixing are those of the layers."""
    blocks = [Block("model.layers.{i}.", (uses[0],), layer[0], runs=len(uses)) for layer, uses in shared if uses]
    return decoder(s, layers, kv_heads, extra=blocks, final="model.final_layernorm")


