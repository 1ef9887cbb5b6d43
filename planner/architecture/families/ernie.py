"""ERNIE 4.5 MoE (also the text part of its vision models) and Hunyuan MoE.

Sources: the checkpoints' tensor lists; the model code in transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import attention, experts, join, mlp, router, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import mixed, moe, per_layer, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Block, Matrix

STATICS = "mlp.moe_statics.e_score_correction_bias"


def _biased(matrices: tuple[Matrix, ...], bias: bool) -> tuple[Matrix, ...]:
    """The same matrices, routers apart, with biases where the model has them everywhere."""
    return tuple(
        Matrix(m.name, m.rows, m.cols, m.role, m.kind, m.rows, m.copies, m.used, m.units)
        if bias and m.kind == "linear" and m.role not in ("router", "experts") else m
        for m in matrices
    )  # fmt: skip


def _pair(k: Keys, name: str) -> tuple[int, int]:
    """What holds for text and for image tokens: a list of two, or one number for both."""
    value = k.raw(name)
    if not isinstance(value, list):
        one = k.integer(name, least=0)
        return one, one
    if len(value) < 2 or not all(isinstance(n, int) and 0 <= n <= 10**9 for n in value[:2]):
        raise k.refuse(f"{name} is {value!r:.60}; expected a number, or a list of two: for text and for image tokens.")
    return value[0], value[1]


@family("ernie4_5_moe", "ernie4_5_vl_moe_text")
def ernie4_5_moe(k: Keys) -> Body:
    """ERNIE 4.5 21B and 300B; `use_bias` puts a bias on each matrix. The routing bias is a stored parameter.

    Vision models have experts of their own for image tokens, of the second width in `moe_intermediate_size`; they are
    counted with the vision part.
    """
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("use_bias")
    sparse = _sparse_layers(k, s.layers)
    used = k.integer("moe_k")
    width, vision_width = _pair(k, "moe_intermediate_size")
    count, vision_count = _pair(k, "moe_num_experts")
    shared = k.integer("moe_num_shared_experts", 0, null=0, least=0, most=10_000) * width
    mlps = mixed(
        sparse,
        lambda: (*_biased(moe(s.hidden, width, count, used, shared=shared), bias), vector(STATICS, count, "router")),
        lambda: mlp(s.hidden, k.integer("intermediate_size"), bias=bias),
    )
    layers = [join(attention(s.hidden, s.heads, kv, dim, bias=bias), m, pre_norms(s.hidden)) for m in mlps]
    vision: list[Block] = []
    for_vision = isinstance(k.raw("moe_intermediate_size"), list)
    if for_vision:
        for_images = join(
            router(s.hidden, vision_count, name="mlp.gate_1"),
            experts(s.hidden, vision_width, vision_count, used), vector(STATICS, vision_count, "router"),
        )  # fmt: skip
        numbers = tuple(i for i, is_sparse in enumerate(sparse) if is_sparse)
        vision = [Block("model.layers.{i}.", numbers, *for_images, part="vision")]
    return decoder(s, layers, kv, head_bias=bias and not for_vision, extra=vision)


def _sparse_layers(k: Keys, layers: int) -> list[bool]:
    """Sparse layers: `mlp_layer_types`, or every `moe_layer_interval`-th from a first to a last (-1: to the end)."""
    if (kinds := sparse_kinds(k, layers)) is not None:
        return kinds
    start, _ = _pair(k, "moe_layer_start_index")
    end = k.raw("moe_layer_end_index", -1)
    last = end[0] if isinstance(end, list) and end else end
    last = layers - 1 if not isinstance(last, int) or last < 0 else last
    step = k.integer("moe_layer_interval", 1, null=1, most=MOST_LAYERS)
    return [start <= i <= last and (i + 1) % step == 0 for i in range(layers)]


@family("hunyuan_v1_moe", "hunyuan")
def hunyuan_v1_moe(k: Keys) -> Body:
    """Hunyuan-A13B and Hunyuan-Large: sizes may be lists with an entry per layer; a shared expert beside the others.

    With `use_cla`, groups of `cla_share_factor` layers share the keys and values of their first.
    """
    s = sizes(k)
    kv, dim = grouped(k, s)
    width = k.integer("intermediate_size")
    counted = _by_layer(k, "num_experts", s.layers, 1)
    used = _by_layer(k, "num_experts_per_tok", s.layers, 1)
    wide = _by_layer(k, "moe_intermediate_size", s.layers, width)
    shared = _by_layer(k, "num_shared_expert", s.layers, 1)
    dense = k.integer("moe_layer_num_skipped", 0, null=0, least=0, most=MOST_LAYERS)
    group = k.integer("cla_share_factor", 1, null=1, most=MOST_LAYERS) if k.flag("use_cla") else 1
    bias, qk_norm = k.flag("attention_bias"), dim if k.flag("use_qk_norm", True) else 0
    layers = [
        join(
            attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=qk_norm, shared_kv=i % group > 0,
                      norm_names=("query_layernorm", "key_layernorm")),
            mlp(s.hidden, width, bias=k.flag("mlp_bias")) if i < dense or counted[i] == 0 else
            moe(s.hidden, wide[i], counted[i], min(used[i], counted[i]), shared=shared[i] * width, gate="gate.wg",
                shared_name="shared_mlp."),
            pre_norms(s.hidden),
        )
        for i in range(s.layers)
    ]  # fmt: skip
    return decoder(s, layers, kv)


def _by_layer(k: Keys, name: str, layers: int, default: int) -> list[int]:
    """One number for all layers, or a list with one for each."""
    value = k.raw(name, default)
    if not isinstance(value, list):
        return [k.integer(name, default, null=default, least=0)] * layers
    listed = per_layer(k, name, value, layers)
    if not all(isinstance(n, int) and not isinstance(n, bool) and 0 <= n <= 10**9 for n in listed):
        raise k.refuse(f"{name} holds an entry that is no whole number; expected one number for each layer.")
    return [int(str(n)) for n in listed]


