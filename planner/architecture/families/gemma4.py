"""Gemma 4 text: windows with narrow heads, global layers with wide ones, shared caches, per-layer embeddings, experts.

Source: the checkpoints' tensor lists (transformers 5.24 class).
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, join, mlp, norm, router, vector
from planner.architecture.decoder import Sizes, decoder, pre_norms, sizes
from planner.architecture.experts import counts, fused_experts
from planner.architecture.families import Body, family
from planner.architecture.families.gemma3n import per_layer_inputs, per_layer_tables
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix

NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


@family("gemma4_text", "gemma4_unified_text")
def gemma4(k: Keys) -> Body:
    """The last layer is always global; the last `num_kv_shared_layers` read the caches of earlier layers."""
    s = sizes(k)
    kinds = layer_kinds(k, s.layers) or ["full_attention" if i % 6 == 5 else "sliding" for i in range(s.layers)]
    slides = [kind != "full_attention" and i < s.layers - 1 for i, kind in enumerate(kinds)]
    own = s.layers - k.integer("num_kv_shared_layers", 0, null=0, least=0, most=s.layers)
    inputs = k.integer("hidden_size_per_layer_input", 256, null=0, least=0)
    common = join(
        pre_norms(s.hidden, *NORMS), _experts(k, s.hidden) if k.flag("enable_moe_block") else (),
        per_layer_inputs(s.hidden, inputs),
    )  # fmt: skip
    width = k.integer("intermediate_size")
    wide = 2 * width if k.flag("use_double_wide_mlp") else width
    layers = [
        join(_attention(k, s, slide, i >= own), mlp(s.hidden, wide if i >= own else width), common)
        for i, slide in enumerate(slides)
    ]
    return decoder(s, layers, k.kv_heads(s.heads), outside=per_layer_tables(k, s, inputs))


def _attention(k: Keys, s: Sizes, slides: bool, shared: bool) -> Layer:
    """A window layer, or a global one with `global_head_dim` and maybe values that are the keys (no v_proj).

    The cache keeps keys and values in either case, since only keys are rotated.
    """
    kv, window = k.kv_heads(s.heads), k.optional("sliding_window", 512) or None
    if slides:
        dim = k.integer("head_dim", 256)
        return attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=dim, window=window,
                         shared_kv=shared)  # fmt: skip
    dim = k.integer("global_head_dim", 512, null=k.integer("head_dim", 256))
    same = k.flag("attention_k_eq_v")
    if same:
        kv = k.integer("num_global_key_value_heads", kv, null=kv)
    return attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=dim, v_proj=not same,
                     shared_kv=shared)  # fmt: skip


def _experts(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """Experts beside the dense MLP: a scaled router, one tensor for all experts, three more norms."""
    count, used = counts(k)
    return (
        router(hidden, count, name="router.proj"),
        vector("router.scale", hidden, "router"), vector("router.per_expert_scale", count, "router"),
        *fused_experts(hidden, k.integer("moe_intermediate_size"), count, used, prefix="experts."),
        norm("post_feedforward_layernorm_1", hidden), norm("post_feedforward_layernorm_2", hidden),
        norm("pre_feedforward_layernorm_2", hidden),
    )  # fmt: skip
