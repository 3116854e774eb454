"""Whether cores that run at the same time touch the same elements of HBM, one of them writing.

Takes the instructions between two meetings of the cores; raises a usage error for what the hardware leaves open.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

import numpy as np

from lowering.capture.nki.trace import ON_CHIP, Indirect, Instr, NkiStorage, View
from lowering.capture.nki.tracer import addresses
from lowering.capture.trace import TensorRef
from lowering.errors import UsageError


def look_for_races(instrs: Sequence[Instr], storages: dict[int, NkiStorage]) -> None:
    """A usage error where one core reads or writes what another writes in ``instrs``, with nothing between them."""
    instrs = [instr for instr in instrs if instr.op != "core_barrier"]  # it names a tensor, and does not read it
    written = _touched(((i, view) for i in instrs for view in i.dst), storages)
    read = _touched(((i, v) for i in instrs for v in i.src if isinstance(v, TensorRef | Indirect)), storages)
    for storage in {storage for storage, _ in written}:
        cores = sorted({core for s, core in [*written, *read] if s == storage})
        for core in cores:
            for other in cores:
                if core == other or (storage, core) not in written:
                    continue
                for verb, found in (("reads", read), ("writes", written)):
                    _differ(written[storage, core], found.get((storage, other)), verb, core, other)


class _Touched:
    """Elements of one storage that one core touches: ``first`` is 1 + the number of the instruction that was first."""

    def __init__(self, size: int) -> None:
        self.first = np.zeros(size, np.int64)
        self.instrs: list[Instr] = []

    def add(self, instr: Instr, places: np.ndarray) -> None:
        self.instrs.append(instr)
        fresh = places[self.first[places] == 0]
        self.first[fresh] = len(self.instrs)


def _touched(views: Iterable[tuple[Instr, View]], storages: dict[int, NkiStorage]) -> dict[tuple[int, int], _Touched]:
    found: dict[tuple[int, int], _Touched] = {}
    for instr, view in views:
        base = view.base if isinstance(view, Indirect) else view
        storage = storages[base.storage]
        if storage.space in ON_CHIP or "hbm" not in storage.space:
            continue
        key = (base.storage, instr.core)
        if key not in found:
            found[key] = _Touched(prod(storage.shape))
        plain = not isinstance(view, Indirect) and base.dtype == storage.dtype
        places = addresses(base).ravel() if plain else np.arange(prod(storage.shape))
        found[key].add(instr, places)
    return found


def _differ(writes: _Touched, other: _Touched | None, verb: str, core: int, reader: int) -> None:
    if other is None:
        return
    both = np.flatnonzero((writes.first != 0) & (other.first != 0))
    if not both.size:
        return
    one = writes.instrs[int(writes.first[both[0]]) - 1]
    two = other.instrs[int(other.first[both[0]]) - 1]
    said = f"{two.span}: core {reader} {verb} elements that core {core} writes at {one.span}"
    raise UsageError(f"{said}, and no barrier is between the two: which comes first is open")
