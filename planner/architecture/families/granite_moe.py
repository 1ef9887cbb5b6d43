"""Granite's mixtures of experts (with a shared MLP, with windows) and JetMoE, whose attention is a mixture as well.

Sources: the checkpoints' tensor lists; the model code in transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, linear, mlp, router, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import counts, fused_experts
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_windows
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix, Mixing

FUSED = ("input_linear", "output_linear")


def granite_experts(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """Router, fused experts as wide as `intermediate_size`, and a shared MLP of `shared_intermediate_size` (0: none).

    No experts (`num_local_experts` 0): only the shared MLP.
    """
    count, used = counts(k)
    shared = k.integer("shared_intermediate_size", 0, null=0, least=0)
    out: list[Matrix] = []
    if count:
        width = k.integer("intermediate_size")
        out.append(router(hidden, count, name="block_sparse_moe.router.layer"))
        out += fused_experts(hidden, width, count, used, prefix="block_sparse_moe.", names=FUSED)
    if shared:
        out += mlp(hidden, shared, prefix="shared_mlp.", role="shared" if count else "mlp", names=FUSED)
    return tuple(out)


@family("granitemoe", "granitemoeshared")
def granitemoe(k: Keys) -> Body:
    """Granite 3 MoE; granitemoeshared adds a shared MLP."""
    return _granite(k, sinks=False)


@family("granitemoe_swa")
def granitemoe_swa(k: Keys) -> Body:
    """Granite MoE with a window in the layers that `layer_types` lists, and a sink per head."""
    return _granite(k, sinks=True)


def _granite(k: Keys, *, sinks: bool) -> Body:
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias")
    sparse = granite_experts(k, s.hidden)
    sink = (vector("self_attn.sinks", s.heads, "attention", units=s.heads),) if sinks else ()
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, window=window), sink, sparse,
             pre_norms(s.hidden))
        for window in layer_windows(k, s.layers, "types")
    ]  # fmt: skip
    return decoder(s, layers, kv)


@family("jetmoe")
def jetmoe(k: Keys) -> Body:
    """JetMoE: query and output projections are experts; keys and values are shared by all of them."""
    s = sizes(k)
    kv, dim = k.kv_heads(s.heads), k.integer("head_dim")
    count, used = counts(k)
    wide = kv * dim
    attn = "self_attention."
    layer = join(
        router(s.hidden, count, name=f"{attn}experts.router.layer"),
        linear(f"{attn}experts.input_linear", wide, s.hidden, "experts", copies=count, used=used, units=kv),
        linear(f"{attn}experts.output_linear", s.hidden, wide, "experts", copies=count, used=used, units=kv),
        # One bias for all; it is reckoned among the experts' parameters, of which a token passes a share.
        Matrix(f"{attn}experts.bias", s.hidden, 1, "experts", "vector", used=used / count if count else 1),
        linear(f"{attn}kv_proj", 2 * wide, s.hidden, "attention", units=kv),
        Cache("full", 2 * wide, units=kv), Mixing(4 * wide * used),
        router(s.hidden, count, name="mlp.router.layer"),
        fused_experts(s.hidden, k.integer("intermediate_size"), count, used, prefix="mlp.", names=FUSED),
        vector("mlp.bias", s.hidden, "mlp"), pre_norms(s.hidden),
    )  # fmt: skip
    return decoder(s, [layer] * s.layers, kv)
