"""A pasted config as one short code that a link can carry."""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from planner.errors import LinkError
from planner.scenario import LONGEST_NAME, short

LARGEST_CONFIG: Final = 4_000_000  # bytes a compressed config may unpack to
LARGEST_CODE: Final = 400_000  # characters of the config parameter that are looked at
MARK: Final = "1."  # version of the config code

# Text that configs share, so that the compressor need not spell it out. Part of the link format: never edit, only add
# a new MARK with a new text.
PRESET: Final = (
    b'"quantization_config":{"quant_method":"compressed-tensors","config_groups":{"group_0":{"targets":["Linear"],'
    b'"weights":{"num_bits":4,"type":"int","strategy":"group","group_size":128,"symmetric":true}}},"ignore":["lm_head"],'
    b'"fp8","weight_block_size":[128,128],"activation_scheme":"dynamic","modules_to_not_convert":null,"bits":4,"awq","gptq",'
    b'"layer_types":["linear_attention","linear_attention","linear_attention","full_attention","sliding_attention",'
    b'"sliding_attention","sliding_attention","sliding_attention","sliding_attention","full_attention"],'
    b'"vision_config":{"depth":27,"patch_size":16,"out_hidden_size":4096,"model_type":"vision"},"text_config":{'
    b'"kv_lora_rank":512,"q_lora_rank":1536,"qk_nope_head_dim":128,"qk_rope_head_dim":64,"v_head_dim":128,'
    b'"first_k_dense_replace":1,"moe_layer_freq":1,"n_routed_experts":256,"n_shared_experts":1,"num_nextn_predict_layers":1,'
    b'"decoder_sparse_step":1,"mlp_only_layers":[],"num_local_experts":8,"num_experts":128,"num_experts_per_tok":8,'
    b'"moe_intermediate_size":768,"shared_expert_intermediate_size":512,"sliding_window":4096,"use_sliding_window":false,'
    b'"max_window_layers":28,"linear_conv_kernel_dim":4,"linear_key_head_dim":128,"linear_num_key_heads":16,'
    b'"attention_bias":false,"mlp_bias":false,"tie_word_embeddings":false,"max_position_embeddings":131072,"torch_dtype":"bfloat16",'
    b'"dtype":"bfloat16","architectures":["LlamaForCausalLM"],"model_type":"llama","num_key_value_heads":8,"head_dim":128,'
    b'"hidden_size":4096,"intermediate_size":14336,"num_attention_heads":32,"num_hidden_layers":32,"vocab_size":128256}'
)


def encode_config(name: str, config: Mapping[str, Any]) -> str:
    """A config (its used keys) and its name as one URL-safe code, the same for the same content."""
    text = json.dumps([name, config], separators=(",", ":"), ensure_ascii=False).encode("utf-8", "surrogatepass")
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, PRESET)
    packed = packer.compress(text) + packer.flush()
    return MARK + base64.urlsafe_b64encode(packed).decode().rstrip("=")


@lru_cache(maxsize=64)
def decode_config(code: str) -> tuple[str, dict[str, Any]]:
    """Name and config from a code. Raises LinkError with one sentence when it is cut, changed or too large."""
    cut = LinkError(
        "The model in this link is incomplete or was changed (chat tools sometimes cut long links). "
        "Ask for the link again, or paste the model's config.json."
    )
    if not code.startswith(MARK):
        raise LinkError("The model in this link was written by a version of the planner that this one cannot read. "
                        "Paste the model's config.json instead.")  # fmt: skip
    if len(code) > LARGEST_CODE:
        raise cut
    body = code[len(MARK) :]
    try:
        packed = base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
        unpacker = zlib.decompressobj(-15, PRESET)
        text = unpacker.decompress(packed, LARGEST_CONFIG)
        if not unpacker.eof or unpacker.unconsumed_tail or unpacker.unused_data:
            raise cut
        name, config = json.loads(text)
    except (ValueError, binascii.Error, zlib.error, TypeError, RecursionError):
        raise cut from None
    if not isinstance(name, str) or not isinstance(config, dict):
        raise cut
    return short(name, LONGEST_NAME), config
