"""The rules about how a model and an engine go with the devices: heads, links, formats."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from planner.engines import ENGINES
from planner.findings.changes import Change
from planner.findings.draft import Draft
from planner.findings.support import engine_lacks, formats_lack, stored_formats
from planner.plan import Plan
from planner.precision import FORMATS, KV_FORMATS, describe_quantization
from planner.units import digits, rate

# The links between devices below which tensor parallelism waits for its sums: PCIe 5.0 x16 has 64 GB/s a direction.
SLOW_LINK: Final = 100e9


def parallel(p: Plan) -> Iterator[Draft]:
    """How the copy is spread over devices, and the links between them."""
    arch, layout, s = p.architecture, p.layout, p.scenario
    if not p.engine.tensor_parallel and s.devices > 1:
        yield Draft(
            "info", "layer-split",
            f"{p.engine.name} deals whole layers to its {s.devices} devices: memory adds up, but one conversation is "
            "no "
            "faster than on one device.",
        )  # fmt: skip
    if layout.pipeline > max(arch.n_layers, 1):
        stages = {"pipeline": arch.n_layers} if p.engine.tensor_parallel else {"devices": arch.n_layers, "pipeline": 1}
        yield Draft(
            "error", "more-stages-than-layers",
            f"{layout.pipeline} stages cannot each have one of the {arch.n_layers} layers; some devices would be idle.",
            (Change(stages, f"{arch.n_layers} stages"),),
        )
    yield from _heads(p)
    link, device = p.device.interconnect_bytes_per_s, p.device
    if layout.tensor > 1 and not device.custom and device.kind == "gpu" and (link or 0) < SLOW_LINK:
        path = link or device.pcie_bytes_per_s
        speed = f" ({rate(path / 1e9)} GB/s{'' if link else ' over PCIe'})" if path else ""
        yield Draft(
            "warning", "slow-link",
            f"{device.label} has no fast link between devices{speed}: tensor parallelism waits for its sums at every "
            "layer, "
            "so expect the low end of the band.",
            (Change({"devices": 1, "pipeline": s.pipeline * s.devices}, "pipeline stages instead"),),
        )
    node = device.typical_devices_per_node or 8
    if layout.tensor > node:
        yield Draft(
            "warning", "beyond-node",
            f"{layout.tensor} devices share each layer, but a machine usually holds {node} {device.label}: tensor "
            "parallelism across machines is slow, and the speeds expected here do not count the slower link.",
            tuple(_within_machines(p, node)), serves=True,
        )  # fmt: skip


def _within_machines(p: Plan, node: int) -> Iterator[Change]:
    """The same devices with no layer split across machines: pipeline stages of as many devices as a machine holds."""
    s, groups = p.scenario, p.layout.attention_data
    sizes = (n for n in range(min(node, s.devices), 0, -1) if s.devices % n == 0 and n % groups == 0)
    for n in sizes:
        stages = s.pipeline * s.devices // n
        if stages <= p.architecture.n_layers:
            yield Change({"devices": n, "pipeline": stages}, f"{stages} pipeline stages of {n} devices each")
            return


def _heads(p: Plan) -> Iterator[Draft]:
    arch, tensor, groups = p.architecture, p.layout.attention_tensor, p.layout.attention_data
    if tensor > 1 and arch.heads and arch.heads % tensor:
        fit = sorted((t for t in range(1, 2 * tensor) if arch.heads % t == 0), key=lambda t: abs(t - tensor))
        yield Draft(
            "error", "heads-not-divisible",
            f"{arch.heads} attention heads cannot be dealt evenly to {tensor} devices; engines refuse that.",
            tuple(Change({"devices": t * groups}, f"{t * groups} devices per copy") for t in fit),
        )
    latent = any(c.kind == "latent" and c.units == 1 for _, c in arch.caches())
    heads = max(arch.kv_heads, 1)
    if tensor > 1 and latent:
        yield Draft(
            "info", "latent-replicated",
            f"Each of the {tensor} devices keeps the whole compressed conversation memory (latent attention cannot be "
            "split); attention data parallelism avoids the copies.",
        )  # fmt: skip
    elif tensor > heads and arch.kv_elements_per_token:
        copies = p.scenario.copies * (tensor // heads)
        yield Draft(
            "warning", "kv-replicated",
            f"The model has {heads} KV head{'' if heads == 1 else 's'}, fewer than {tensor} devices: each is kept "
            f"{math.ceil(tensor / heads)} times, so past {heads} devices a device's share of conversation memory "
            "shrinks no "
            "further.",
            (Change({"devices": heads * groups, "copies": copies}, f"{copies} copies of {heads * groups} devices"),),
        )  # fmt: skip


def formats(p: Plan) -> Iterator[Draft]:
    """Whether this device and engine run these formats, and at which rate."""
    for compute in p.work.computes:
        _, runs = p.device.peak(compute)
        if compute != "fp16" and runs != compute:
            yield Draft(
                "info", "no-fast-path",
                f"{p.device.label} has no {compute.upper()} arithmetic: these weights save memory and bandwidth, but "
                "compute "
                f"runs at {runs.upper()}.",
            )  # fmt: skip
        elif compute != "fp16" and p.device.peak(compute)[0] < p.device.peak("fp16")[0]:
            yield Draft(
                "info", "narrow-is-slower",
                f"{p.device.label} multiplies {compute.upper()} more slowly than 16-bit numbers "
                f"({_tera(p.device.peak(compute)[0])} against {_tera(p.device.peak('fp16')[0])}): these weights save "
                "memory and bandwidth, but prompts wait longer unless the engine widens them.",
            )  # fmt: skip
    if not p.engine.runs_on(p.device):
        others = [e.name for e in reversed(ENGINES.values()) if e.runs_on(p.device)]
        yield Draft(
            "error", "engine-not-on-device", f"{p.engine.name} does not run on {p.device.label}.",
            tuple(Change({"engine": name}, name) for name in others),
        )  # fmt: skip
    yield from _generations(p)
    chosen = FORMATS.get(p.scenario.weights)
    stored = describe_quantization(p.architecture) if p.scenario.weights == "checkpoint" else None
    if chosen and chosen.family == "gguf" and "gguf" not in p.engine.formats:
        yield Draft(
            "warning", "format-needs-engine",
            f"{chosen.label} is a format of llama.cpp; {p.engine.name} loads Hugging Face checkpoints.",
            (Change({"engine": "llama.cpp"}, "llama.cpp"), Change({"weights": "checkpoint"}, "weights as published")),
        )
    elif "hf" not in p.engine.formats and (chosen.family == "matrices" if chosen else stored):
        what = chosen.label if chosen else "the published quantization"
        near = "Q8_0" if p.work.rows.stored_bytes.sum() * 8 / max(p.architecture.total_params, 1) > 6 else "Q4_K_M"
        yield Draft(
            "warning", "format-needs-engine",
            f"{p.engine.name} loads GGUF files, not {what}; a converted file has a size of its own.",
            (Change({"weights": near}, f"{FORMATS[near].label} weights"),),
        )
    offered = p.kv not in ("int8", "nvfp4") or p.engine.name.split()[0] in KV_FORMATS[p.kv].engines
    if not offered or (p.kv.startswith("q") and p.engine.name != "llama.cpp"):
        yield Draft(
            "warning", "kv-needs-engine",
            f"Conversation memory as {KV_FORMATS[p.kv].label} is not an option of {p.engine.name}; it is one of: "
            f"{KV_FORMATS[p.kv].engines.rstrip('.')}.",
            (Change({"kv": "fp8"}, "FP8 conversation memory"), Change({"kv": "auto"}, "as published")),
        )  # fmt: skip


def _generations(p: Plan) -> Iterator[Draft]:
    """Whether the device is of a generation that the engine and its kernels for these weights are made for."""
    if not p.engine.runs_on(p.device):
        return
    if reason := engine_lacks(p.device, p.engine):
        others = [e for e in reversed(ENGINES.values()) if e.runs_on(p.device) and not engine_lacks(p.device, e)]
        yield Draft(
            "warning", "engine-needs-newer", f"{p.device.label} is too old for {p.engine.name}: {reason}.",
            tuple(Change({"engine": e.name}, e.name) for e in others),
        )  # fmt: skip
    elif reason := formats_lack(p.device, p.engine, stored_formats(p.work)):
        yield Draft(
            "warning", "format-not-on-device", f"These weights may not run on {p.device.label}: {reason}.",
            tuple(Change({"weights": name}, f"{FORMATS[name].label} weights") for name in ("fp8", "int8", "int4",
                                                                                         "bf16")),
        )  # fmt: skip


def _tera(rate: float) -> str:
    return f"{digits(rate / 1e12)} TFLOP/s"
