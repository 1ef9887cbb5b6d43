"""Mixtures of experts: routed experts, their router, shared experts, and which layers have them.

Expert weights are a matrix with `copies` = experts stored and `used` = experts one token passes through, under the
names of the checkpoint: one matrix per expert (`mlp.experts.{e}.gate_proj`) or one tensor for all (`fused`).
H hidden, E experts, k experts per token, Fe width of an expert.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice

from planner.architecture.builders import experts, linear, mlp, router
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix

GATED = ("gate_proj", "up_proj", "down_proj")
MIXTRAL = ("w1", "w3", "w2")


def fused_experts(hidden: int, width: int, count: int, used: float, *, prefix: str = "mlp.experts.",
                  names: Sequence[str] = ("gate_up_proj", "down_proj"), bias: bool = False,
                  gated: bool = True) -> tuple[Matrix, ...]:  # fmt: skip
    """Experts that the checkpoint stores as two tensors for the whole layer: (E, 2Fe, H) and (E, H, Fe)."""
    inner, outer = (prefix + n for n in names)
    rows = 2 * width if gated else width
    return (
        linear(inner, rows, hidden, "experts", bias=bias, units=width, copies=count, used=used),
        linear(outer, hidden, width, "experts", bias=bias, units=width, copies=count, used=used),
    )


def moe(hidden: int, width: int, count: int, used: int, *, shared: int = 0, shared_gate: bool = False,
        gated: bool = True, router_bias: bool = False, shared_bias: bool = False, prefix: str = "mlp.",
        gate: str = "gate", shared_name: str = "shared_experts.", shared_gate_name: str = "shared_expert_gate",
        names: Sequence[str] = GATED, shared_names: Sequence[str] = GATED) -> tuple[Matrix, ...]:  # fmt: skip
    """Router, `count` routed experts of which a token passes `used`, and a shared expert of width `shared` (0: none).

    shared_gate  a gate of one output that scales the shared expert
    gate         name of the router
    names        names of an expert's gate, up and down matrices
    """
    out = [router(hidden, count, bias=router_bias, name=prefix + gate)]
    out += experts(hidden, width, count, used, gated=gated, prefix=prefix + "experts.{e}.", names=names)
    if shared:
        out += mlp(hidden, shared, gated=gated, prefix=prefix + shared_name, role="shared", names=shared_names,
                   bias=shared_bias)
        if shared_gate:
            out.append(linear(prefix + shared_gate_name, 1, hidden, "shared", units=1))
    return tuple(out)


def counts(k: Keys) -> tuple[int, int]:
    """Experts stored and experts per token; more used than stored is refused."""
    count = k.integer("num_experts", least=0, most=100_000)
    used = k.integer("num_experts_per_tok", least=0, most=100_000)
    if used > count and not k.log.missing:
        raise k.refuse(
            f"num_experts_per_tok is {used}, more than the {count} experts of a layer. "
            "Correct num_experts_per_tok or the number of experts."
        )
    return count, used


def dense_first(k: Keys, layers: int, default: int = 0) -> list[bool]:
    """Which layers are sparse where the first `first_k_dense_replace` are dense.

    `moe_layer_freq` (every n-th layer, or a list of 0 and 1) and `mlp_layer_types` ("dense", "sparse") are obeyed.
    """
    listed = sparse_kinds(k, layers)
    if listed is not None:
        return listed
    freq = k.raw("moe_layer_freq", 1)
    if isinstance(freq, list):
        return [bool(f) for f in per_layer(k, "moe_layer_freq", freq, layers)]
    step = k.integer("moe_layer_freq", 1, null=1, most=MOST_LAYERS)
    first = k.integer("first_k_dense_replace", default, null=0, least=0, most=MOST_LAYERS)
    return [i >= first and i % step == 0 for i in range(layers)]


def sparse_kinds(k: Keys, layers: int) -> list[bool] | None:
    """Which layers are sparse where the file lists them in `mlp_layer_types` as "sparse" and "dense"."""
    listed = k.items("mlp_layer_types", None)
    if listed is None:
        return None
    return [kind == "sparse" for kind in per_layer(k, "mlp_layer_types", listed, layers)]


def sparse_step(k: Keys, layers: int) -> list[bool]:
    """Which layers are sparse in Qwen's way: every `decoder_sparse_step`-th, but not those of `mlp_only_layers`."""
    step = k.integer("decoder_sparse_step", 1, null=1, least=0, most=MOST_LAYERS)
    dense = set(k.items("mlp_only_layers", []) or [])
    return [step > 0 and (i + 1) % step == 0 and i not in dense for i in range(layers)]


