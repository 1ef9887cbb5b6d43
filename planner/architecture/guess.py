"""Which family reads a config: the one its `model_type` names, or else the nearest, as a marked guess."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

from planner.architecture.families import WRAPPERS, load_all
from planner.architecture.keys import Log
from planner.architecture.paste import architectures, refuse_native_params
from planner.architecture.sections import class_defaults, text_sections
from planner.architecture.vocabulary import ALIASES
from planner.errors import ConfigError

# Keys of encoders that no model which writes text has at the same level.
_ENCODER_KEYS: Final = (
    ("type_vocab_size",), ("patch_size", "image_size"), ("patch_size", "num_channels"), ("feat_extract_norm",),
    ("num_conv_layers",), ("codebook_size", "sampling_rate"), ("pooler_hidden_size",), ("projection_dim",),
    ("num_mel_bins",),
)  # fmt: skip

_SUFFIX: Final = re.compile(r"(ForCausalLM|ForConditionalGeneration|LMHeadModel|ForTextGeneration|Model)$")

# Files that carry the type of another model than their class (Grok 2 that of an image captioner).
_MISNAMED: Final = {"git": "grok-1"}

# Without these no size can be computed, whatever the family.
_NEEDED: Final = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")

# Keys of structures that the generic reading does not have: with one of them a guess would be a wrong number.
_UNKNOWN_STRUCTURE: Final[dict[str, tuple[str, ...]]] = {
    "per-layer embeddings": ("hidden_size_per_layer_input",),
    "alternating updates": ("altup_num_inputs",),
    "hyper-connections": ("hc_mult",),
    "compressed attention": ("compress_ratios",),
    "chunked attention": ("attention_chunk_size",),
    "local layers": ("attention_types", "global_attn_every_n_layers", "local_attention"),
    "per-layer blocks": ("block_configs",),
    "experts in a latent space": ("moe_latent_size", "routed_expert_hidden_size"),
    "experts without weights": ("zero_expert_num",),
    "shared blocks": ("num_mem_blocks",),
    "shared caches": ("use_cla",),
    "cross-attention": ("cross_attention_layers", "cross_attention_hidden_size"),
    "learnt positions": ("use_learned_position_embeddings",),
    "an encoder": ("is_encoder_decoder", "encoder_layers"),
    "nested settings": ("attn_config", "ffn_config"),
    "state-space layers": (
        "mamba_d_state", "mamba_n_heads", "mamba_num_heads", "ssm_state_size", "state_size", "ssm_cfg",
        "time_step_rank",
    ),
    "convolution layers": ("conv_L_cache",),
    "recurrent layers": ("lru_width", "rescale_every"),
    "linear-attention layers": ("linear_attn_config", "linear_num_value_heads"),
    "layers of several types": ("layers_block_type", "hybrid_override_pattern", "attn_type_list", "layer_group_size"),
    "head sizes that differ by layer": ("global_head_dim",),
    "a derived MLP width": ("block_auto_adjust_ff_dim",),
    "an MLP of half the stated width": ("use_logn_attn",),
    "an older layout of heads and widths": ("kv_channels",),
}  # fmt: skip


def choose(data: Mapping[str, Any], log: Log) -> tuple[str, Mapping[str, Any]]:
    """(family, meaning of absent keys) for a config; assumptions go to the log and make the reading a guess.

    Raises ConfigError when no family fits, with what is missing.
    """
    families = load_all()
    declared = data.get("model_type")
    nested = bool(text_sections(data))
    named = by_architectures(data, families)
    if named is not None and isinstance(declared, str) and _MISNAMED.get(declared) == named:
        log.used[("architectures",)] = data["architectures"]
        return named, {}
    if declared in families and (declared in WRAPPERS or not nested):
        return declared, class_defaults().get(declared, {})
    if named is not None and (named in WRAPPERS) == nested:
        log.used[("architectures",)] = data["architectures"]
        if declared is None or declared not in families:
            log.guesses.append(
                f"{_type(declared)}; it is read as {named!r} because architectures says {architectures(data)[0]}. "
                "Compare the parameters with the published number."
            )
        return named, class_defaults().get(named, {})
    refuse_native_params(data)
    if nested:
        log.guesses.append(
            f"{_type(declared)}; its language model is read by the nested section, and its vision or audio part is "
            "not counted. Compare the parameters with the published number."
        )
        return "wrapper", {}
    _guess_generic(data, declared, log)
    return "generic", {}


def choose_text(section: Mapping[str, Any], declared: str, log: Log) -> str:
    """The family for the language model of a wrapper whose own type is unknown (the wrapper stays the same)."""
    named = by_architectures(section, load_all())
    if named is not None:
        log.guesses.append(f"In its section {_type(declared or None)}; it is read as {named!r} by its class name.")
        return named
    _guess_generic(section, declared or None, log)
    return "generic"


def by_architectures(data: Mapping[str, Any], families: Collection[str]) -> str | None:
    """The model_type that the class names of the config stand for, if one is known."""
    plain = {re.sub("[^a-z0-9]", "", name.lower()): name for name in sorted(families, key=len, reverse=True)}
    for name in architectures(data):
        stem = _SUFFIX.sub("", name).lower()
        found = plain.get(re.sub("[^a-z0-9]", "", stem))
        if found and _SUFFIX.search(name):
            return found
    return None


def _type(declared: str | None) -> str:
    return "model_type is absent" if declared is None else f"model_type {declared!r:.60} is not known"


def _unknown(declared: str | None, subject: str) -> str:
    """The first half of a sentence about a type that no family reads, up to the subject of its second half."""
    start = "The config has no model_type" if declared is None else f"{_type(declared)} to the planner"
    return f"{start}, and {subject}"


def _refuse_encoder(data: Mapping[str, Any], declared: str | None) -> None:
    """Raise ConfigError for the keys of BERT and its kin, and of towers for images and sound."""
    if data.get("is_decoder") or (data.get("use_cache") and "type_vocab_size" not in data):
        return
    for names in _ENCODER_KEYS:
        if all(data.get(name) is not None for name in names):
            raise ConfigError(
                f"{_unknown(declared, names[0])} says that it is an encoder, which does not write "
                "tokens; this planner is about models that generate text. Paste the config.json of such a model."
            )


def _guess_generic(data: Mapping[str, Any], declared: str | None, log: Log) -> None:
    lacking = [n for n in _NEEDED if not any(data.get(a) is not None for a in (n, *ALIASES.get(n, ())))]
    if lacking:
        raise ConfigError(
            f"{_unknown(declared, 'it' if declared is None else 'the config')} lacks {', '.join(lacking)}: the model "
            "cannot be read by its keys alone. Paste the whole config.json, or type the model's sizes in by hand."
        )
    _refuse_encoder(data, declared)
    for what, key in ((what, key) for what, keys in _UNKNOWN_STRUCTURE.items() for key in keys):
        if data.get(key) not in (None, False, 0, [], {}):
            raise ConfigError(
                f"{_unknown(declared, key)} says that it has {what}, which cannot be read by "
                "familiar keys alone. Look for a config of a known relative, or type the model's sizes in by hand."
            )
    log.guesses.append(
        f"{_type(declared)}; the model is read as Llama-like by its keys. Assumed: RMS norms, no biases or query and "
        "key norms beyond what the keys state, a gated MLP unless the activation says otherwise, and an output head of "
        "its own unless tie_word_embeddings is true. Compare the parameters with the published number."
    )
