"""Nemotron-H and Nemotron 3: one block and one norm per layer - Mamba-2, attention, MLP or mixture of experts.

Sources: the tensor lists of the checkpoints; NVIDIA Nemotron 3 white paper (2025) for the latent experts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from planner.architecture.builders import Layer, attention, experts, join, linear, mlp, norm, router
from planner.architecture.decoder import Sizes, decoder
from planner.architecture.experts import counts
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Block, Matrix
from planner.architecture.ssm import mamba2

# Letters of hybrid_override_pattern, and the words of layers_block_type, for the four kinds of layer.
KINDS: Final[dict[str, str]] = {
    "M": "mamba", "*": "attention", "-": "mlp", "E": "moe",
    "mamba": "mamba", "attention": "attention", "mlp": "mlp", "moe": "moe",
    "linear_attention": "mamba", "full_attention": "attention",
}  # fmt: skip


@family("nemotron_h")
def nemotron_h(k: Keys) -> Body:
    """Layers in the order of `hybrid_override_pattern` (or the list `layers_block_type`); only "*" keeps a KV cache."""
    kinds = _kinds(k, "layers_block_type", "hybrid_override_pattern", ["mamba", "moe", "attention", "mlp"])
    if k.has("num_hidden_layers"):  # newer files leave it out: the pattern says it
        layers = k.integer("num_hidden_layers", null=len(kinds), least=0, most=MOST_LAYERS)
        if layers != len(kinds):
            raise k.refuse(
                f"num_hidden_layers is {layers}, but the layer pattern (hybrid_override_pattern or layers_block_type) "
                f"has {len(kinds)} entries. Correct one of the two."
            )
    hidden, heads = k.integer("hidden_size"), k.integer("num_attention_heads")
    build: dict[str, Callable[[], Layer]] = {
        "mamba": lambda: _mamba(k, hidden),
        "attention": lambda: attention(
            hidden, heads, k.kv_heads(heads), k.integer("head_dim", 128), bias=k.flag("attention_bias"), prefix="mixer."
        ),
        "mlp": lambda: join(
            mlp(hidden, k.integer("intermediate_size"), gated=False, bias=k.flag("mlp_bias"), prefix="mixer.")
        ),
        "moe": lambda: join(_moe(k, hidden)),
    }
    draft_kinds = _draft_kinds(k)
    layer = {kind: join(build[kind](), norm("norm", hidden)) for kind in {*kinds, *draft_kinds}}
    s = Sizes(hidden, len(kinds), k.integer("vocab_size"), heads, k.tied())
    return decoder(
        s, [layer[kind] for kind in kinds], k.kv_heads(heads), prefix="backbone.layers.{i}.",
        embedding="backbone.embeddings", final="backbone.norm_f",
        extra=_draft(hidden, [layer[kind] for kind in draft_kinds]),
    )  # fmt: skip


def _kinds(k: Keys, listed: str, pattern: str, default: list[str]) -> list[str]:
    """The kind of each layer: from the list, else from the letters, else the default."""
    name = listed if k.data.get(listed) is not None or k.data.get(pattern) is None else pattern
    value: Any = k.raw(name, default)
    if not isinstance(value, (str, list)) or not 0 < len(value) <= MOST_LAYERS:
        raise k.refuse(f"{name} is {value!r:.60}; expected one letter (M * - E) or word per layer.")
    unknown = sorted({str(kind) for kind in value if not isinstance(kind, str) or kind not in KINDS})
    if unknown:
        raise k.refuse(f"{name} holds {unknown[0]!r:.40}; expected {', '.join(KINDS)}. Correct the layer pattern.")
    return [KINDS[kind] for kind in value]


def _mamba(k: Keys, hidden: int) -> Layer:
    return mamba2(
        hidden, k.integer("mamba_num_heads", 128), k.integer("mamba_head_dim", 64), k.integer("ssm_state_size", 128),
        k.integer(_named(k, "mamba_n_groups", "n_groups"), 8), k.integer(_named(k, "mamba_d_conv", "conv_kernel"), 4),
        k.integer(_named(k, "mamba_chunk_size", "chunk_size"), 128), bias=k.flag("use_bias"),
        conv_bias=k.flag(_named(k, "mamba_conv_bias", "use_conv_bias"), True),
    )  # fmt: skip


def _named(k: Keys, other: str, name: str) -> str:
    """The name under which a file has this key."""
    return other if k.has(other) else name


def _moe(k: Keys, hidden: int) -> list[Matrix]:
    """Experts of two matrices; with `moe_latent_size` they work on a narrower projection of the hidden state."""
    count, used = counts(k)
    latent = k.optional("moe_latent_size") or None
    bias = k.flag("mlp_bias")
    out = [router(hidden, count, name="mixer.gate")]
    if latent:
        out.append(linear("mixer.fc1_latent_proj", latent, hidden, "mlp", bias=bias, units=1))
        out.append(linear("mixer.fc2_latent_proj", hidden, latent, "mlp", bias=bias, units=1))
    out += experts(latent or hidden, k.integer("moe_intermediate_size"), count, used, gated=False, bias=bias,
                   prefix="mixer.experts.{e}.")  # fmt: skip
    if k.integer("n_shared_experts", 1, null=0, least=0):
        shared = k.integer("moe_shared_expert_intermediate_size", 7688)
        out += mlp(hidden, shared, gated=False, bias=bias, prefix="mixer.shared_experts.", role="shared")
    return out


def _draft_kinds(k: Keys) -> list[str]:
    if not k.integer("num_nextn_predict_layers", 0, null=0, least=0, most=MOST_LAYERS):
        return []
    return _kinds(k, "mtp_layers_block_type", "mtp_hybrid_override_pattern", ["attention", "moe"])


def _draft(hidden: int, layers: list[Layer]) -> list[Block]:
    """The multi-token-prediction layer: a short pattern of its own between an input projection and a final norm."""
    if not layers:
        return []
    entry = [linear("eh_proj", hidden, 2 * hidden, "other", units=1), norm("enorm", hidden), norm("hnorm", hidden)]
    parts = [join(entry, layers[0]), *layers[1:]]
    parts[-1] = join(parts[-1], norm("final_layernorm", hidden))
    return [Block("mtp.layers.{i}.", (i,), *part, part="mtp") for i, part in enumerate(parts)]
