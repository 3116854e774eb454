"""What tracing an NKI kernel hands to lowering and to the checks: one run as instructions over storages, plain data.

Takes nothing; gives NkiTrace and its parts.  Names of operations are those of KLR's core operators in snake case
(leanprover/KLR, KLR/Core/Operators.lean).  Every loop is unrolled and every index is a number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from lowering.capture.trace import TensorRef
from lowering.errors import UNKNOWN_SPAN, Span

HBM, SHARED_HBM, SBUF, PSUM = "hbm", "shared_hbm", "sbuf", "psum"
ON_CHIP = frozenset([SBUF, PSUM])
ENGINES = ("pe", "dve", "act", "pool", "dma", "sp")
BETA1, NEW = "beta1", "new"
TARGETS = {"trn1": "gen2", "inf2": "gen2", "trn2": "gen3", "trn3": "gen4", "gen2": "gen2", "gen3": "gen3",
           "gen4": "gen4"}  # fmt: skip


@dataclass(slots=True)
class NkiStorage:
    """Flat memory, addressed in elements of ``dtype``; on chip, element (p, f) lies at p * (free size) + f.

    ``origin``: 'input' | 'empty' (contents undefined) | 'data' (``data`` holds the values).  ``pinned``: the place
    that the source gives it (partition, byte within the partition); None where the compiler chooses.  ``blocks``: on
    chip, how many dimensions come before the partitions (Beta-1): one tile lies behind the other.  ``core``: whose
    memory it is in, on chip.  ``pins``: the places of its tiles, where it has blocks and the source places them.
    """

    id: int
    space: str
    dtype: str
    shape: tuple[int, ...]
    origin: str = "empty"
    data: np.ndarray | None = None
    name: str = ""
    pinned: tuple[int, int] | None = None
    span: Span = UNKNOWN_SPAN
    blocks: int = 0
    core: int = 0
    pins: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Indirect:
    """Elements that ``index`` chooses; the view has base's shape, and addresses count elements of base's dtype.

    ``kind`` 'vector': base.strides[dim] is what one of the index moves; element i lies at base.offset + index[i[dim]] *
    base.strides[dim] + the sum over the other dimensions of i[d] * base.strides[d]; an index at ``step`` (where it is
    not 0) or above, or below 0, is out of bounds.  'scalar': index is one number; base's address + index * ``step``.
    'free': in the partitions of a group from g, of ``step`` partitions, element j of dimension 1 is that at place
    index[g + j % step, j // step].
    """

    base: TensorRef
    index: TensorRef
    dim: int
    kind: str = "vector"
    step: int = 0


View = TensorRef | Indirect
Operand = TensorRef | Indirect | float | int | None


@dataclass(frozen=True, slots=True)
class Loop:
    """One turn of a loop: ``kind`` is the range helper's name, ``id`` the loop's number, ``turn`` its value there."""

    kind: str
    id: int
    turn: int


@dataclass(frozen=True, slots=True)
class Instr:
    """One instruction.  ``op``: 'nc_mat_mul', 'tensor_tensor', ...; its attributes are listed in docs/nki.md.

    ``mask``: bool array of dst[0]'s shape (Beta-1): elements where it is False are not written.  ``attrs`` hold plain
    values: numbers, words, tuples.  nc_mat_mul carries ``accumulate`` resolved: False overwrites, True adds, and a
    bool array of dst's shape where the two are mixed (first write of a location against later ones).
    """

    op: str
    dst: tuple[View, ...]
    src: tuple[Operand, ...]
    attrs: dict[str, Any]
    engine: str
    mask: np.ndarray | None = None
    span: Span = UNKNOWN_SPAN
    loops: tuple[Loop, ...] = ()
    core: int = 0


@dataclass(slots=True)
class NkiTrace:
    """One run of a kernel.  ``inputs``/``outputs``: (name, TensorRef) in HBM, as in HostTrace.

    ``generation``: BETA1 or NEW.  ``assumed``: names of model parameters that the run depends on (docs/nki.md).
    """

    kernel: str
    generation: str
    target: str = "gen3"
    version: str = "0.6"
    storages: dict[int, NkiStorage] = field(default_factory=dict)
    instrs: list[Instr] = field(default_factory=list)
    inputs: list[tuple[str, TensorRef]] = field(default_factory=list)
    outputs: list[tuple[str, TensorRef]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    assumed: dict[str, None] = field(default_factory=dict)
    checks_shapes: bool = True
