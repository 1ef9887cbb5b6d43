"""ERNIE 4.5 MoE (also the text part of its vision models) and Hunyuan MoE.

Sources: the checkpoints' tensor lists; the model code in transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import attention, experts, join, mlp, router, vector
from planner.architecture.decoder import decoder, grouped, pre_norms, sizes
from planner.architecture.experts import mixed, moe, per_layer
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


def _first(k: Keys, name: str) -> int:
    """A number, or the first of a list: text and vision experts of a vision model in this order."""
    listed = k.raw(name)
    if not isinstance(listed, list):
        return k.integer(name, least=0)
    return Keys({name: listed[0] if listed else None}, k.where, k.defaults, k.log).integer(name, least=0)


def _second(k: Keys, name: str) -> int:
    listed = k.raw(name)
    if not isinstance(listed, list) or len(listed) < 2:
        return 0
    return Keys({name: listed[1]}, k.where, k.defaults, k.log).integer(name, least=0)


@family("ernie4_5_moe", "ernie4_5_vl_moe_text")
def ernie4_5_moe(k: Keys) -> Body:
    """ERNIE 4.5 21B and 300B; `use_bias` puts a bias on each matrix. The routing bias is a stored parameter.

    In vision models `moe_num_experts` and `moe_intermediate_size` are lists: experts for text tokens, then for image
    tokens, which are counted with the vision part.
    """
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("use_bias")
    sparse = _interval(k, s.layers)
    used = k.integer("moe_k")
    shared_count = k.integer("moe_num_shared_experts", 0, null=0, least=0, most=10_000)

    def routed() -> tuple[Matrix, ...]:
        width, count = _first(k, "moe_intermediate_size"), _first(k, "moe_num_experts")
        shared = shared_count * width
        return (*_biased(moe(s.hidden, width, count, used, shared=shared), bias), vector(STATICS, count, "router"))

    mlps = mixed(sparse, routed, lambda: mlp(s.hidden, k.integer("intermediate_size"), bias=bias))
    layers = [join(attention(s.hidden, s.heads, kv, dim, bias=bias), m, pre_norms(s.hidden)) for m in mlps]
    return decoder(s, layers, kv, head_bias=bias, extra=_vision_experts(k, s.hidden, sparse, used))


def _interval(k: Keys, layers: int) -> list[bool]:
    """Sparse layers: every `moe_layer_interval`-th from `moe_layer_start_index` to `moe_layer_end_index`."""
    start = _first(k, "moe_layer_start_index")
    end = k.raw("moe_layer_end_index", -1)
    last = end[0] if isinstance(end, list) and end else end
    last = layers - 1 if not isinstance(last, int) or last < 0 else last
    step = k.integer("moe_layer_interval", 1, null=1, most=MOST_LAYERS)
    return [start <= i <= last and (i + 1) % step == 0 for i in range(layers)]


def _vision_experts(k: Keys, hidden: int, sparse: list[bool], used: int) -> list[Block]:
    count = _second(k, "moe_num_experts")
    if not count:
        return []
    width = _second(k, "moe_intermediate_size")
    matrices = (
        router(hidden, count, name="mlp.gate_1"), *experts(hidden, width, count, used), vector(STATICS, count, "router")
    )
    return [Block("model.layers.{i}.", tuple(i for i, is_sparse in enumerate(sparse) if is_sparse), matrices,
                  part="vision")]  # fmt: skip


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


