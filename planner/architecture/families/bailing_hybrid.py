"""Ling and Ring with linear attention: delta attention (Ling 3) or lightning attention (Ling 2.5, Ring-linear 2).

Sources: the tensor list of the transformers 5.24 class under the checkpoint's names; the modelling code that
inclusionAI publishes with Ring 2.5 and Ring-linear 2.
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, join, linear, mlp, norm
from planner.architecture.decoder import Sizes, decoder, next_token_layers, pre_norms, sizes
from planner.architecture.delta import CHUNK, Delta, kda
from planner.architecture.experts import counts, dense_first, moe
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix
from planner.architecture.mla import latent_shape, mla
from planner.architecture.ssm import OUTER_PRODUCT, recurrence, within_chunk

PREFIX = "attention."


@family("bailing_hybrid", "bailing_moe_linear", "bailing_moe_v2_5")
def bailing_hybrid(k: Keys) -> Body:
    """The last of every `layer_group_size` layers is full: latent attention, or grouped-query (no `kv_lora_rank`)."""
    s = sizes(k)
    # Only the lightning generation has these keys; in it an unfinished last group is full attention too.
    is_lightning = k.has("group_norm_size", "linear_silu") and not k.has("short_conv_kernel_size")
    mixers = {
        True: _lightning(k, s) if is_lightning else _delta(k, s),
        False: _full(k, s, gate=not is_lightning),
    }
    dense, sparse = mlp(s.hidden, k.integer("intermediate_size")), _moe(k, s.hidden)
    layers = [
        join(mixers[is_linear], sparse if is_sparse else dense, pre_norms(s.hidden))
        for is_linear, is_sparse in zip(
            _linear_layers(k, s.layers, is_lightning), dense_first(k, s.layers, 1 if is_lightning else 2), strict=True
        )
    ]
    return decoder(s, layers, k.kv_heads(s.heads), embedding="model.word_embeddings",
                   extra=next_token_layers(k, s, layers[-1]))  # fmt: skip


def _linear_layers(k: Keys, layers: int, is_lightning: bool) -> list[bool]:
    kinds = layer_kinds(k, layers)
    if kinds is not None:
        return [kind == "linear_attention" for kind in kinds]
    group = k.integer("layer_group_size", 5 if is_lightning else 6, most=MOST_LAYERS)
    whole = layers // group * group if is_lightning else layers
    return [(i + 1) % group != 0 and i < whole for i in range(layers)]


def _head_dim(k: Keys, s: Sizes) -> int:
    """Head dimension of the linear layers. A file that a library saved has the rotary part as its `head_dim`."""
    name = "linear_head_dim" if k.has("linear_head_dim") else "head_dim"
    return k.integer(name, 128, null=max(s.hidden // s.heads, 1))


def _delta(k: Keys, s: Sizes) -> Layer:
    dim = _head_dim(k, s)
    heads = k.integer("linear_num_heads", s.heads, null=s.heads)
    kernel = "linear_conv_kernel_dim" if k.has("linear_conv_kernel_dim") else "short_conv_kernel_size"
    sizes_of = Delta(heads, heads, dim, dim, k.integer(kernel, 4))
    return kda(s.hidden, sizes_of, low_rank=False, low_rank_gate=False, prefix=PREFIX)


def _lightning(k: Keys, s: Sizes) -> Layer:
    """As many key and value heads as query heads; fixed decay; an output gate after a grouped norm."""
    dim = _head_dim(k, s)
    inner, qk_norm = s.heads * dim, dim if k.flag("use_qk_norm", True) else 0
    return join(
        linear(f"{PREFIX}query_key_value", 3 * inner, s.hidden, "mixer", bias=k.flag("use_qkv_bias"), units=s.heads),
        linear(f"{PREFIX}dense", s.hidden, inner, "mixer", bias=k.flag("use_bias"), units=s.heads),
        linear(f"{PREFIX}g_proj", inner, s.hidden, "mixer", units=s.heads),
        norm(f"{PREFIX}g_norm", inner),
        norm(f"{PREFIX}query_layernorm", qk_norm), norm(f"{PREFIX}key_layernorm", qk_norm),
        recurrence(inner * dim, OUTER_PRODUCT, units=s.heads), within_chunk(4 * inner, CHUNK),
    )  # fmt: skip


def _full(k: Keys, s: Sizes, gate: bool) -> Layer:
    """Latent attention (with one gate per head in Ling 3), or grouped-query attention in Ring-linear 2."""
    if not k.has("kv_lora_rank") and not gate:
        dim = _head_dim(k, s)
        return attention(
            s.hidden, s.heads, k.kv_heads(s.heads), dim, names=("query_key_value", "dense"), prefix=PREFIX,
            bias=k.flag("use_qkv_bias"), out_bias=k.flag("use_bias"), norm_names=("query_layernorm", "key_layernorm"),
            qk_norm=dim if k.flag("use_qk_norm", True) else 0,
        )  # fmt: skip
    latent = mla(s.hidden, latent_shape(k, s.hidden, s.heads), prefix=PREFIX)
    return join(latent, linear(f"{PREFIX}g_proj", s.heads, s.hidden, "attention")) if gate else latent


def _moe(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    count, used = counts(k)
    width = k.integer("moe_intermediate_size")
    shared = k.integer("num_shared_experts" if k.has("num_shared_experts") else "n_shared_experts", 1, null=0, least=0)
    return moe(hidden, width, count, used, shared=shared * width)
