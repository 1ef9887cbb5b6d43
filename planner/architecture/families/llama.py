"""Dense decoders shaped like Llama: RMS norms, grouped-query attention, gated MLP, Llama's names.

Each entry says only where it departs from Llama. Sources: the checkpoints' tensor lists; the transformers 5.24 classes
of the same names, or the model code published beside the checkpoint.
"""

from __future__ import annotations

from dataclasses import replace

from planner.architecture.builders import experts, join, linear, norm, router, stack, vector
from planner.architecture.decoder import sizes
from planner.architecture.families import Body, family
from planner.architecture.families.dense import Traits, dense, dense_layers, register
from planner.architecture.keys import MOST_LAYERS, Keys
from planner.architecture.ledger import Matrix

LLAMA = Traits(mlp_bias="mlp_bias")
register(LLAMA, "llama", "yi", "Yi", "aquila", "granite", "smollm3", "xverse", "skywork", "iquestcoder")
register(replace(LLAMA, window="first of", period=4), "cwm")

# Biases: by keys of other names, on other matrices, or never.
register(Traits(qkv_bias="bias"), "internlm", "PanguEmbedded")
register(Traits(qkv_bias="qkv_bias", out_bias="bias", mlp_bias="bias"), "internlm3")
register(Traits(qkv_bias="use_bias", mlp_bias="use_bias"), "ernie4_5")
register(replace(LLAMA, out_bias="attention_out_bias"), "seed_oss")
register(replace(LLAMA, out_bias=False), "helium")
register(Traits(qkv_bias=False, window="all"), "mistral", "ministral3")
register(Traits(qkv_bias=False, window="types"), "ministral")

# Norms: LayerNorm with bias, none, more of them, or of queries and keys.
register(Traits(qkv_bias=False, norm_bias=True), "orion")
register(Traits(norm_weight=False), "olmo")
OLMO2 = Traits(qk_norm="width", norms=("post_attention_layernorm", "post_feedforward_layernorm"))
register(OLMO2, "olmo2")
register(replace(OLMO2, window="last of", period=4), "olmo3")
register(replace(OLMO2, qkv_bias=False, qk_norm="head", window="last of", period=4), "exaone4")
register(
    Traits(
        qk_norm="head", qk_norm_key="use_qk_norm", qk_names=("self_attn.query_layernorm", "self_attn.key_layernorm")
    ),
    "hunyuan_v1_dense",
)


def bitnet_sub_norms(k: Keys, hidden: int, width: int) -> tuple[Matrix, ...]:
    """BitNet b1.58: norms before the output and the down projection."""
    return norm("self_attn.attn_sub_norm", hidden), norm("mlp.ffn_sub_norm", width)


register(Traits(extra=bitnet_sub_norms), "bitnet")


def hyperclovax_norms(k: Keys, hidden: int, width: int) -> tuple[Matrix, ...]:
    """HyperCLOVA X norms the output of attention and MLP as well, unless `use_post_norm` is false."""
    return (norm("post_norm1", hidden), norm("post_norm2", hidden)) if k.flag("use_post_norm", True) else ()


register(replace(LLAMA, extra=hyperclovax_norms), "hyperclovax")


def sinks(k: Keys, hidden: int, width: int) -> tuple[Matrix, ...]:
    """One learnt sink per query head, which takes the attention that no token deserves."""
    heads = k.integer("num_attention_heads")
    return (vector("self_attn.sinks", heads, "attention", units=heads),)


register(replace(LLAMA, extra=sinks, window="first of", period=4), "granite_swa")


def differential(k: Keys, hidden: int, width: int) -> tuple[Matrix, ...]:
    """Differential attention subtracts two attention maps; four vectors say how much."""
    dim = k.head_dim(hidden, k.integer("num_attention_heads"))
    return tuple(vector(f"self_attn.lambda_{name}", dim, "attention") for name in ("q1", "k1", "q2", "k2"))


