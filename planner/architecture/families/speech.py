"""Sound in, text out: Whisper and Moonshine. Sources: tensor lists of transformers 5.24."""

from __future__ import annotations

from planner.architecture.builders import head, linear, mlp, norm, outer, stack, table
from planner.architecture.crossing import MOST, attend, both, crossing, decoder_alone, idle, own, split
from planner.architecture.encoders import whisper_encoder
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys
from planner.architecture.ledger import Matrix


@family("whisper")
def whisper(k: Keys) -> Body:
    """Whisper: sound in, text out; the encoder gives `max_source_positions` entries whatever was said.

    `WhisperForCausalLM` is the decoder alone.
    """
    hidden, vocab = k.integer("d_model", 384), k.integer("vocab_size", 51865)
    heads, decoder = k.integer("decoder_attention_heads", 6), k.integer("decoder_layers", 4, most=MOST)
    dim, source = split(k, hidden, heads), k.integer("max_source_positions", 1500)
    section = Keys(k.data, k.where, WHISPER_DEFAULTS, k.log)
    encoder, _ = whisper_encoder(section, "model.encoder.", "text", "mlp")
    layer = (
        *attend(hidden, heads, heads, dim, "self_attn.", bias=True, key_bias=False),
        norm("self_attn_layer_norm", hidden, bias=True),
        *mlp(hidden, k.integer("decoder_ffn_dim", 1536), gated=False, bias=True, prefix="", names=("", "fc1", "fc2")),
        norm("final_layer_norm", hidden, bias=True),
    )
    between = norm("encoder_attn_layer_norm", hidden, bias=True)
    cross = attend(hidden, heads, heads, dim, "", bias=True, key_bias=False)
    across = crossing(decoder, "model.decoder.layers.{i}.encoder_attn.", cross, heads, heads, dim, source)
    tied, alone = k.tied(), decoder_alone(k)
    return Body(
        blocks=[
            *([] if alone else encoder),
            outer(table("model.decoder.embed_tokens", vocab, hidden),
                  table("model.decoder.embed_positions", k.integer("max_target_positions", 448), hidden, "positions")),
            *stack([both(layer, between, *own(heads, heads, dim))] * decoder, "model.decoder.layers.{i}."),
            idle(across) if alone else across,
            outer(norm("model.decoder.layer_norm", hidden, bias=True), head(vocab, hidden, tied=tied, name="proj_out")),
        ],
        n_layers=decoder, hidden=hidden, vocab=vocab, heads=heads, kv_heads=heads, tied=tied,
    )  # fmt: skip


# Absent keys of the encoder (config class of transformers 5.24).
WHISPER_DEFAULTS = {"encoder_layers": 4, "encoder_ffn_dim": 1536, "num_mel_bins": 80, "d_model": 384}


@family("moonshine")
def moonshine(k: Keys) -> Body:
    """Moonshine: three convolutions over raw sound, rotary positions, a gated MLP in the decoder only."""
    hidden, width, vocab = (
        k.integer("hidden_size", 288),
        k.integer("intermediate_size", 1152),
        k.integer("vocab_size", 32768),
    )
    encoder = k.integer("encoder_num_hidden_layers", 6, most=MOST)
    decoder = k.integer("decoder_num_hidden_layers", 6, most=MOST)
    heads, far = k.integer("decoder_num_attention_heads", 8), k.integer("encoder_num_attention_heads", 8)
    kv = k.integer("decoder_num_key_value_heads", heads, null=heads)
    far_kv = k.integer("encoder_num_key_value_heads", far, null=far)
    dim, far_dim, bias = split(k, hidden, heads), split(k, hidden, far), k.flag("attention_bias")
    names = ("q_proj", "k_proj", "v_proj", "o_proj")

    def feed(rows: int) -> tuple[Matrix, ...]:
        return (linear("mlp.fc1", rows, hidden, "mlp", bias=True), linear("mlp.fc2", hidden, width, "mlp", bias=True))

    norms = (norm("input_layernorm", hidden), norm("post_attention_layernorm", hidden))
    far_layer = (*attend(hidden, far, far_kv, far_dim, "self_attn.", names, bias=bias), *feed(width), *norms)
    near = (
        *attend(hidden, heads, kv, dim, "self_attn.", names, bias=bias), *feed(2 * width), *norms,
        norm("final_layernorm", hidden),
    )  # fmt: skip
    tied = k.tied()
    return Body(
        blocks=[
            outer(
                Matrix("conv1", hidden, 127, "other", "conv"),
                Matrix("conv2", 2 * hidden, 7 * hidden, "other", "conv", 2 * hidden),
                Matrix("conv3", hidden, 6 * hidden, "other", "conv", hidden), norm("groupnorm", hidden, bias=True),
                norm("layer_norm", hidden), prefix="model.encoder.",
            ),
            *stack([both(far_layer)] * encoder, "model.encoder.layers.{i}."),
            outer(table("model.decoder.embed_tokens", vocab, hidden)),
            *stack([both(near, *own(heads, kv, dim))] * decoder, "model.decoder.layers.{i}."),
            crossing(decoder, "model.decoder.layers.{i}.encoder_attn.",
                     attend(hidden, heads, kv, dim, "", names, bias=bias), heads, kv, dim),
            outer(norm("model.decoder.norm", hidden), head(vocab, hidden, tied=tied, name="proj_out")),
        ],
        n_layers=decoder, hidden=hidden, vocab=vocab, heads=heads, kv_heads=kv, tied=tied,
    )  # fmt: skip
