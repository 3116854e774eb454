"""An instruction that writes where it reads: the same elements in the same order, or a hazard.

Takes a trace; gives findings.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from lowering.capture.nki.dtypes import size_of
from lowering.capture.nki.trace import Instr, NkiTrace
from lowering.capture.nki.tracer import addresses
from lowering.capture.trace import TensorRef
from lowering.legality.finding import Finding
from lowering.legality.history import History
from lowering.legality.places import dims, lowest_highest, named

#: these read an element for a later place than the one they write
_MOVES = frozenset(["transpose", "dma_transpose", "shuffle", "nc_local_gather", "nc_n_gather"])
#: these write a partition's result when they have read all of it
_FOLDS = frozenset(["tensor_reduce", "max8", "batch_norm_stats", "batch_norm_aggregate"])


def overlaps(trace: NkiTrace) -> Iterator[Finding]:
    """Every destination against every source."""
    history = History(trace)
    for instr in trace.instrs:
        for dst in instr.dst:
            for src in instr.src:
                if isinstance(dst, TensorRef) and isinstance(src, TensorRef):
                    yield from _pair(trace, instr, history, dst, src)


def _pair(trace: NkiTrace, instr: Instr, history: History, dst: TensorRef, src: TensorRef) -> Iterator[Finding]:
    if not (history.reaches(dst) and history.reaches(src)):
        return
    to, of = history.placed(dst), history.placed(src)
    if to.storage != of.storage or (identical(to, of) and instr.op not in _MOVES) or not meet(to, of):
        return
    lane = of.shape[0] == np.prod(of.shape) < np.prod(to.shape)  # one element per partition: read before the rest
    kept = lane or instr.op in _FOLDS
    said = f"{instr.op} writes {named(trace, dst)} while it reads {named(trace, src)} of the same memory"
    yield Finding("nki-overlap", said, instr.span, "warning" if kept else "error")


def identical(a: TensorRef, b: TensorRef) -> bool:
    """The same elements in the same order."""
    same = a.storage == b.storage and a.offset == b.offset and size_of(a.dtype) == size_of(b.dtype)
    return same and dims(a) == dims(b)


def meet(a: TensorRef, b: TensorRef) -> bool:
    """Whether two views of one storage have a byte in common."""
    (low_a, high_a), (low_b, high_b) = _bytes(a), _bytes(b)
    if high_a < low_b or high_b < low_a:
        return False
    return bool(np.intersect1d(_places(a), _places(b)).size)


def _bytes(ref: TensorRef) -> tuple[int, int]:
    low, high = lowest_highest(ref)
    return low * size_of(ref.dtype), (high + 1) * size_of(ref.dtype) - 1


def _places(ref: TensorRef) -> np.ndarray:
    size = size_of(ref.dtype)
    return (addresses(ref).reshape(-1, 1) * size + np.arange(size)).reshape(-1)
