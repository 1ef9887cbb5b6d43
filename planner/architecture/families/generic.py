"""A decoder read by its keys alone: models typed in by hand, and unknown types with familiar keys.

Each feature is there exactly when its keys are: grouped-query or latent attention, biases, query and key norms, a
window, gated or plain MLPs, experts with shared ones and dense first layers.
"""

from __future__ import annotations

import re
from typing import Final

from planner.architecture.builders import (
    Layer,
    attention,
    experts,
    head,
    join,
    linear,
    mlp,
    norm,
    outer,
    router,
    stack,
    table,
)  # fmt: skip
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Cache, Matrix, Mixing
from planner.architecture.vocabulary import ALIASES

# Keys that another one makes idle: widths of a kind of MLP that no layer has, shapes that a latent has in their stead.
SUPERSEDED: Final = frozenset({
    "intermediate_size", "moe_intermediate_size", "num_experts", "num_experts_per_tok", "head_dim", "qk_head_dim",
    "num_key_value_heads", "max_window_layers", "decoder_sparse_step", "first_k_dense_replace", "moe_layer_freq",
    "shared_expert_intermediate_size", "n_shared_experts", "num_shared_experts", "q_lora_rank", "n_ctx",
})  # fmt: skip

WINDOWED = ("sliding_attention", "sliding", "local", "local_attention", "sliding_window")


@family("hand", "generic")
def generic(k: Keys) -> Body:
    """Llama-like decoder with whatever the keys add to it."""
    hidden, heads, layers, vocab = (
        k.integer("hidden_size"), k.integer("num_attention_heads"), k.layers(), k.integer("vocab_size"),
    )  # fmt: skip
    latent = k.optional("kv_lora_rank")
    kv = heads if latent else 1 if k.has("multi_query") and k.flag("multi_query") else k.kv_heads(heads)
    sparse = _sparse_layers(k, layers)
    windows = _windows(k, layers)
    norms = (norm("input_layernorm", hidden), norm("post_attention_layernorm", hidden))
    made: dict[tuple[bool, int | None], Layer] = {}

    def layer(i: int) -> Layer:
        kind = (sparse[i], windows[i])
        if kind not in made:
            mixer = _latent(k, hidden, heads, latent) if latent else _plain(k, hidden, heads, kv, windows[i])
            made[kind] = join(mixer, _moe(k, hidden) if sparse[i] else _dense(k, hidden), *norms)
        return made[kind]

    blocks = stack([layer(i) for i in range(layers)])
    if k.log.guesses:
        refuse_unread(k)
    tied = _tied(k)
    return Body(
        blocks=[
            outer(table("model.embed_tokens", vocab, hidden)),
            *blocks,
            outer(norm("model.norm", hidden), head(vocab, hidden, tied=tied)),
        ],
        n_layers=layers, hidden=hidden, vocab=vocab, heads=heads, kv_heads=kv, tied=tied,
    )  # fmt: skip


# Names of keys that give a model its shape, and those among them that do not.
_SHAPE: Final = re.compile(
    r"^(n|num)_|_(layers?|heads?|dims?|size|rank|width|kernel|experts?|blocks?|loops?|cycles|stacks?|streams|period|"
    r"interval|stride|extent|ids)$|^(shared|skip|dense|moe|ssm|conv|attn|ffn|mlp|loop|recurrent|gate|residual)_\w+"
)
_NO_SHAPE: Final = re.compile(
    r"token|_ids?$|vocab|rope|rotary|position|pretrain|label|beam|return|dropout|drop|scal|loss|coef|jitter|group|"
    r"window|init|eps|bias$|norm|predict|mtp|mup|sequence|chunk_size|^model_size|sink|^mm_|layer_end|implementation|type|dtype|router|factor|"
    r"temperature|multiplier|softcap|^ep_size|stats|shards|batch|capacity|use_cache|clip|limit|alpha|output_router"
)


