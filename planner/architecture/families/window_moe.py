"""Mixtures of experts whose layers differ in attention: MiMo-V2, AFMoE, Laguna, Step 3.5, Command A MoE.

Sliding layers may have other numbers of heads than full ones, sinks, or gates on the attention output.

Sources: the checkpoints' tensor lists; the model code in transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, experts, join, linear, mlp, norm, router, vector
from planner.architecture.decoder import Sizes, decoder, grouped, next_token_layers, pre_norms, sizes
from planner.architecture.experts import counts, deepseek_mlps, deepseek_moe, mixed, moe, per_layer, sparse_kinds
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds, layer_windows
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix


@family("mimo_v2_flash")
def mimo_v2_flash(k: Keys) -> Body:
    """MiMo-V2-Flash: values narrower than keys; sliding layers have their own KV heads, and sinks."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    v_dim = k.integer("v_head_dim", dim, null=dim)
    bias = k.flag("attention_bias")
    # The file gives the tokens before the current one, the class the tokens visible.
    before = k.optional("sliding_window_size")
    window = before + 1 if before else k.integer("sliding_window")
    narrow = {
        "heads": k.integer("swa_num_attention_heads", s.heads, null=s.heads),
        "kv": k.integer("swa_num_key_value_heads", 2 * kv, null=2 * kv),
        "dim": k.integer("swa_head_dim", dim, null=dim),
        "v": k.integer("swa_v_head_dim", v_dim, null=v_dim),
    }
    full = join(
        attention(s.hidden, s.heads, kv, dim, v_dim=v_dim, bias=bias, out_bias=False),
        _sinks(s.heads) if k.flag("add_full_attention_sink_bias", False) else (),
    )
    sliding = join(
        attention(s.hidden, narrow["heads"], narrow["kv"], narrow["dim"], v_dim=narrow["v"], bias=bias,
                  out_bias=False, window=window),
        _sinks(narrow["heads"]) if k.flag("add_swa_attention_sink_bias", True) else (),
    )  # fmt: skip
    mlps = deepseek_mlps(k, s.hidden, s.layers, first=1)
    layers = [
        join(sliding if slides else full, m, pre_norms(s.hidden))
        for slides, m in zip(_mimo_sliding(k, s.layers), mlps, strict=True)
    ]
    return decoder(s, layers, kv, extra=next_token_layers(k, s, layers[-1]))


def _sinks(heads: int) -> tuple[Matrix, ...]:
    return (vector("self_attn.attention_sink_bias", heads, "attention", units=heads),)


def _mimo_sliding(k: Keys, layers: int) -> list[bool]:
    """The first and every sixth layer are full unless the file lists them (`hybrid_layer_pattern`: 1 slides)."""
    if (kinds := layer_kinds(k, layers)) is not None:
        return ["sliding" in kind for kind in kinds]
    if (pattern := k.items("hybrid_layer_pattern", None)) is not None:
        return [bool(kind) for kind in per_layer(k, "hybrid_layer_pattern", pattern, layers)]
    return [i > 0 and (i + 1) % 6 != 0 for i in range(layers)]


@family("afmoe")
def afmoe(k: Keys) -> Body:
    """AFMoE (Arcee Trinity): gated attention output, four norms, a routing bias that is a parameter."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias = k.flag("attention_bias")
    every = k.integer("global_attn_every_n_layers", 4, null=4, most=MOST_LAYERS)
    first = k.integer("num_dense_layers", 0, null=0, least=0, most=MOST_LAYERS)
    mlps = mixed(
        [i >= first for i in range(s.layers)],
        lambda: deepseek_moe(k, s.hidden, shared_key="num_shared_experts", gate="router.gate",
                             extra=(vector("mlp.expert_bias", counts(k)[0], "router"),)),
        lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )  # fmt: skip
    norms = pre_norms(
        s.hidden, "input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm"
    )
    gate = linear("self_attn.gate_proj", s.heads * dim, s.hidden, "attention", units=s.heads)
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, qk_norm=dim, window=window), gate, m, norms)
        for window, m in zip(layer_windows(k, s.layers, "last of", period=every), mlps, strict=True)
    ]
    return decoder(s, layers, kv)


@family("laguna")
def laguna(k: Keys) -> Body:
    """Laguna: query heads may differ by layer; a gate per head (or per element) on the attention output."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    heads = _heads_by_layer(k, s)
    per_element = k.raw("gating", True) not in (True, None, "per-head")
    shared = k.integer("shared_expert_intermediate_size", 0, null=0, least=0)
    bias = k.flag("attention_bias")

    def routed() -> tuple[Matrix, ...]:
        count, used = counts(k)
        width = k.integer("moe_intermediate_size")
        sparse = moe(s.hidden, width, count, used, shared=shared, shared_name="shared_expert.")
        return (*sparse, vector("mlp.experts.e_score_correction_bias", count, "router"))

    kinds = sparse_kinds(k, s.layers) or [i > 0 for i in range(s.layers)]
    mlps = mixed(kinds, routed, lambda: mlp(s.hidden, k.integer("intermediate_size")))
    layers = [
        join(
            attention(s.hidden, own, kv, dim, bias=bias, qk_norm=dim, window=window),
            linear("self_attn.g_proj", own * (dim if per_element else 1), s.hidden, "attention", units=own),
            m, pre_norms(s.hidden),
        )
        for own, window, m in zip(heads, layer_windows(k, s.layers, "types"), mlps, strict=True)
    ]  # fmt: skip
    return decoder(s, layers, kv)


