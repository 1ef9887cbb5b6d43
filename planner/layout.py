"""How one copy of a model is spread over devices, and which part of a tensor each holds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Number = float | int | Array


@dataclass(frozen=True)
class Layout:
    """How one copy is spread: `tensor` devices share each layer, `pipeline` stages share the layers.

    expert_parallel  whole experts are dealt out to the tensor devices instead of slices of each
    attention_data   groups among the tensor devices that each hold whole attention weights and their own sequences
    """

    tensor: int = 1
    pipeline: int = 1
    expert_parallel: bool = False
    attention_data: int = 1

    @property
    def attention_tensor(self) -> int:
        """Devices over which one attention layer is spread."""
        return self.tensor // self.attention_data

    @property
    def devices(self) -> int:
        """Devices of one copy."""
        return self.tensor * self.pipeline


@dataclass(frozen=True)
class Stages:
    """How pipeline stages share `layers` layers: as evenly as whole layers allow."""

    layers: int
    pipeline: int

    @property
    def of_layer(self) -> npt.NDArray[np.int64]:
        """Stage of each layer [layer]."""
        n = max(self.layers, 1)
        return np.minimum(np.arange(n) * self.pipeline // n, self.pipeline - 1)

    def count(self, name: str, layers: tuple[int, ...], outer: int) -> Array:
        """How many of `layers` fall on each stage [stage]; what stands outside the layers goes to stage `outer`.

        name  checkpoint path, in which `{i}` stands for the layer's number
        """
        stages = np.zeros(self.pipeline)
        if "{i}" not in name:
            stages[outer] = len(layers)
        else:
            at = self.of_layer
            np.add.at(stages, at[np.clip(np.array(layers), 0, len(at) - 1)], 1.0)
        return stages


def share(units: npt.ArrayLike, pieces: npt.ArrayLike) -> Array:
    """Part of a tensor that the fullest device holds when `units` indivisible pieces are dealt to `pieces` devices.

    One unit is replicated: 8 KV heads on 16 devices leave 1/8 on each, not 1/16.
    """
    u = np.maximum(np.asarray(units, float), 1.0)
    return np.asarray(np.ceil(u / np.asarray(pieces, float)) / u)