def per_layer(k: Keys, name: str, values: Sequence[object], layers: int) -> list[object]:
    """The first `layers` entries of a list with one entry per layer; a shorter list is refused."""
    if len(values) < layers:
        raise k.refuse(
            f"{name} has {len(values)} entries; expected one for each of the {layers} layers. "
            "Correct the list or num_hidden_layers."
        )
    return list(islice(values, layers))


def mixed(sparse: Sequence[bool], routed: Callable[[], tuple[Matrix, ...]],
          dense: Callable[[], tuple[Matrix, ...]]) -> list[tuple[Matrix, ...]]:  # fmt: skip
    """The MLP of each layer, sparse or dense; keys of a kind that no layer has are not asked for."""
    moe_layer = routed() if any(sparse) else ()
    dense_layer = dense() if not all(sparse) else ()
    return [moe_layer if is_sparse else dense_layer for is_sparse in sparse]


def deepseek_moe(k: Keys, hidden: int, *, shared_key: str = "n_shared_experts", extra: tuple[Matrix, ...] = (),
                 gate: str = "gate", shared_name: str = "shared_experts.",
                 shared_bias: bool = False) -> tuple[Matrix, ...]:  # fmt: skip
    """DeepSeek's sparse MLP: fine-grained routed experts, and shared ones stored as one wide expert.

    shared_key  the key with the number of shared experts (absent or null: none)
    extra       further matrices of the sparse layers
    """
    count, used = counts(k)
    width = k.integer("moe_intermediate_size")
    shared = k.integer(shared_key, 0, null=0, least=0, most=10_000) * width
    return (
        *moe(hidden, width, count, used, shared=shared, gate=gate, shared_name=shared_name, shared_bias=shared_bias),
        *extra,
    )


def deepseek_mlps(k: Keys, hidden: int, layers: int, *, first: int = 0, shared_key: str = "n_shared_experts",
                  gate: str = "gate", shared_name: str = "shared_experts.",
                  bias: bool = False) -> list[tuple[Matrix, ...]]:  # fmt: skip
    """The MLP of each layer: dense of `intermediate_size` in the first layers, then `deepseek_moe`.

    first  dense layers where the config does not say
    """
    return mixed(
        dense_first(k, layers, first),
        lambda: deepseek_moe(k, hidden, shared_key=shared_key, gate=gate, shared_name=shared_name, shared_bias=bias),
        lambda: mlp(hidden, k.integer("intermediate_size"), bias=bias),
    )


def qwen_moe(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """The sparse MLP of Qwen2-MoE to Qwen3.5-MoE; Qwen2-MoE, Qwen3-Next and Qwen3.5 have a gated shared expert."""
    count, used = counts(k)
    shared = k.integer("shared_expert_intermediate_size", 0, null=0, least=0)
    return moe(hidden, k.integer("moe_intermediate_size"), count, used, shared=shared, shared_gate=True,
               shared_name="shared_expert.")  # fmt: skip


def qwen_mlps(k: Keys, hidden: int, layers: int) -> list[tuple[Matrix, ...]]:
    """The MLP of each layer of a Qwen MoE: sparse, or dense of `intermediate_size` where the config says so."""
    return mixed(
        sparse_step(k, layers), lambda: qwen_moe(k, hidden), lambda: mlp(hidden, k.integer("intermediate_size"))
    )
