"""Names of config keys: other spellings of the same thing, and which of them give a model its shape."""

from __future__ import annotations

from typing import Final

# Other names of the same thing, tried in this order after the name itself.
ALIASES: Final[dict[str, tuple[str, ...]]] = {
    "hidden_size": ("n_embd", "d_model", "n_embed", "dim", "model_dim"),
    "num_hidden_layers": ("n_layer", "n_layers", "num_layers", "num_decoder_layers", "decoder_layers"),
    "num_attention_heads": ("n_head", "n_heads", "num_heads", "decoder_attention_heads", "attention_heads"),
    "num_key_value_heads": ("num_kv_heads", "n_head_kv", "multi_query_group_num"),
    "intermediate_size": ("n_inner", "ffn_dim", "d_ff", "ffn_hidden_size", "block_ff_dim", "decoder_ffn_dim", "dff"),
    "head_dim": ("kv_channels", "attention_head_dim", "d_kv"),
    "vocab_size": ("padded_vocab_size",),
    "num_experts": ("num_local_experts", "n_routed_experts", "moe_num_experts"),
    "num_experts_per_tok": (
        "num_experts_per_token", "moe_k", "moe_topk", "top_k_experts", "moe_top_k", "experts_per_token",
    ),
    "max_position_embeddings": ("n_positions", "n_ctx", "max_seq_len", "seq_length", "max_sequence_length"),
    "dtype": ("torch_dtype",),
}  # fmt: skip

# Sizes that every file of a model with such parts states.
STATED: Final = frozenset({
    "hidden_size", "d_model", "num_hidden_layers", "encoder_layers", "decoder_layers", "encoder_ffn_dim",
    "decoder_ffn_dim", "encoder_attention_heads", "decoder_attention_heads", "n_shared_experts",
    "first_k_dense_replace", "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
    "shared_intermediate_size", "mamba_num_heads", "mamba_head_dim", "ssm_state_size", "mamba_d_state",
    "mamba_n_heads", "mamba_d_head", "linear_num_key_heads", "linear_num_value_heads", "linear_key_head_dim",
    "linear_value_head_dim", "linear_num_heads", "linear_head_dim", "index_topk", "index_n_heads", "index_head_dim",
    "o_groups", "o_lora_rank",
})  # fmt: skip

# Keys that give a model its shape: a config without them is read with class defaults, and that is said.
SHAPE_KEYS: Final = STATED | {
    "num_attention_heads", "intermediate_size", "vocab_size", "num_experts", "num_experts_per_tok",
    "moe_intermediate_size", "kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim",
}  # fmt: skip

# A nested section with none of these is a wrapper's that leaves its language model at the class's defaults, but for a
# size in which it differs (LLaVA-NeXT's Mistral gives its intermediate_size, not its width and depth).
FRAME: Final = ("hidden_size", "num_hidden_layers")
OFTEN_LEFT_OUT: Final = frozenset({"vocab_size", "num_attention_heads", "num_key_value_heads"})

# Words for the number type of a checkpoint, with or without "torch." before them -> format; "auto" is the class's bf16.
DTYPES: Final[dict[str, str]] = {
    "float32": "fp32", "fp32": "fp32", "float": "fp32", "float16": "fp16", "fp16": "fp16", "half": "fp16",
    "bfloat16": "bf16", "bf16": "bf16", "auto": "bf16", "float8_e4m3fn": "fp8", "float8_e5m2": "fp8",
}  # fmt: skip


def number_type(word: str | None) -> str | None:
    """Format that a config's dtype names; None where it names none, or one that is not known."""
    return DTYPES.get(str(word).removeprefix("torch.").lower())