register(Traits(extra=differential), "diffllama")

# MLPs without a gate.
UP_DOWN = ("mlp.up_proj", "mlp.down_proj")
register(Traits(mlp_bias="mlp_bias", gated=False, mlp=UP_DOWN), "arcee")
register(Traits(mlp_bias="mlp_bias", gated=False, mlp=UP_DOWN, norm_bias=True), "nemotron", "jais2")
register(Traits(gated=False, mlp=("mlp.fc1", "mlp.fc2"), norm_weight=False), "nanochat")
register(
    Traits(
        qkv_bias="use_bias", mlp_bias="use_bias", norm_bias=True, gated=False, mlp=("mlp.c_fc", "mlp.c_proj"),
        window="all",
    ),
    "starcoder2",
)  # fmt: skip


def apertus_activation(k: Keys, hidden: int, width: int) -> tuple[Matrix, ...]:
    """xIELU, the activation of Apertus, learns two numbers per layer."""
    if k.text("hidden_act", "xielu") != "xielu":
        return ()
    return vector("mlp.act_fn.alpha_p", 1, "mlp"), vector("mlp.act_fn.alpha_n", 1, "mlp")


register(
    Traits(
        gated=False, mlp=UP_DOWN, qk_norm="head", norms=("attention_layernorm", "feedforward_layernorm"),
        extra=apertus_activation,
    ),
    "apertus", "apertus1p5_text",
)  # fmt: skip

# Fused matrices and other names.
register(replace(LLAMA, attention=("self_attn.W_pack", "self_attn.o_proj"), qkv_bias=False, mlp_bias=False), "baichuan")
register(
    Traits(
        qkv_bias="bias", embedding="model.tok_embeddings", head="output", attention=("attention.wqkv", "attention.wo"),
        mlp=("feed_forward.w1", "feed_forward.w3", "feed_forward.w2"), norms=("attention_norm", "ffn_norm"),
    ),
    "internlm2",
)  # fmt: skip
register(
    Traits(
        mlp_bias="mlp_bias", embedding="transformer.wte", layer="transformer.h.{i}.", final_norm="transformer.ln_f",
        attention=tuple(f"attn.attention.{name}" for name in ("q_proj", "k_proj", "v_proj", "out_proj")),
        mlp=("mlp.c_fc_0", "mlp.c_fc_1", "mlp.c_proj"), norms=("ln_1", "ln_2"),
    ),
    "exaone",
)  # fmt: skip


@family("minicpm")
def minicpm(k: Keys) -> Body:
    """MiniCPM 1 to 4; MiniCPM-MoE has experts of Mixtral's names in place of the MLP."""
    count = k.integer("num_experts", 0, null=0, least=0, most=MOST_LAYERS)
    if not count:
        return dense(k, Traits())
    hidden, width = k.integer("hidden_size"), k.integer("intermediate_size")
    used = k.integer("num_experts_per_tok", 2, most=count)
    routed = experts(hidden, width, count, used, names=("w1", "w3", "w2"))
    return dense(k, Traits(), feed_forward=(router(hidden, count), *routed))


@family("mimo")
def mimo(k: Keys) -> Body:
    """MiMo 7B: Qwen2 with further layers that predict more tokens at once (stored, apart from the total)."""
    traits = Traits(qkv_bias=True, out_bias=False, window="late")
    body = dense(k, traits)
    count = k.integer("num_nextn_predict_layers", 0, null=0, least=0, most=MOST_LAYERS)
    if not count:
        return body
    s = sizes(k)
    own = [norm(f"{name}_layernorm", s.hidden) for name in ("token", "hidden", "final")]
    layer = join(
        dense_layers(k, traits, s, body.kv_heads)[-1], own, linear("input_proj", s.hidden, 2 * s.hidden, "other")
    )
    body.blocks.extend(stack([layer] * count, "model.mtp_layers.{i}.", part="mtp"))
    return body
