"""Gemma 3n text: per-layer embeddings, alternating updates (AltUp), low-rank residuals (LAuReL), shared caches.

Sources: the checkpoints' tensor lists (transformers 5.24 class); AltUp (arXiv 2301.13310); LAuReL (arXiv 2411.07501).
"""

from __future__ import annotations

from planner.architecture.builders import attention, join, linear, mlp, norm, table, vector
from planner.architecture.decoder import Sizes, decoder, pre_norms, sizes
from planner.architecture.families import Body, family
from planner.architecture.families.windows import layer_kinds
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix

NORMS = ("input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")


@family("gemma3n_text")
def gemma3n(k: Keys) -> Body:
    """Four window layers, then a global one; the last `num_kv_shared_layers` read the caches of earlier layers."""
    s = sizes(k)
    kv, dim = k.kv_heads(s.heads), k.integer("head_dim", 256)
    window = k.optional("sliding_window", 512) or None
    kinds = layer_kinds(k, s.layers) or ["full_attention" if i % 5 == 4 else "sliding" for i in range(s.layers)]
    own = s.layers - k.integer("num_kv_shared_layers", 15, null=0, least=0, most=s.layers)
    if own < s.layers:
        k.warn(
            f"Published checkpoints also hold key and value projections of the last {s.layers - own} layers, which "
            "read the caches of earlier ones; no engine uses those, and they are not counted."
        )
    inputs = k.integer("hidden_size_per_layer_input", 256, null=0, least=0)
    streams = k.integer("altup_num_inputs", 4, most=64)
    common = join(pre_norms(s.hidden, *NORMS), _altup(s.hidden, streams), _laurel(k, s.hidden),
                  per_layer_inputs(s.hidden, inputs))  # fmt: skip
    layers = [
        join(
            attention(s.hidden, s.heads, kv, dim, bias=k.flag("attention_bias"), qk_norm=dim,
                      window=None if kind == "full_attention" else window, shared_kv=i >= own),
            mlp(s.hidden, width), common,
        )
        for i, (kind, width) in enumerate(zip(kinds, _widths(k, s.layers), strict=True))
    ]  # fmt: skip
    projections = [
        linear(f"model.altup_{way}.{i}", s.hidden, s.hidden, "other", units=1)
        for way in ("projections", "unembed_projections") for i in range(streams - 1)
    ]  # fmt: skip
    return decoder(s, layers, kv, outside=[*per_layer_tables(k, s, inputs), *projections])


def per_layer_tables(k: Keys, s: Sizes, size: int) -> list[Matrix]:
    """The second embedding table, with a vector of `size` for every layer, and the projection to the same shape.

    The table is only looked up: it can stay off the accelerator, which is what an "effective" size leaves out.
    """
    if not size:
        return []
    rows = k.integer("vocab_size_per_layer_input", 262_144)
    return [
        table("model.embed_tokens_per_layer", rows, s.layers * size, "per-layer embedding"),
        linear("model.per_layer_model_projection", s.layers * size, s.hidden, "other", units=1),
        norm("model.per_layer_projection_norm", size),
    ]


def per_layer_inputs(hidden: int, size: int) -> tuple[Matrix, ...]:
    """How a layer takes in its per-layer embedding of `size` (0: none)."""
    if not size:
        return ()
    return (
        linear("per_layer_input_gate", size, hidden, "other", units=1),
        linear("per_layer_projection", hidden, size, "other", units=1),
        norm("post_per_layer_input_norm", hidden),
    )


def _widths(k: Keys, layers: int) -> list[int]:
    """MLP width of each layer: one number, or a list with one per layer."""
    if not isinstance(k.raw("intermediate_size"), list):
        return [k.integer("intermediate_size")] * layers
    widths = k.items("intermediate_size") or []
    if len(widths) != layers or not all(isinstance(w, int) and 0 < w < 10**7 for w in widths):
        raise k.refuse(
            f"intermediate_size has {len(widths)} entries; expected a positive width for each of the {layers} layers, "
            "or one number for all."
        )
    return widths


def _altup(hidden: int, streams: int) -> list[Matrix]:
    """Alternating updates: `streams` copies of the hidden state, one computed and the others predicted."""
    return [
        linear("altup.correction_coefs", streams, streams, "other", units=1),
        linear("altup.prediction_coefs", streams * streams, streams, "other", units=1),
        linear("altup.modality_router", streams, hidden, "other", units=1),
        norm("altup.router_norm", hidden),
        vector("altup.correct_output_scale", hidden),  # stored whether or not altup_correct_scale uses it
    ]


def _laurel(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    """A low-rank linear residual beside attention."""
    rank = k.integer("laurel_rank", 64)
    return (
        linear("laurel.linear_left", rank, hidden, "other", units=1),
        linear("laurel.linear_right", hidden, rank, "other", units=1),
        norm("laurel.post_laurel_norm", hidden),
    )
