"""What a Beta-1 tensor remembers: which instructions made it, and the place that a block shares with others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowering.capture.nki.masks_beta1 import Box
from lowering.capture.nki.trace import Instr
from lowering.capture.nki.tracer import current
from lowering.capture.trace import TensorRef


@dataclass(slots=True)
class Made:
    """The instructions that wrote a tile, at the end of the trace so far, and the box that each wrote.

    ``movable``: they may be given another destination.  ``at``: how many instructions there were then.
    """

    instrs: list[tuple[Instr, Box]]
    movable: bool = True
    at: int = field(default_factory=lambda: len(current().trace.instrs))


@dataclass(slots=True)
class Sharing:
    """``tiles``: the number of each block's tile.  ``blocks``: the blocks' own.  ``owners``: who wrote a tile last."""

    tiles: np.ndarray
    blocks: np.ndarray
    owners: dict[int, int]

    def at(self, taken: tuple[Any, ...]) -> Sharing:
        return Sharing(self.tiles[taken], self.blocks[taken], self.owners)


@dataclass(frozen=True, slots=True)
class Place:
    """The tile ``number``, for one of the blocks that share it; ``tile``: all of it."""

    owners: dict[int, int]
    number: int
    block: int
    tile: TensorRef
