"""Mamba-2 beside grouped-query attention: Bamba, Granite 4 (H) and Falcon-H1, whose configs share the keys `mamba_*`.

Sources: the checkpoints' tensor lists (transformers 5.24 classes of the same names).
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, mlp, router
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, fused_experts
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix
from planner.architecture.ssm import mamba2_of


@family("bamba")
def bamba(k: Keys) -> Body:
    """Bamba: attention in the layers of `attn_layer_indices` (none given: nowhere), Mamba-2 in the others."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    listed = k.items("attn_layer_indices", [])
    full = {i for i in listed or [] if isinstance(i, int)}
    common = join(
        mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias"), prefix="feed_forward."),
        pre_norms(s.hidden, "input_layernorm", "pre_ff_layernorm"),
    )
    heads = join(attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias")), common)
    mamba = join(mamba2_of(k, s.hidden), common)
    layers = [heads if i in full else mamba for i in range(s.layers)]
    return decoder(s, layers, kv, final="model.final_layernorm")


@family("granitemoehybrid")
def granite_hybrid(k: Keys) -> Body:
    """Granite 4: `layer_types` says where attention is (absent: nowhere); each has a shared MLP, most experts."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    kinds = layer_kinds(k, s.layers) or layer_kinds(k, s.layers, "layers_block_type") or ["mamba"] * s.layers
    common = join(
        _granite_experts(k, s.hidden),
        mlp(s.hidden, k.integer("shared_intermediate_size", 1024), prefix="shared_mlp.", role="shared",
            names=("input_linear", "output_linear")),
        pre_norms(s.hidden),
    )  # fmt: skip
    heads = join(attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias")), common)
    mamba = join(mamba2_of(k, s.hidden), common)
    return decoder(s, [heads if kind in ("attention", "full_attention") else mamba for kind in kinds], kv)


def _granite_experts(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """Router and experts, stored as one tensor a layer; none where `num_local_experts` is 0 (the dense sizes)."""
    if not k.integer("num_experts", 0, null=0, least=0):
        return ()
    count, used = counts(k)
    return (
        router(hidden, count, name="block_sparse_moe.router.layer"),
        *fused_experts(hidden, k.integer("intermediate_size"), count, used, prefix="block_sparse_moe.",
                       names=("input_linear", "output_linear")),
    )  # fmt: skip


@family("falcon_h1")
def falcon_h1(k: Keys) -> Body:
    """Falcon-H1: attention and Mamba-2 side by side in every layer; `mamba_d_ssm` is the state-space width."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    layer = join(
        attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias")),
        mamba2_of(k, s.hidden, inner=k.optional("mamba_d_ssm", 1024), gated_norm=k.flag("mamba_rms_norm"),
                  out_bias=k.flag("projectors_bias")),
        mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias"), prefix="feed_forward."),
        pre_norms(s.hidden, "input_layernorm", "pre_ff_layernorm"),
    )  # fmt: skip
    return decoder(s, [layer] * s.layers, kv, final="model.final_layernorm")