def _heads_by_layer(k: Keys, s: Sizes) -> list[int]:
    listed = k.items("num_attention_heads_per_layer", None)
    if listed is None:
        return [s.heads] * s.layers
    heads = per_layer(k, "num_attention_heads_per_layer", listed, s.layers)
    if not all(isinstance(n, int) and 0 < n <= 100_000 for n in heads):
        raise k.refuse("num_attention_heads_per_layer holds an entry that is no number of heads; expected e.g. 48.")
    return [int(str(n)) for n in heads]


@family("step3p5", "step3p5_text")
def step3p5(k: Keys) -> Body:
    """Step 3.5 and 3.7 Flash (text): sliding layers may have more query heads; a gate per head on the output.

    The next-token layers come after the others in the lists, and are dense.
    """
    s = sizes(k)
    groups = k.optional("num_attention_groups", least=1)
    kv, dim = groups or k.kv_heads(s.heads), k.head_dim(s.hidden, s.heads)
    other = k.section("attention_other_setting")
    own = k.integer("num_sliding_attention_heads", s.heads, null=s.heads)
    sliding_heads = other.integer("num_attention_heads", own, null=own)
    count = s.layers + k.integer("num_nextn_predict_layers", 0, null=0, least=0, most=MOST_LAYERS)
    listed = k.items("layer_types", None) or []
    windows = layer_windows(k, count if len(listed) >= count else s.layers, "types")
    windows += [None] * (count - len(windows))
    bias = k.flag("attention_bias")
    mlps = mixed(
        [*_step_sparse(k, s.layers), *[False] * (count - s.layers)],
        lambda: _step_experts(k, s.hidden),
        lambda: mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias")),
    )  # fmt: skip

    def layer(window: int | None, feed_forward: tuple[Matrix, ...]) -> Layer:
        heads = sliding_heads if window else s.heads
        gate = linear("self_attn.g_proj", heads, s.hidden, "attention", units=heads)
        attn = attention(s.hidden, heads, kv, dim, bias=bias, qk_norm=dim, window=window)
        return join(attn, gate, feed_forward, pre_norms(s.hidden))

    layers = [layer(window, m) for window, m in zip(windows, mlps, strict=True)]
    return decoder(s, layers[: s.layers], kv, extra=next_token_layers(k, s, layers[-1]))


def _step_experts(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """One tensor per projection for all experts, and a shared expert beside the mixture."""
    width, (count, used) = k.integer("moe_intermediate_size"), counts(k)
    shared = k.integer("share_expert_dim", 0, null=0, least=0)
    return (
        router(hidden, count, name="moe.gate"),
        *experts(hidden, width, count, used, prefix="moe."),
        *(mlp(hidden, shared, bias=k.flag("mlp_bias"), prefix="share_expert.", role="shared") if shared else ()),
    )


def _step_sparse(k: Keys, layers: int) -> list[bool]:
    """Layers with experts: `mlp_layer_types`, or numbers in `moe_layers_enum` ("3,4,5"), or all from the fourth on."""
    if (kinds := sparse_kinds(k, layers)) is not None:
        return kinds
    listed = k.raw("moe_layers_enum", None)
    if listed is None:
        return [i >= 3 for i in range(layers)]
    entries = listed.split(",") if isinstance(listed, str) else k.items("moe_layers_enum") or []
    numbers = {str(entry).strip() for entry in entries}
    return [str(i) in numbers for i in range(layers)]


@family("cohere2_moe")
def cohere2_moe(k: Keys) -> Body:
    """Command A MoE: attention and MLP in parallel under one norm; experts as wide as `intermediate_size`."""
    s = sizes(k)
    kv, dim = grouped(k, s)
    bias, width = k.flag("attention_bias"), k.integer("intermediate_size")
    first = k.integer("first_k_dense_replace", 0, null=0, least=0, most=MOST_LAYERS)
    shared = k.integer("num_shared_experts", 0, null=0, least=0, most=10_000) * width
    mlps = mixed(
        sparse_kinds(k, s.layers) or [i >= first for i in range(s.layers)],
        lambda: moe(s.hidden, width, *counts(k), shared=shared),
        lambda: mlp(s.hidden, k.integer("prefix_dense_intermediate_size", width, null=width)),
    )
    layers = [
        join(attention(s.hidden, s.heads, kv, dim, bias=bias, window=window), m, norm("input_layernorm", s.hidden))
        for window, m in zip(layer_windows(k, s.layers, "last of", period=4), mlps, strict=True)
    ]
    return decoder(s, layers, kv)
