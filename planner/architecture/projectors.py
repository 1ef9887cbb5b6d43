"""Common towers with the projector that joins them to a language model: LLaVA, Mistral 3, Gemma 3, InternVL and others.

Each takes the whole config and the language model's width. Shapes: tensor lists of transformers 5.24.
"""

from __future__ import annotations

from planner.architecture.builders import linear, norm, outer, vector
from planner.architecture.encoders import clip, dinov2, intern_vit, pixtral, siglip, whisper_encoder
from planner.architecture.encoders import internvl as internvit
from planner.architecture.keys import Keys
from planner.architecture.ledger import Block, Matrix

ROOT = "multi_modal_projector."


def unknown(top: Keys, text: int) -> list[Block]:
    """No tower that the planner can list: the language model alone, as a marked guess."""
    top.guess("The image or sound part of this model is not counted; its language model is read by its own keys.")
    return []


def project(*matrices: Matrix, root: str = ROOT) -> Block:
    """What joins a tower to the language model."""
    return outer(*matrices, prefix=root, part="projector")


def _picture(top: Keys, default: str) -> tuple[list[Block], int]:
    """The image tower by the nested section's model_type."""
    k = top.section("vision_config")
    kind = k.text("model_type", default) or default
    if kind == "pixtral":
        return pixtral(k)
    if kind in ("siglip_vision_model", "siglip"):
        return siglip(k)
    if kind in ("clip_vision_model", "clip"):
        return clip(k)
    if kind == "dinov2":
        return dinov2(k)
    if kind in ("internvl_vision", "intern_vit_6b", "qianfan_ocr_vision"):
        return internvit(k)
    raise k.refuse(
        f"{k.path}.model_type is {kind!r:.60}, an image tower that the planner does not know. "
        "Paste only the language model's section to plan for text."
    )


def _features(top: Keys) -> int:
    """How many layers of the tower the projector sees beside each other."""
    value = top.raw("vision_feature_layer", -2)
    return max(len(value), 1) if isinstance(value, list) else 1


def llava(top: Keys, text: int, default: str = "clip_vision_model") -> list[Block]:
    """LLaVA 1.5 and Pixtral in its clothes: two biased projections."""
    blocks, wide = _picture(top, default)
    bias = top.flag("multimodal_projector_bias", True)
    return [*blocks, project(linear("linear_1", text, wide * _features(top), "projector", bias=bias),
                              linear("linear_2", text, text, "projector", bias=bias))]  # fmt: skip


def llava_next(top: Keys, text: int, default: str = "clip_vision_model") -> list[Block]:
    """LLaVA-NeXT: LLaVA and a vector for the end of an image row."""
    return [*llava(top, text, default), outer(vector("image_newline", text, "projector"), part="projector")]


def vipllava(top: Keys, text: int) -> list[Block]:
    """ViP-LLaVA: features of five layers beside each other, normed."""
    blocks, wide = _picture(top, "clip_vision_model")
    merged = wide * (_features(top) if "vision_feature_layer" in top.data else 5)
    return [*blocks, project(norm("projector_layernorm", merged, bias=True),
                              linear("linear_1", text, merged, "projector", bias=True),
                              linear("linear_2", text, text, "projector", bias=True))]  # fmt: skip


def video_llava(top: Keys, text: int) -> list[Block]:
    """Video-LLaVA: LLaVA with a tower for videos beside that for images."""
    k = top.section("vision_config")
    videos, _ = clip(k, "video_tower.vision_model.")
    return [*videos, *llava(top, text)]


def video_llama3(top: Keys, text: int) -> list[Block]:
    """VideoLLaMA 3: SigLIP with rotary positions and no head, two projections."""
    root, k = "model.vision_model.", top.section("vision_config")
    blocks, wide = siglip(k, root, has_head=False, rows=0)
    return [*blocks, project(linear("readout.0", text, wide, "projector", bias=True),
                              linear("readout.2", text, text, "projector", bias=True),
                              root="model.projector.")]  # fmt: skip


def fuyu(top: Keys, text: int) -> list[Block]:
    """Fuyu: no tower; the language model reads patches through one projection."""
    edge = top.integer("patch_size", 30, most=100_000)
    cols = edge * edge * top.integer("num_channels", 3)
    return [outer(linear("vision_embed_tokens", text, cols, "projector", bias=True), part="projector")]


def llava_onevision(top: Keys, text: int) -> list[Block]:
    """LLaVA-OneVision: LLaVA-NeXT with SigLIP."""
    return llava_next(top, text, "siglip_vision_model")


def mistral3(top: Keys, text: int) -> list[Block]:
    """Mistral Small 3.1 and later: norm, patch merger, two projections."""
    blocks, wide = _picture(top, "pixtral")
    bias, merge = top.flag("multimodal_projector_bias"), top.integer("spatial_merge_size", 2)
    return [*blocks, project(
        norm("norm", wide), linear("patch_merger.merging_layer", wide, wide * merge * merge, "projector"),
        linear("linear_1", text, wide * _features(top), "projector", bias=bias),
        linear("linear_2", text, text, "projector", bias=bias),
    )]  # fmt: skip


