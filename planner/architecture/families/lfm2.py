"""LFM2, LFM2-MoE and LFM3: gated short convolutions, with attention in some layers.

Source: the checkpoints' tensor lists (transformers 5.24 classes of the same names).
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, convolution, join, linear, mlp
from planner.architecture.decoder import Sizes, decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, moe
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ssm import conv_state

FEED_FORWARD = ("w1", "w3", "w2")  # gate, up, down
FINAL = "model.embedding_norm"


@family("lfm2")
def lfm2(k: Keys) -> Body:
    """LFM2: dense; `layer_types`, or the older `full_attn_idxs`, say where attention is."""
    s, mixers = _frame(k)
    dense = mlp(s.hidden, _width(k), prefix="feed_forward.", names=FEED_FORWARD)
    return decoder(s, [join(mixer, dense) for mixer in mixers], k.kv_heads(s.heads), final=FINAL)


@family("lfm2_moe")
def lfm2_moe(k: Keys) -> Body:
    """LFM2-MoE: the first `num_dense_layers` layers are dense of `intermediate_size`, the others have experts."""
    s, mixers = _frame(k)
    count, used = counts(k)
    first = k.integer("num_dense_layers", 2, least=0, most=MOST_LAYERS)
    dense = mlp(s.hidden, k.integer("intermediate_size"), prefix="feed_forward.", names=FEED_FORWARD)
    sparse = moe(s.hidden, k.integer("moe_intermediate_size"), count, used, prefix="feed_forward.", names=FEED_FORWARD)
    return decoder(s, [join(mixer, dense if i < first else sparse) for i, mixer in enumerate(mixers)],
                   k.kv_heads(s.heads), final=FINAL)  # fmt: skip


@family("lfm3")
def lfm3(k: Keys) -> Body:
    """LFM3: window layers too, an output gate per head, norms after as well as before both halves."""
    s = sizes(k)
    kv, dim = k.kv_heads(s.heads), k.integer("head_dim", 128)
    kinds = layer_kinds(k, s.layers) or [_lfm3_kind(i) for i in range(s.layers)]
    norms = ["operator_norm", "ffn_norm"]
    if k.flag("use_sandwich_norm", True):
        norms += ["post_operator_norm", "post_ffn_norm"]
    common = join(
        mlp(s.hidden, k.integer("intermediate_size"), prefix="feed_forward.", names=FEED_FORWARD),
        pre_norms(s.hidden, *norms),
    )
    gate = [linear("self_attn.gate_proj", s.heads, s.hidden, "attention")] if k.flag("use_attention_gate", True) else []
    windows = {"full_attention": None, "sliding_attention": k.optional("sliding_window", 256) or None}
    bias = k.flag("attention_bias")
    mixers = {
        kind: join(attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window), gate)
        for kind, window in windows.items()
    } | {"conv": _short_convolution(k, s.hidden, 7)}
    unknown = sorted(set(kinds) - set(mixers))
    if unknown:
        raise k.refuse(f"layer_types holds {unknown[0]!r:.40}; expected {', '.join(mixers)}.")
    return decoder(s, [join(mixers[kind], common) for kind in kinds], kv, final=FINAL)


def _lfm3_kind(i: int) -> str:
    """The order that a file without `layer_types` means: two convolutions, full, convolution, window, ..."""
    return "full_attention" if i % 4 == 2 else "sliding_attention" if i % 4 == 0 and i else "conv"


def _frame(k: Keys) -> tuple[Sizes, list[Layer]]:
    """Sizes, and the mixer with the norms of each layer. The file may call tying `tie_embedding`."""
    tied = k.flag("tie_embedding") if k.has("tie_embedding") else k.tied()
    s = Sizes(k.integer("hidden_size"), k.layers(), k.integer("vocab_size"), k.integer("num_attention_heads"), tied)
    kv, dim = grouped(k, s)
    norms = pre_norms(s.hidden, "operator_norm", "ffn_norm")
    full = join(
        attention(s.hidden, s.heads, kv, dim, qk_norm=dim, names=("q_proj", "k_proj", "v_proj", "out_proj"),
                  norm_names=("q_layernorm", "k_layernorm")),
        norms,
    )  # fmt: skip
    short = join(_short_convolution(k, s.hidden), norms)
    listed = k.items("full_attn_idxs", None)
    attends = set(range(s.layers)) if listed is None else {i for i in listed if isinstance(i, int)}
    kinds = layer_kinds(k, s.layers) or ["full_attention" if i in attends else "conv" for i in range(s.layers)]
    return s, [short if kind == "conv" else full for kind in kinds]


def _short_convolution(k: Keys, hidden: int, kernel: int = 3) -> Layer:
    """Input and two gates from one projection; a depthwise convolution of `conv_L_cache` between the gates."""
    kernel, bias = k.integer("conv_L_cache", kernel), k.flag("conv_bias")
    return join(
        linear("conv.in_proj", 3 * hidden, hidden, "mixer", bias=bias, units=hidden),
        convolution("conv.conv", hidden, kernel, bias=bias, units=hidden),
        linear("conv.out_proj", hidden, hidden, "mixer", bias=bias, units=hidden),
        conv_state(hidden, kernel, units=hidden),
    )


def _width(k: Keys) -> int:
    """MLP width: two thirds of the given one, scaled and rounded up, unless `block_auto_adjust_ff_dim` is off."""
    width = k.integer("block_ff_dim" if k.has("block_ff_dim") else "intermediate_size")
    if not k.flag("block_auto_adjust_ff_dim", True):
        return width
    width = 2 * width // 3
    if k.raw("block_ffn_dim_multiplier", 1.0) is None:
        return width
    multiple = k.integer("block_multiple_of", 256)
    return -(-int(k.number("block_ffn_dim_multiplier", 1.0) * width) // multiple) * multiple
