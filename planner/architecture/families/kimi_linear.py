"""Kimi Linear (and Kimi K3): delta attention in three of four layers, latent attention in the fourth, experts.

Sources: Kimi Linear (arXiv 2510.26692); the tensor list of the transformers 5.24 class under the checkpoint's names.
For Kimi K3 there is only its config: readings with its keys are marked as guesses.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from planner.architecture.builders import Layer, experts, join, linear, mlp, norm, router
from planner.architecture.decoder import decoder, next_token_layers, pre_norms, sizes
from planner.architecture.delta import Delta, kda
from planner.architecture.experts import counts, dense_first
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix
from planner.architecture.mla import latent_shape, mla

MOE: Final = "block_sparse_moe."


@family("kimi_linear")
def kimi_linear(k: Keys) -> Body:
    """Layer lists in `linear_attn_config` count from 1."""
    s = sizes(k)
    shape = latent_shape(k, s.hidden, s.heads)
    part = k.section("linear_attn_config")
    heads, dim, kernel = kda_sizes(k, 32)
    mixers: dict[bool, Layer] = {
        True: kda(s.hidden, Delta(heads, heads, dim, dim, kernel), low_rank_gate=not part.flag("use_full_rank_gate")),
        False: mla(s.hidden, shape),
    }
    if k.flag("mla_use_output_gate"):
        gate = linear("self_attn.g_proj", s.heads * shape.v, s.hidden, "attention", units=s.heads)
        mixers[False] = join(mixers[False], gate)
    mlps: dict[bool, Callable[[], tuple[Matrix, ...]]] = {
        False: lambda: mlp(s.hidden, k.integer("intermediate_size")),
        True: lambda: tuple(_moe(k, s.hidden)),
    }
    sparse = dense_first(k, s.layers, 1)
    feeds = {kind: mlps[kind]() for kind in set(sparse)}
    _note_unpublished(k, part)
    layers = [
        join(mixers[is_linear], feeds[is_sparse], pre_norms(s.hidden))
        for is_linear, is_sparse in zip(_linear_layers(k, part, s.layers), sparse, strict=True)
    ]
    return decoder(s, layers, k.kv_heads(s.heads), extra=next_token_layers(k, s, layers[-1]))


def kda_sizes(k: Keys, heads: int) -> tuple[int, int, int]:
    """Heads (by default so many), their dimension and the convolutions' kernel: in a section of their own, or flat."""
    part = k.section("linear_attn_config")

    def size(name: str, flat: str, default: int) -> int:
        return part.integer(name) if part.has(name) else k.integer(flat, default)

    return (
        size("num_heads", "linear_num_heads", heads), size("head_dim", "linear_head_dim", 128),
        size("short_conv_kernel_size", "linear_conv_kernel_dim", 4),
    )  # fmt: skip


def _linear_layers(k: Keys, part: Keys, layers: int) -> list[bool]:
    """Which layers are delta attention: `layer_types`, else the lists of the checkpoint, else the class's rule."""
    kinds = layer_kinds(k, layers)
    if kinds is not None:
        return [kind == "linear_attention" for kind in kinds]
    full, delta = part.items("full_attn_layers", None), part.items("kda_layers", None)
    if full is None or delta is None:
        return [i == 0 or i % 4 != 0 for i in range(layers)]
    if sorted(map(str, full + delta)) != sorted(str(i) for i in range(1, layers + 1)):
        raise k.refuse(
            f"linear_attn_config lists {len(full)} full_attn_layers and {len(delta)} kda_layers; expected each of the "
            f"layers 1 to {layers} once. Correct the lists or num_hidden_layers."
        )
    return [i + 1 not in full for i in range(layers)]


def _moe(k: Keys, hidden: int) -> list[Matrix]:
    """Router, experts, shared expert; with `routed_expert_hidden_size` the experts work on a narrower projection."""
    count, used = counts(k)
    width = k.integer("moe_intermediate_size")
    latent = k.optional("routed_expert_hidden_size") or None
    out = [router(hidden, count, name=f"{MOE}gate")]
    out += experts(latent or hidden, width, count, used, prefix=f"{MOE}experts.{{e}}.", names=("w1", "w3", "w2"))
    if latent:
        out.append(linear(f"{MOE}routed_expert_down_proj", latent, hidden, "mlp", units=1))
        out.append(linear(f"{MOE}routed_expert_up_proj", hidden, latent, "mlp", units=1))
        out.append(norm(f"{MOE}routed_expert_norm", latent if k.flag("latent_moe_use_norm") else 0))
    shared = k.integer("num_shared_experts" if k.has("num_shared_experts") else "n_shared_experts", 1, null=0, least=0)
    if shared:
        out += mlp(hidden, shared * width, prefix=f"{MOE}shared_experts.", role="shared")
    return out


def _note_unpublished(k: Keys, part: Keys) -> None:
    """Say which parts are read from key names alone."""
    names = ("routed_expert_hidden_size", "mla_use_output_gate", "attn_res_block_size")
    seen = [name for name in names if k.has(name) and k.raw(name)]
    seen += ["use_full_rank_gate"] if part.flag("use_full_rank_gate") else []
    if seen:
        k.guess(
            f"The keys {', '.join(seen)} have no published tensor list; their matrices are derived from the key names. "
            "Check the total against the size of the checkpoint."
        )
