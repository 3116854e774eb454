"""An output's data and planes at its own shape, without the batch axis.  Must not know what a plane means."""

from __future__ import annotations

import numpy as np

from equivalence.evaluator import Lanes

Array = np.ndarray


def plane(lanes: Lanes, name: str, default: float = 0.0) -> Array:
    """The plane called ``name``; ``default`` everywhere where no interpretation made it."""
    planes = lanes.planes or {}
    if name not in planes:
        return np.full(lanes.shape, default)
    return np.broadcast_to(planes[name], (planes[name].shape[0], *lanes.shape))[0]


def value(lanes: Lanes) -> Array:
    return lanes.full(lanes.data)[0]
