"""Wrappers: a language model with a tower for images or sound in front of it, told apart in the ledger.

Each entry says which language model a nested section without `model_type` is, where the checkpoint puts it, and which
towers and projector stand beside it. Sources: tensor lists and config classes of transformers 5.24; prefixes as in the
published checkpoints, because ignore lists of quantized ones speak in them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from planner.architecture import compact_towers as c
from planner.architecture import document_towers as d
from planner.architecture import gemma_towers as g
from planner.architecture import hearing, qformer, sam, vqvae
from planner.architecture import projectors as p
from planner.architecture import qwen_towers as q
from planner.architecture import towers as t
from planner.architecture.families import Body, family, load_all
from planner.architecture.guess import choose_text
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block
from planner.architecture.sections import class_defaults, text_sections

Towers = Callable[[Keys, int], list[Block]]


@dataclass(frozen=True)
class Wrapper:
    """How one wrapper is put together.

    text    model_type of the language model when its section does not say
    towers  from the config and the language model's width: blocks of towers and projectors
    prefix  what stands before the language model's `model.`, and before `lm_head`
    inner   what replaces `model.` itself
    flat    its first files had the language model's keys at the top
    whole   the language model inside has its own head, so that only its own `tie_word_embeddings` counts
    unsaid  without `tie_word_embeddings`, the wrapper's class ties the head and the language model's does not
    ties    without a `tie_word_embeddings` of the wrapper's own the head is tied, whatever its language model's says
    causal  its own class is called ...ForCausalLM, as elsewhere the language model alone is
    """

    text: str
    towers: Towers
    prefix: tuple[str, str] = ("language_model.", "language_model.")
    inner: str = "model."
    flat: bool = False
    whole: bool = False
    unsaid: bool = False
    ties: bool = False
    causal: bool = False


TOWERS: Final = ("vision_config", "audio_config", "encoder_config", "img_processor")  # sections that describe a tower

INSIDE: Final = ("", "")  # the language model stands inside `model.`, the head beside it

WRAPPERS: Final[dict[str, Wrapper]] = {
    "llava": Wrapper("llama", p.llava),
    "llava_next": Wrapper("llama", p.llava_next),
    "vipllava": Wrapper("llama", p.vipllava),
    "video_llava": Wrapper("llama", p.video_llava),
    "fuyu": Wrapper("persimmon", p.fuyu, causal=True),
    "got_ocr2": Wrapper("qwen2", sam.got_ocr2, INSIDE, "model.language_model."),
    "deepseek_vl_hybrid": Wrapper("llama", sam.deepseek_vl_hybrid, INSIDE, "model.language_model."),
    "video_llama_3": Wrapper("qwen2", p.video_llama3, INSIDE, "model.language_model."),
    "glmasr": Wrapper("llama", hearing.glmasr, INSIDE, "model.language_model.", unsaid=True),
    "qwen3_asr": Wrapper("qwen3", hearing.qwen3_asr, INSIDE, "model.language_model.", unsaid=True),
    "granite_speech": Wrapper("granite", hearing.granite_speech),
    "janus": Wrapper("llama", vqvae.janus, INSIDE, "model.language_model.", unsaid=True),
    "blip-2": Wrapper("opt", qformer.blip2, whole=True),
    "instructblip": Wrapper("opt", qformer.instructblip, whole=True),
    "mistral3": Wrapper("mistral", p.mistral3),
    "gemma3": Wrapper("gemma3_text", p.gemma3),
    "gemma3n": Wrapper("gemma3n_text", g.gemma3n, INSIDE, "model.language_model."),
    "gemma4": Wrapper("gemma4_text", g.gemma4, INSIDE, "model.language_model."),
    "paligemma": Wrapper("gemma", p.paligemma, ties=True),
    "aya_vision": Wrapper("cohere2", p.aya_vision),
    "cohere2_vision": Wrapper("cohere2", p.cohere2_vision),
    "idefics3": Wrapper("llama", p.idefics3, INSIDE, "model.text_model."),
    "smolvlm": Wrapper("llama", p.idefics3, INSIDE, "model.text_model."),
    "internvl": Wrapper("qwen2", p.internvl),
    "internvl_chat": Wrapper("internlm2", p.internvl_chat),
    "maira2": Wrapper("llama", p.maira2),
    "qwen2_vl": Wrapper("qwen2_vl_text", q.qwen2_vl, INSIDE, flat=True),
    "qwen2_5_vl": Wrapper("qwen2_5_vl_text", q.qwen2_5_vl, INSIDE, flat=True),
    "qwen3_vl": Wrapper("qwen3_vl_text", q.qwen3_vl, INSIDE, "model.language_model."),
    "qwen3_vl_moe": Wrapper("qwen3_vl_moe_text", q.qwen3_vl, INSIDE, "model.language_model."),
    "qwen3_5": Wrapper("qwen3_5_text", q.qwen3_5, INSIDE, "model.language_model."),
    "qwen3_5_moe": Wrapper("qwen3_5_moe_text", q.qwen3_5, INSIDE, "model.language_model."),
    "qwen3_omni_moe": Wrapper("qwen3_omni_moe_text", hearing.qwen3_omni, ("thinker.", "thinker.")),
    "glm4v": Wrapper("glm4v_text", q.glm4v, INSIDE, "model.language_model."),
    "glm4v_moe": Wrapper("glm4v_moe_text", q.glm4v, INSIDE, "model.language_model."),
    "llama4": Wrapper("llama4_text", t.llama4, whole=True),
    "mllama": Wrapper("mllama_text_model", t.mllama),
    "kimi_k25": Wrapper("deepseek_v3", t.kimi),
    "kimi_vl": Wrapper("deepseek_v3", t.kimi_vl),
    "kimi_k3": Wrapper("kimi_linear", p.unknown),
    "minimax_m3_vl": Wrapper("minimax_m3_vl_text", t.minimax_m3),
    "step3p7": Wrapper("step3p5", t.step3p7, INSIDE, "model.language_model."),
    "ernie4_5_vl_moe": Wrapper("ernie4_5_vl_moe_text", t.ernie4_5_vl, INSIDE, "model.language_model."),
    "ernie4_5_moe_vl": Wrapper("ernie4_5_vl_moe_text", t.ernie4_5_vl, INSIDE, flat=True),
    "qwen2_audio": Wrapper("qwen2", p.qwen2_audio),
    "voxtral": Wrapper("llama", p.voxtral),
    "llava_onevision": Wrapper("qwen2", p.llava_onevision, INSIDE, "model.language_model."),
    "llava_next_video": Wrapper("llama", p.llava_next),
    "shieldgemma2": Wrapper("gemma3_text", p.gemma3),
    "qianfan_ocr": Wrapper("qwen3", p.internvl),
    "glm46v": Wrapper("glm4v_text", q.glm4v, INSIDE, "model.language_model."),
    "glmga": Wrapper("glm4v_text", q.glm4v, INSIDE, "model.language_model."),
    "glm_ocr": Wrapper("glm_ocr_text", c.glm_ocr, INSIDE, "model.language_model."),
    "glm5_next": Wrapper("glm5_next_text", c.glm5_next, INSIDE, "model.language_model."),
    "exaone4_5": Wrapper("exaone4", c.exaone4_5, INSIDE, "model.language_model."),
    "lfm2_vl": Wrapper("lfm2", c.lfm2_vl, INSIDE, "model.language_model."),
    "lighton_ocr": Wrapper("qwen3", c.lighton_ocr, INSIDE, "model.language_model.", unsaid=True),
    "idefics2": Wrapper("mistral", c.idefics2, INSIDE, "model.text_model."),
    "deepseek_vl": Wrapper("llama", c.deepseek_vl, INSIDE, "model.language_model.", unsaid=True),
    "aria": Wrapper("aria_text", c.aria),
    "ovis2": Wrapper("qwen2", c.ovis2, INSIDE, "model.language_model.", unsaid=True),
    "paddleocr_vl": Wrapper("paddleocr_vl_text", c.paddleocr_vl, INSIDE, "model.language_model."),
    "hy_v4_vl": Wrapper("hy_v4_vl_text", c.hy_v4_vl, INSIDE, "model.language_model."),
    "muse_glimmer": Wrapper("muse_glimmer_text", p.unknown, INSIDE, "model.language_model."),
    "muse_spark": Wrapper("muse_spark_text", p.unknown, INSIDE, "model.language_model."),
    "molmo2": Wrapper("molmo2_text", p.unknown, INSIDE, "model.language_model."),
    "inkling_mm_model": Wrapper("inkling_text", p.unknown, INSIDE, "model.language_model."),
    "phi3_v": Wrapper("phi3", d.phi3_v, INSIDE, flat=True),
    "deepseek_vl_v2": Wrapper("deepseek_v2", d.deepseek_ocr, INSIDE, causal=True),
    "phi4_multimodal": Wrapper("phi3", p.unknown, INSIDE, flat=True),
    "phi4mm": Wrapper("phi3", p.unknown, INSIDE, flat=True),
    "qwen2_5_omni": Wrapper("qwen2_5_omni_text", q.qwen2_5_omni, ("thinker.", "thinker."), "model."),
    "qwen2_5_omni_thinker": Wrapper("qwen2_5_omni_text", q.qwen2_5_thinker, INSIDE, "model.language_model."),
    "mistral_large4": Wrapper("mistral_large4_text", p.mistral3, INSIDE, "model.language_model."),
    "audioflamingo3": Wrapper("qwen2", c.listening),
    "musicflamingo": Wrapper("qwen2", c.listening),
    "wrapper": Wrapper("", p.unknown),
}

# Language models inside wrappers that are another family by another name.
TEXT_FAMILIES: Final = {
    "qwen2_vl_text": "qwen2", "qwen2_5_vl_text": "qwen2", "qwen3_vl_text": "qwen3", "qwen3_vl_moe_text": "qwen3_moe",
    "qwen3_omni_moe_text": "qwen3_moe", "glm4v_text": "glm4", "glm4v_moe_text": "glm4_moe", "gemma3": "gemma3_text",
    "qwen2_5_omni_text": "qwen2", "glm_ocr_text": "glm4", "paddleocr_vl_text": "ernie4_5",
    "granite_docling_text": "granite",
}  # fmt: skip

# Absent keys of those sections (config classes of transformers 5.24).
TEXT_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "qwen2_vl_text": {"hidden_size": 8192, "intermediate_size": 29568, "num_hidden_layers": 80, "vocab_size": 152064,
                      "num_attention_heads": 64, "num_key_value_heads": 8},
    "qwen3_vl_text": {"hidden_size": 4096, "intermediate_size": 22016, "num_hidden_layers": 32, "vocab_size": 151936,
                      "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128, "head_dim_fixed": True},
    "glm4v_text": {"hidden_size": 4096, "intermediate_size": 13696, "num_hidden_layers": 40, "vocab_size": 151552,
                   "num_attention_heads": 32, "num_key_value_heads": 2, "attention_bias": True},
    "glm4v_moe_text": {"hidden_size": 4096, "intermediate_size": 10944, "num_hidden_layers": 46, "vocab_size": 151424,
                       "num_attention_heads": 96, "num_key_value_heads": 8, "attention_bias": True},
}  # fmt: skip
TEXT_DEFAULTS["qwen2_5_vl_text"] = TEXT_DEFAULTS["qwen2_vl_text"]

# Wrappers that give their language model sizes of their own where its section leaves them out.
OWN_DEFAULTS: Final[dict[str, dict[str, Any]]] = {
    "voxtral": {"hidden_size": 3072, "intermediate_size": 8192, "num_hidden_layers": 30, "num_attention_heads": 32,
                "num_key_value_heads": 8, "head_dim": 128, "head_dim_fixed": True, "vocab_size": 131072},
    "glmasr": {"hidden_size": 2048, "intermediate_size": 6144, "num_hidden_layers": 28, "num_attention_heads": 16,
               "num_key_value_heads": 4, "vocab_size": 59264},
}  # fmt: skip


def read_wrapper(wrap: Wrapper, k: Keys) -> Body:
    """The language model under its checkpoint prefix, then towers and projectors."""
    around, section = k, k
    for path in text_sections(k.data):
        around, section = section, section.section(path[-1])
    flat = section is k
    body = _language_model(k, around, section, wrap)
    if flat and not (wrap.flat and any(isinstance(k.data.get(name), Mapping) for name in TOWERS)):
        k.guess(
            "The keys of the language model stand at the top of this file, where model_type "
            f"{k.data.get('model_type')!r:.60} does not keep them; they are read as {wrap.text!r}."
        )
        towers = p.unknown(k, body.hidden)
    elif not flat and not wrap.causal and _language_model_alone(k):
        return body
    else:
        towers = wrap.towers(around, body.hidden)
        described = any(isinstance(around.data.get(n), Mapping) for n in TOWERS)
        if any(b.part in ("vision", "audio") for b in towers) and not described:
            k.guess("vision_config is absent; the image part is counted with the sizes of the model class's defaults.")
    return replace(body, blocks=[*(_moved(b, wrap) for b in body.blocks), *towers])


def _language_model(top: Keys, around: Keys, section: Keys, wrap: Wrapper) -> Body:
    flat = section is top
    declared = wrap.text if flat else section.text("model_type") or wrap.text
    families = load_all()
    name = declared if declared in families and declared not in WRAPPERS else TEXT_FAMILIES.get(declared, "")
    if name not in families:
        name = choose_text(section.data, declared, top.log)
    if wrap.unsaid and not any("tie_word_embeddings" in place.data for place in (top, around, section)):
        top.guess(
            "tie_word_embeddings is absent; the head is taken as its own. Check it: it is worth vocab_size x "
            "hidden_size parameters."
        )
    defaults = dict(class_defaults().get(declared) or TEXT_DEFAULTS.get(declared) or {})
    defaults |= OWN_DEFAULTS.get(str(top.data.get("model_type")), {})
    ties = None if flat or wrap.whole else _tie_holder(top, around)
    if wrap.ties and ties is not None and "tie_word_embeddings" not in ties.data:
        ties = Keys({"tie_word_embeddings": True})
    text = Keys(section.data, section.where, defaults, top.log, ties)
    return families[name](text)


def _tie_holder(top: Keys, around: Keys) -> Keys:
    """The section whose `tie_word_embeddings` goes before the language model's own."""
    return around if "tie_word_embeddings" in around.data else top


def _language_model_alone(k: Keys) -> bool:
    """A wrapper's file whose class name is the language model alone (`MllamaForCausalLM` for `mllama`)."""
    named, declared = k.data.get("architectures"), k.data.get("model_type")
    if not (isinstance(named, list) and named and isinstance(named[0], str) and isinstance(declared, str)):
        return False
    if named[0].lower() != declared.replace("_", "").lower() + "forcausallm":
        return False
    k.use("architectures")
    return True


def _moved(block: Block, wrap: Wrapper) -> Block:
    """A language model's block under the prefix that the wrapper's checkpoint gives it."""
    if block.part not in ("text", "mtp"):
        return block
    if block.prefix:
        return replace(block, prefix=_path(block.prefix, wrap))
    return replace(block, matrices=tuple(replace(m, name=_path(m.name, wrap)) for m in block.matrices))


def _path(name: str, wrap: Wrapper) -> str:
    if name.startswith("model."):
        return wrap.prefix[0] + wrap.inner + name.removeprefix("model.")
    return wrap.prefix[1] + name if name.startswith("lm_head") else name


for _name, _wrap in WRAPPERS.items():
    family(_name, wrapper=True)(partial(read_wrapper, _wrap))