def refuse_unread(k: Keys) -> None:
    """Raise ConfigError where a guess leaves keys unread that sound as if they gave the model its shape."""
    alias_of = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
    read = {path[-1] for path in k.log.used if path[:-1] == k.where}
    read |= {alias_of.get(name, name) for name in read}
    unread = [
        name for name, value in k.data.items()
        if isinstance(value, (int, float, list)) and not isinstance(value, bool) and value not in (0, [])
        and _SHAPE.search(name) and not _NO_SHAPE.search(name)
        and name not in read and alias_of.get(name, name) not in read and name not in SUPERSEDED
    ]  # fmt: skip
    if unread:
        raise k.refuse(
            f"This model_type is not known to the planner, and {', '.join(unread[:4])} may change the model's size in "
            "a way that cannot be guessed. Look for a config of a known relative, or type the model's sizes in by hand."
        )


def activation(k: Keys) -> str:
    """The MLP's activation under whatever key, empty where it is not stated."""
    names = ("hidden_act", "hidden_activation", "activation_function", "mlp_hidden_act")
    return next((str(k.raw(n, "")) for n in names if k.has(n)), "")


def gated(k: Keys) -> bool:
    """Whether the MLP has a gate: as stated, else as the activation and the norm suggest."""
    if k.has("gated_mlp"):
        return k.flag("gated_mlp")
    if "relu2" in activation(k):
        raise k.refuse(
            "The activation relu2 is used with a gate in some models and without one in others, so the MLP's size is "
            "unknown for this model_type. Type the model's sizes in by hand."
        )
    return "relu" not in activation(k) and not _gpt_like(k)


def _gpt_like(k: Keys) -> bool:
    """Layer norms and GELU, as in GPT-2 and its heirs: no gate, and the head is usually the embedding table."""
    said = activation(k)
    old = "gelu" in said or "relu" in said or (not said and k.has("layer_norm_epsilon"))
    return old and not k.has("rms_norm_eps")


def _tied(k: Keys) -> bool:
    """As stated; else as in the models whose keys these are: Gemma (GELU with RMS norms), Command R, GPT-2."""
    if k.has("tie_word_embeddings") or (k.wrapper is not None and k.wrapper.has("tie_word_embeddings")):
        return k.tied()
    likely = _gpt_like(k) or "gelu" in activation(k) or k.has("logit_scale") or k.has("query_pre_attn_scalar")
    k.warn(
        f"tie_word_embeddings is absent; the head is taken as {'the embedding table' if likely else 'its own'}. "
        "Check it: it is worth vocab_size x hidden_size parameters."
    )
    return likely


def _plain(k: Keys, hidden: int, heads: int, kv: int, window: int | None) -> Layer:
    dim = k.head_dim(hidden, heads)
    bias = next((k.flag(n) for n in ("attention_bias", "qkv_bias", "add_qkv_bias", "use_qkv_bias") if k.has(n)), False)
    out_bias = k.flag("attention_out_bias") if k.has("attention_out_bias") else bias and k.has("attention_bias")
    qk_norm = dim if any(k.flag(n) for n in ("use_qk_norm", "qk_layernorm", "qk_norm") if k.has(n)) else 0
    return attention(hidden, heads, kv, dim, bias=bias, out_bias=out_bias, qk_norm=qk_norm, window=window,
                     v_dim=k.optional("v_head_dim", least=1))  # fmt: skip


def _latent(k: Keys, hidden: int, heads: int, rank: int) -> Layer:
    rope, nope, value = k.integer("qk_rope_head_dim"), k.integer("qk_nope_head_dim"), k.integer("v_head_dim")
    compressed = k.optional("q_lora_rank")
    query = heads * (nope + rope)
    q: tuple[Matrix, ...] = (linear("self_attn.q_proj", query, hidden, "attention", units=heads),)
    if compressed:
        q = (
            linear("self_attn.q_a_proj", compressed, hidden, "attention", units=1),
            norm("self_attn.q_a_layernorm", compressed),
            linear("self_attn.q_b_proj", query, compressed, "attention", units=heads),
        )
    return join(
        q,
        linear("self_attn.kv_a_proj_with_mqa", rank + rope, hidden, "attention", units=1),
        norm("self_attn.kv_a_layernorm", rank),
        linear("self_attn.kv_b_proj", heads * (nope + value), rank, "attention", units=heads),
        linear("self_attn.o_proj", hidden, heads * value, "attention", units=heads),
        Cache("latent", rank + rope),
        Mixing(2 * heads * (nope + rope + value), decode=2 * heads * (2 * rank + rope)),
    )


