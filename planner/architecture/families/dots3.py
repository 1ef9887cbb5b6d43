"""dots 3 note (text): latent attention throughout, in windows or behind an indexer, with gated heads and experts.

Source: the tensor list and config class of transformers 5.24.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import Layer, join, linear, mlp, norm
from planner.architecture.decoder import Sizes, decoder, pre_norms, sizes
from planner.architecture.experts import counts, dense_first, mixed, moe
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix
from planner.architecture.mla import LatentShape, indexer, latent_shape, mla

WINDOW, INDEXED = "sliding_attention", "indexed_attention"


@family("dots3_note_text")
def dots3_note(k: Keys) -> Body:
    """Three of four layers slide, with heads and latents of sizes of their own (`swa_*`)."""
    s = sizes(k)
    kinds = _kinds(k, s.layers)
    mixers = {kind: _attention(k, s, kind, kinds) for kind in set(kinds)}
    feeds = mixed(
        dense_first(k, s.layers, 1), lambda: _experts(k, s.hidden),
        lambda: mlp(s.hidden, k.integer("intermediate_size")),
    )  # fmt: skip
    layers = [join(mixers[kind], feed, pre_norms(s.hidden)) for kind, feed in zip(kinds, feeds, strict=True)]
    return decoder(s, layers, s.heads)


def _kinds(k: Keys, layers: int) -> list[str]:
    """What each layer attends to. Published files call indexed layers full, unless `use_dsa` is false."""
    slides = k.flag("use_sliding_window", True)
    listed = layer_kinds(k, layers) or [
        INDEXED if not slides or i < 2 or i % 4 == 1 else WINDOW for i in range(layers)
    ]  # fmt: skip
    if k.has("use_dsa") and not k.flag("use_dsa"):
        return [kind if kind == WINDOW else "full_attention" for kind in listed]
    if not k.has("use_dsa") and k.has("per_layer_config"):
        return listed
    return [kind if kind == WINDOW else INDEXED for kind in listed]


def _attention(k: Keys, s: Sizes, kind: str, kinds: list[str]) -> Layer:
    shape = _window_shape(k, kinds) if kind == WINDOW else latent_shape(k, s.hidden, s.heads)
    top = k.integer("index_topk") if kind == INDEXED else None
    matrices, caches, mixing = mla(s.hidden, shape, top=top)
    if kind == WINDOW:
        window = k.integer("sliding_window" if k.data.get("sliding_window") else "sliding_window_size", 512, null=512)
        caches = (Cache("window", shape.kv_rank + shape.rope, window),)
        mixing = tuple(replace(m, window=window) for m in mixing)
    out = join(
        matrices, norm("self_attn.k_rope_only_layernorm", shape.rope),
        linear("self_attn.g_proj", shape.heads, s.hidden, "attention", units=shape.heads),
    )[0]  # fmt: skip
    if kind != INDEXED:
        return out, caches, mixing
    if shape.q_rank is None:
        raise k.refuse("q_lora_rank is null, but the indexer reads the query latent. Give q_lora_rank a number.")
    chooser = indexer(s.hidden, shape.q_rank, k.integer("index_n_heads"), k.integer("index_head_dim"))
    return join((out, caches, mixing), chooser)


def _window_shape(k: Keys, kinds: list[str]) -> LatentShape:
    """Sizes of the layers that slide: under `swa_*`, or in `per_layer_config` under such a layer's number."""
    layer = str(kinds.index(WINDOW))
    listed = k.section("per_layer_config")
    place, prefix = (listed.section(layer), "") if layer in listed.data else (k, "swa_")

    def size(name: str, default: int, least: int = 1) -> int:
        return place.integer(prefix + name, default, least=least)

    nope = size("qk_nope_head_dim", 192, 0)
    rope = size("qk_rope_head_dim", max(size("head_dim", 256) - nope, 0), 0)
    return LatentShape(
        size("num_attention_heads", 64), size("q_lora_rank", 1024), size("kv_lora_rank", 1024), nope, rope,
        size("v_head_dim", 128), k.flag("attention_bias"),
    )  # fmt: skip


def _experts(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    width = k.integer("moe_intermediate_size")
    names = ("moe_shared_expert_intermediate_size", "shared_experts_intermediate_size")
    each = next((k.integer(name) for name in names if k.has(name)), 1536)
    shared = k.integer("n_shared_experts", 1, null=0, least=0, most=10_000) * each
    return moe(hidden, width, *counts(k), shared=shared)
