"""``t[...] = x`` in the new API: a copy into the view, as its published kernels use it.

Takes the view and what is assigned; records one instruction.  The documentation has no word on it (NKI.md §1.4), so
that every trace that relies on it says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.capture.nki.instructions_elementwise import copy, memset
from lowering.capture.nki.instructions_move import dma_copy
from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import current, here, unmodelled
from lowering.errors import UsageError

NOTE = "nki: t[...] = x copies x into that part of t (assumed: not documented)"


def assign(dst: Tile, value: Any) -> None:
    """By DMA where a side is in HBM, else by the Vector engine; a number fills a part of a tile on chip."""
    if NOTE not in current().trace.notes:
        current().trace.notes.append(NOTE)
    if isinstance(value, bool | int | float | np.generic):
        if not dst.on_chip:
            raise unmodelled("t[...] = a number, t in HBM", "write nisa.memset to a tile and nisa.dma_copy")
        return memset(dst, value)
    if not isinstance(value, Tile):
        raise UsageError(f"{here()}: t[...] = x takes a tile or a number, and not a {type(value).__name__}")
    if dst.size != value.size:
        raise UsageError(f"{here()}: t[...] = x: the part has shape {dst.shape}, x {value.shape}")
    if dst.on_chip and value.on_chip:
        return copy(dst, value, "dve")
    return dma_copy(dst, value)