def _dense(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    return mlp(hidden, k.integer("intermediate_size"), gated=gated(k), bias=k.flag("mlp_bias"))


def _moe(k: Keys, hidden: int) -> tuple[Matrix, ...]:
    count, used = k.integer("num_experts"), k.integer("num_experts_per_tok")
    if used > count:
        raise k.refuse(f"num_experts_per_tok is {used}, more than the {count} experts there are. Correct one of them.")
    width = k.integer("moe_intermediate_size") if k.has("moe_intermediate_size") else k.integer("intermediate_size")
    out = [*experts(hidden, width, count, used, gated=gated(k)), router(hidden, count)]
    number = next((k.optional(n) or 0 for n in ("n_shared_experts", "num_shared_experts", "num_shared_expert",
                                                "moe_num_shared_experts") if k.has(n)), 0)  # fmt: skip
    widths = ("shared_expert_intermediate_size", "shared_intermediate_size", "moe_shared_expert_intermediate_size")
    shared = next((k.optional(n) or 0 for n in widths if k.has(n)), number * width)
    if shared:
        out += mlp(hidden, shared, gated=gated(k), prefix="mlp.shared_experts.", role="shared")
    return tuple(out)


def _sparse_layers(k: Keys, layers: int) -> list[bool]:
    """Which layers hold experts."""
    if not k.has("num_experts") or not k.optional("num_experts"):
        return [False] * layers
    first = next((k.optional(n) or 0 for n in ("first_k_dense_replace", "num_dense_layers", "moe_layer_start_index")
                  if k.has(n)), 0)  # fmt: skip
    step = next((k.optional(n) or 1 for n in ("decoder_sparse_step", "interleave_moe_layer_step",
                                              "moe_layer_interval") if k.has(n)), 1)  # fmt: skip
    kinds = k.items("mlp_layer_types")
    if kinds is not None:
        if len(kinds) != layers:
            raise k.refuse(f"mlp_layer_types has {len(kinds)} entries, but the model has {layers} layers. Correct one.")
        return [kind == "sparse" for kind in kinds]
    dense = set(k.items("mlp_only_layers") or [])
    frequency = k.raw("moe_layer_freq", None)
    if isinstance(frequency, list):
        if len(frequency) != layers:
            raise k.refuse(f"moe_layer_freq has {len(frequency)} entries, but the model has {layers} layers.")
        return [bool(f) for f in frequency]
    return [i >= first and (i + 1) % step == 0 and i not in dense for i in range(layers)]


def _windows(k: Keys, layers: int) -> list[int | None]:
    """The window of each layer, None for full attention."""
    window = k.optional("sliding_window", least=1)
    kinds = k.items("layer_types")
    if not window or (kinds is None and k.has("use_sliding_window") and not k.flag("use_sliding_window")):
        return [None] * layers
    if kinds is not None:
        if len(kinds) != layers:
            raise k.refuse(f"layer_types has {len(kinds)} entries, but the model has {layers} layers. Correct one.")
        return [window if kind in WINDOWED else None for kind in kinds]
    period = next((k.optional(n) for n in ("sliding_window_pattern", "_sliding_window_pattern") if k.has(n)), None)
    if period:
        return [None if (i + 1) % period == 0 else window for i in range(layers)]
    k.warn(
        "sliding_window is set, but nothing says which layers it holds for; all are counted with full attention, so "
        "long conversations may need less memory than shown."
    )
    return [None] * layers
