"""DeciLM: Llama layers of unequal shape, found by search (Llama-Nemotron Super 49B, 51B, Ultra 253B; DeciLM 6B, 7B).

Sources: the model code beside the checkpoints (configuration_decilm, block_config); tensor lists.
"""

from __future__ import annotations

from planner.architecture.builders import Layer, attention, join, linear, mlp, norm
from planner.architecture.decoder import Sizes, decoder, pre_norms, sizes
from planner.architecture.families import Body, family
from planner.architecture.keys import Keys, Log

# Widths are rounded up to a multiple of this.
MULTIPLE = 256


def searched_width(multiple: float, hidden: int) -> int:
    """MLP width of `ffn_mult`: two thirds of that many times H, rounded up to a multiple of 256."""
    return -(-int(2 * multiple * hidden / 3) // MULTIPLE) * MULTIPLE


def searched_attention(k: Keys, part: Keys, s: Sizes) -> tuple[Layer | None, int]:
    """Attention of one block with its norm, or a matrix in its place, or nothing; and its KV heads."""
    bias = k.flag("attention_bias")
    before = norm("input_layernorm", s.hidden)
    if part.flag("no_op"):
        return None, 0
    if part.flag("replace_with_linear"):
        return join(before, linear("self_attn.linear_attn", s.hidden, s.hidden, "attention", bias=bias)), 0
    if part.optional("num_key_value_heads"):
        kv_heads = part.integer("num_key_value_heads", most=s.heads)
    else:
        kv_heads = max(1, s.heads // part.integer("n_heads_in_group", most=s.heads))
    window = part.optional("window_length") or None
    layer = attention(s.hidden, s.heads, kv_heads, k.head_dim(s.hidden, s.heads), bias=bias, window=window)
    return join(before, layer), kv_heads


def searched_mlp(k: Keys, part: Keys, s: Sizes) -> Layer | None:
    """MLP of one block with its norm, or a matrix in its place, or nothing."""
    bias = k.flag("mlp_bias")
    before = norm("post_attention_layernorm", s.hidden)
    if part.flag("no_op"):
        return None
    if part.flag("replace_with_linear"):
        return join(before, linear("mlp.linear_mlp", s.hidden, s.hidden, "mlp", bias=bias))
    if part.optional("intermediate_size"):
        width = part.integer("intermediate_size")
    else:
        width = searched_width(part.number("ffn_mult", least=1e-3, most=1000), s.hidden)
    return join(before, mlp(s.hidden, width, bias=bias))


@family("nemotron-nas", "deci")
def deci(k: Keys) -> Body:
    """`block_configs` gives every layer its own attention and MLP; older files list just the KV heads per layer."""
    s = sizes(k)
    listed = k.items("block_configs", None)
    if listed is None:
        return _kv_heads_per_layer(k, s)
    if len(listed) != s.layers or not all(isinstance(block, dict) for block in listed):
        raise k.refuse(
            f"block_configs has {len(listed)} entries for {s.layers} layers; expected one object per layer. "
            "Paste the whole config.json."
        )
    # The list is recorded whole; only what is wrong in an entry is told with the rest.
    own = Log(missing=k.log.missing, warnings=k.log.warnings, guesses=k.log.guesses)
    layers: list[Layer] = []
    widest = 0
    for i, block in enumerate(listed):
        entry = Keys(block, (f"block_configs[{i}]",), log=own)
        mixed, kv_heads = searched_attention(k, entry.section("attention"), s)
        layers.append(join(mixed or (), searched_mlp(k, entry.section("ffn"), s) or ()))
        widest = max(widest, kv_heads)
    return decoder(s, layers, widest)


def _kv_heads_per_layer(k: Keys, s: Sizes) -> Body:
    """DeciLM 6B and 7B: Llama with `num_key_value_heads_per_layer`."""
    listed = k.items("num_key_value_heads_per_layer", None)
    if listed is None:
        per_layer = [k.kv_heads(s.heads)] * s.layers
    elif len(listed) == s.layers and all(isinstance(n, int) and 1 <= n <= s.heads for n in listed):
        per_layer = listed
    else:
        raise k.refuse(
            f"num_key_value_heads_per_layer is {str(listed)[:60]}; expected {s.layers} numbers (one per layer) "
            f"from 1 to {s.heads}. Correct this key in the config and paste it again."
        )
    dim, bias = k.head_dim(s.hidden, s.heads), k.flag("attention_bias")
    feed_forward = mlp(s.hidden, k.integer("intermediate_size"), bias=k.flag("mlp_bias"))
    layers = [
        join(attention(s.hidden, s.heads, kv_heads, dim, bias=bias), feed_forward, pre_norms(s.hidden))
        for kv_heads in per_layer
    ]
    return decoder(s, layers, max(per_layer, default=s.heads))