def gemma3(top: Keys, text: int) -> list[Block]:
    """Gemma 3: SigLIP and one unbiased projection."""
    if top.data.get("vision_config") is None:
        return []
    blocks, wide = _picture(top, "siglip_vision_model")
    return [*blocks, project(linear("mm_input_projection_weight", wide, text, "projector"),
                              norm("mm_soft_emb_norm", wide))]  # fmt: skip


def paligemma(top: Keys, text: int) -> list[Block]:
    """PaliGemma: SigLIP and one biased projection."""
    blocks, wide = _picture(top, "siglip_vision_model")
    holder = top if "projection_dim" in top.data else top.section("vision_config")
    out = holder.integer("projection_dim", text)
    return [*blocks, project(linear("linear", out, wide, "projector", bias=True))]


def aya_vision(top: Keys, text: int) -> list[Block]:
    """Aya Vision: pixel shuffle, norm, a gated projection."""
    blocks, wide = _picture(top, "siglip_vision_model")
    merged, inner = wide * top.integer("downsample_factor", 2) ** 2, top.integer("alignment_intermediate_size", text)
    return [*blocks, project(norm("layernorm", merged, bias=True),
                              linear("linear_1", inner, merged, "projector", bias=True),
                              linear("linear_2", text, inner // 2, "projector", bias=True))]  # fmt: skip


def cohere2_vision(top: Keys, text: int) -> list[Block]:
    """Command A Vision: pixel shuffle and a gated projection."""
    blocks, wide = _picture(top, "siglip_vision_model")
    merged, inner = wide * top.integer("downsample_factor", 2) ** 2, top.integer("alignment_intermediate_size", 36864)
    return [*blocks, project(linear("linear_1", inner, merged, "projector", bias=True),
                              linear("linear_2", text, inner // 2, "projector", bias=True))]  # fmt: skip


def idefics3(top: Keys, text: int) -> list[Block]:
    """Idefics 3 and SmolVLM: SigLIP without a head, pixel shuffle, one projection."""
    k = top.section("vision_config")
    blocks, wide = siglip(k, "model.vision_model.", size=1152, patch=32, has_head=False)
    merged = wide * top.integer("scale_factor", 2) ** 2
    return [*blocks, project(linear("proj", text, merged, "projector"), root="model.connector.modality_projection.")]


def internvl(top: Keys, text: int) -> list[Block]:
    """InternVL: pixel shuffle, norm, two biased projections."""
    blocks, wide = _picture(top, "internvl_vision")
    merged = wide * round(1 / top.number("downsample_ratio", 0.5, least=1 / 64, most=1)) ** 2
    return [*blocks, project(norm("layer_norm", merged, bias=True),
                              linear("linear_1", text, merged, "projector", bias=True),
                              linear("linear_2", text, text, "projector", bias=True))]  # fmt: skip


def internvl_chat(top: Keys, text: int) -> list[Block]:
    """InternVL 1.5 to 3 as first published: the projector is `mlp1`."""
    blocks, wide = intern_vit(top.section("vision_config"))
    merged = wide * round(1 / top.number("downsample_ratio", 0.5, least=1 / 64, most=1)) ** 2
    return [*blocks, project(norm("0", merged, bias=True), linear("1", text, merged, "projector", bias=True),
                             linear("3", text, text, "projector", bias=True), root="mlp1.")]  # fmt: skip


def maira2(top: Keys, text: int) -> list[Block]:
    """MAIRA-2: DINOv2 and `projector_n_layers` biased projections."""
    blocks, wide = _picture(top, "dinov2")
    top.guess("The projector of this model is assumed to be plain biased layers.")
    count = top.integer("projector_n_layers", 4, most=100)
    sizes = [wide, *[text] * count]
    return [*blocks, project(*(linear(f"layers.{2 * i}", sizes[i + 1], sizes[i], "projector", bias=True)
                                for i in range(count)))]  # fmt: skip


def qwen2_audio(top: Keys, text: int) -> list[Block]:
    """Qwen2-Audio: Whisper's encoder and one biased projection."""
    blocks, wide = whisper_encoder(top.section("audio_config"), "audio_tower.")
    return [*blocks, project(linear("linear", text, wide, "projector", bias=True))]


def voxtral(top: Keys, text: int) -> list[Block]:
    """Voxtral: Whisper's encoder, four frames beside each other, two projections."""
    k = top.section("audio_config")
    blocks, _ = whisper_encoder(k, "audio_tower.")
    return [*blocks, project(linear("linear_1", text, k.integer("intermediate_size", 5120), "projector"),
                              linear("linear_2", text, text, "projector"))]  # fmt: skip
