"""Inkling: relative positions, short convolutions on keys, values and both outputs, shared experts in the router.

Source: the class of the same name in transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import (
    Layer,
    attention,
    convolution,
    experts,
    join,
    linear,
    mlp,
    norm,
    router,
    vector,
)
from planner.architecture.decoder import decoder, sizes
from planner.architecture.experts import GATED, counts, mixed, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix
from planner.architecture.ssm import conv_state

SLIDING = "hybrid_sliding"


@family("inkling_text")
def inkling(k: Keys) -> Body:
    """Inkling: five of six layers slide, with heads of their own number and size (`swa_*`)."""
    s = sizes(k)
    kernel = k.integer("conv_kernel_size", 4)
    kinds = layer_kinds(k, s.layers) or [SLIDING if slides else "hybrid" for slides in _sliding(k, s.layers)]
    feeds = mixed(
        sparse_kinds(k, s.layers) or [i >= k.integer("dense_mlp_idx", 0, least=0) for i in range(s.layers)],
        lambda: _experts(k, s.hidden), lambda: _dense(k, s.hidden),
    )  # fmt: skip
    mixers = {kind: _attention(k, s.hidden, s.heads, kernel, kind == SLIDING) for kind in set(kinds)}
    rest = join(
        norm("input_layernorm", s.hidden), norm("post_attention_layernorm", s.hidden),
        convolution("attn_sconv.conv1d", s.hidden, kernel), convolution("mlp_sconv.conv1d", s.hidden, kernel),
        conv_state(s.hidden, kernel), conv_state(s.hidden, kernel),
    )  # fmt: skip
    layers = [join(mixers[kind], feed, rest) for kind, feed in zip(kinds, feeds, strict=True)]
    outside = [norm("model.embed_tokens.embed_norm", s.hidden)]
    return decoder(s, layers, k.kv_heads(s.heads), outside=outside)


def _sliding(k: Keys, layers: int) -> list[bool]:
    listed = k.items("local_layer_ids", None)
    return [i in listed if listed is not None else (i + 1) % 6 != 0 for i in range(layers)]


def _attention(k: Keys, hidden: int, heads: int, kernel: int, sliding: bool) -> Layer:
    extent = k.integer("rel_extent", 1024)
    if sliding:
        heads = k.integer("swa_num_attention_heads", heads, null=heads)
        kv, dim = k.integer("swa_num_key_value_heads", 16), k.integer("swa_head_dim", 128)
        window = k.integer("sliding_window_size" if "sliding_window_size" in k.data else "sliding_window", 512)
        extent = min(extent, window)
    else:
        kv, dim, window = k.kv_heads(heads), k.head_dim(hidden, heads), None
    rank = k.integer("d_rel", 16)
    return join(
        attention(hidden, heads, kv, dim, qk_norm=dim, window=window),
        linear("self_attn.r_proj", heads * rank, hidden, "attention", units=heads),
        Matrix("self_attn.rel_logits_proj.proj", rank, extent, "attention"),
        *(convolution(f"self_attn.{n}_sconv.conv1d", kv * dim, kernel, "attention", units=kv) for n in "kv"),
        *(conv_state(kv * dim, kernel, units=kv) for _ in "kv"),
    )


def _dense(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    key = "dense_intermediate_size" if "dense_intermediate_size" in k.data else "intermediate_size"
    return (*mlp(hidden, k.integer(key)), vector("mlp.global_scale", 1, "mlp"))


def _experts(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """Routed experts, and shared ones that the router weighs too and every token passes through."""
    count, used = counts(k)
    shared = k.integer("n_shared_experts", 0, null=0, least=0, most=10_000)
    width = k.integer("intermediate_size" if "dense_intermediate_size" in k.data else "moe_intermediate_size")
    return (
        router(hidden, count + shared), vector("mlp.gate.global_scale", 1, "router"),
        *experts(hidden, width, count, used, names=GATED),
        *mlp(hidden, shared * width, prefix="mlp.shared_experts.", role="shared"),
    )  # fmt: skip
