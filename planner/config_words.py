"""What was read from a config.json, in words for people who have never opened one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from planner.architecture import Architecture
from planner.inspect import caches

# Kinds of layers -> what each keeps of a conversation.
KINDS: Final = {
    "full": "every token", "window": "the last tokens only (sliding window)", "chunk": "tokens of the current chunk",
    "latent": "every token, compressed (MLA latent)", "state": "a state of fixed size",
    "cross": "the other input (cross-attention)", "none": "nothing",
}  # fmt: skip

# Last part of a key -> its meaning. Keys that are not here are shown by name alone.
MEANINGS: Final = {
    "model_type": "the family, which says what the other keys mean",
    "architectures": "the class that loads it",
    "vocab_size": "tokens that it knows", "max_position_embeddings": "longest context that it was made for",
    "hidden_size": "width of the stream through all layers", "n_embd": "width of the stream through all layers",
    "d_model": "width of the stream through all layers",
    "num_hidden_layers": "number of layers", "n_layer": "number of layers", "num_layers": "number of layers",
    "num_attention_heads": "attention heads", "n_head": "attention heads",
    "num_key_value_heads": "heads whose keys and values are kept", "head_dim": "width of a head",
    "intermediate_size": "inner width of the MLP", "tie_word_embeddings": "whether input table and output head are one",
    "torch_dtype": "number type of the weights", "dtype": "number type of the weights",
    "attention_bias": "biases in attention", "mlp_bias": "biases in the MLP", "use_bias": "biases",
    "hidden_act": "activation; says whether the MLP is gated",
    "sliding_window": "tokens that window layers look back", "use_sliding_window": "whether there are window layers",
    "layer_types": "kind of each layer",
    "num_experts": "experts in a layer", "num_local_experts": "experts in a layer",
    "n_routed_experts": "experts in a layer", "num_experts_per_tok": "experts that a token passes through",
    "n_shared_experts": "experts that every token passes through", "moe_intermediate_size": "inner width of an expert",
    "shared_expert_intermediate_size": "inner width of the shared expert",
    "first_k_dense_replace": "first layers without experts", "decoder_sparse_step": "every so many layers has experts",
    "mlp_only_layers": "layers without experts", "moe_layer_freq": "which layers have experts",
    "kv_lora_rank": "width of the compressed keys and values", "q_lora_rank": "width of the compressed queries",
    "qk_rope_head_dim": "part of a head that carries positions", "qk_nope_head_dim": "part of a head without positions",
    "v_head_dim": "width of a value head", "num_nextn_predict_layers": "layers that draft further tokens",
    "quantization_config": "how the weights are stored", "text_config": "the language model's own section",
    "vision_config": "the section of the part that sees", "audio_config": "the section of the part that hears",
    "patch_size": "side of an image patch", "_name_or_path": "its name",
}  # fmt: skip


def cache_rows(arch: Architecture) -> list[dict[str, Any]]:
    """Memory of a conversation by kind of layer: numbers kept (not bytes), of one layer."""
    return [
        {
            "Each such layer keeps": KINDS.get(c["kind"], c["kind"]), "Layers": c["layers"],
            "Looks back, tokens": c["window"], "Numbers for each token": c["elements_per_token"],
            "Numbers of fixed size": c["fixed_elements"],
        }
        for c in caches(arch)
    ]  # fmt: skip


def key_rows(arch: Architecture) -> list[dict[str, str]]:
    """Each key of the config: its meaning, what became of it, and its value where it was used or assumed."""
    keys = arch.keys
    return [
        *(_row(k, "used", _value(arch.config, k)) for k in keys.used),
        *(_row(k, "absent: its usual value", _said(v)) for k, v in keys.defaulted.items()),
        *(_row(k, "not used", "") for k in keys.ignored),
    ]


def _row(key: str, fate: str, value: str) -> dict[str, str]:
    return {"Key": key, "Meaning": MEANINGS.get(key.rsplit(".", 1)[-1], ""), "What became of it": fate, "Value": value}


def _value(config: Mapping[str, Any], key: str) -> str:
    held: Any = config
    for part in (key,) if key in config else key.split("."):
        held = held.get(part) if isinstance(held, Mapping) else None
    return "" if held is None else _said(held)


def _said(value: object) -> str:
    """A value, shortened where it is a list or a section of its own."""
    if value is None:
        return "none"
    said = "…" if isinstance(value, Mapping) else str(value)
    return said if len(said) <= 60 else f"{said[:57]}…"
