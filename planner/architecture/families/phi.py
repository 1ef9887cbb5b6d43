"""Phi 1 to 2, Persimmon, StableLM and ModernBERT's decoder: LayerNorms, partly with attention and MLP side by side.

Sources: the checkpoints' tensor lists (transformers 5.24 classes); for phi-msft the model code beside the checkpoint.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import Layer, head, join, linear, norm, outer, stack, table, vector
from planner.architecture.decoder import sizes
from planner.architecture.families import Body, family
from planner.architecture.families.dense import Traits, dense, dense_attention, dense_mlp, register
from planner.architecture.families.windows import layer_windows
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix

PHI = Traits(
    qkv_bias=True, mlp_bias=True, head_bias=True, norm_bias=True, gated=False, width_times=4,
    qk_norm="head", qk_norm_key="qk_layernorm", qk_norm_bias=True, final_norm="model.final_layernorm",
    attention=tuple(f"self_attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "dense")),
    mlp=("mlp.fc1", "mlp.fc2"), norms=("input_layernorm",), qk_names=("self_attn.q_layernorm", "self_attn.k_layernorm"),
)  # fmt: skip
register(PHI, "phi")
register(
    replace(
        PHI, qk_norm="", qk_norm_key="", embedding="transformer.embd.wte", layer="transformer.h.{i}.",
        final_norm="lm_head.ln", head="lm_head.linear", attention=("mixer.Wqkv", "mixer.out_proj"), norms=("ln",),
    ),
    "phi-msft", "mixformer-sequential",
)  # fmt: skip
register(
    replace(
        PHI, head_bias=False, gqa=False, attention=("self_attn.query_key_value", "self_attn.dense"),
        mlp=("mlp.dense_h_to_4h", "mlp.dense_4h_to_h"), norms=("input_layernorm", "post_attention_layernorm"),
    ),
    "persimmon",
)  # fmt: skip


@family("phi3small")
def phi3small(k: Keys) -> Body:
    """Phi-3-small: biases everywhere, gate and up in one matrix; its block-sparse layers keep the whole cache."""
    traits = replace(
        PHI, gated=True, head_bias=False, qk_norm="", qk_norm_key="",
        attention=("self_attn.query_key_value", "self_attn.dense"), mlp=("mlp.up_proj", "mlp.down_proj"),
        norms=("input_layernorm", "post_attention_layernorm"),
    )  # fmt: skip
    return dense(k, traits, width=k.integer("ff_intermediate_size"))


@family("stablelm", "stablelm_epoch")
def stablelm(k: Keys) -> Body:
    """StableLM 3B to 12B: `qk_layernorm` gives every head a norm of its own; parallel layers have a single norm."""
    parallel = k.flag("use_parallel_residual")

    def head_norms(k: Keys, hidden: int, width: int) -> tuple[Matrix, ...]:
        if not k.flag("qk_layernorm"):
            return ()
        heads = k.integer("num_attention_heads")
        dim = k.head_dim(hidden, heads)
        return (
            norm("self_attn.q_layernorm.norms.{e}", dim, copies=heads),
            norm("self_attn.k_layernorm.norms.{e}", dim, copies=k.kv_heads(heads)),
        )

    traits = Traits(
        qkv_bias="use_qkv_bias", out_bias=False, norm_bias=True, extra=head_norms,
        norms=("input_layernorm",) if parallel else ("input_layernorm", "post_attention_layernorm"),
    )  # fmt: skip
    return dense(k, traits)


MODERNBERT = Traits(
    gated=True, gqa=False, norm_bias="norm_bias", mlp_bias="mlp_bias",
    attention=tuple(f"attn.{name}" for name in ("q_proj", "k_proj", "v_proj", "Wo")), mlp=("mlp.Wi", "mlp.Wo"),
)  # fmt: skip


@family("modernbert-decoder")
def modernbert_decoder(k: Keys) -> Body:
    """ModernBERT's decoder (Ettin): the first layer has no norm before attention; the head has a dense layer first."""
    s = sizes(k)
    norm_bias = k.flag("norm_bias")
    # The file's window counts one side of local_attention, which is two-sided as in the encoder.
    key = "sliding_window" if k.has("sliding_window") else "local_attention"
    windows = layer_windows(k, s.layers, "first of", period=k.integer("global_attn_every_n_layers", 3), key=key)
    feed_forward = dense_mlp(k, MODERNBERT, s.hidden, k.integer("intermediate_size"))
    layers: list[Layer] = []
    for i, window in enumerate(windows):
        if window and key == "local_attention":
            window //= 2
        before = () if i == 0 else (norm("attn_norm", s.hidden, bias=norm_bias),)
        mixed = dense_attention(k, MODERNBERT, s, s.heads, k.head_dim(s.hidden, s.heads), window)
        layers.append(join(before, mixed, norm("mlp_norm", s.hidden, bias=norm_bias), feed_forward))
    return Body(
        blocks=[
            outer(table("model.embeddings.tok_embeddings", s.vocab, s.hidden),
                  norm("model.embeddings.norm", s.hidden, bias=norm_bias)),
            *stack(layers),
            outer(
                norm("model.final_norm", s.hidden, bias=norm_bias),
                linear("lm_head.dense", s.hidden, s.hidden, "other", bias=k.flag("classifier_bias")),
                norm("lm_head.norm", s.hidden, bias=norm_bias),
                head(s.vocab, s.hidden, tied=s.tied, name="decoder"),
                vector("decoder.bias", s.vocab if k.flag("decoder_bias", True) else 0),
            ),
        ],
        n_layers=s.layers, hidden=s.hidden, vocab=s.vocab, heads=s.heads, kv_heads=s.heads, tied=s.tied,
    )  # fmt: skip
