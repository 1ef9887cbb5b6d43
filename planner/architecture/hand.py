"""A model typed in by its sizes, for classroom figures: a config that the reader takes like any other."""

from __future__ import annotations

from typing import Any


def hand_config(layers: int, hidden: int, heads: int, kv_heads: int, head_dim: int, mlp_width: int, vocab: int,
                experts: int = 0, experts_per_token: int = 0, expert_width: int | None = None, tied: bool = False,
                gated: bool = True) -> dict[str, Any]:  # fmt: skip
    """The config of a decoder with these sizes; `read_config` checks them.

    layers, hidden, heads, kv_heads, head_dim, vocab  as the config keys of the same meaning
    mlp_width          width of the MLP (with experts: of an expert, unless `expert_width` is given)
    experts            routed experts of each layer, 0 for a dense model; `experts_per_token` of them are used
    tied               the output head is the embedding table again
    gated              the MLP has three matrices (SwiGLU) instead of two
    """
    config: dict[str, Any] = {
        "model_type": "hand", "num_hidden_layers": layers, "hidden_size": hidden, "num_attention_heads": heads,
        "num_key_value_heads": kv_heads, "head_dim": head_dim, "intermediate_size": mlp_width, "vocab_size": vocab,
        "tie_word_embeddings": tied, "gated_mlp": gated,
    }  # fmt: skip
    if experts:
        config |= {
            "num_experts": experts, "num_experts_per_tok": experts_per_token,
            "moe_intermediate_size": expert_width or mlp_width,
        }  # fmt: skip
    return config
