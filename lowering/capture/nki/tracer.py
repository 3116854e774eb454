"""Collects a trace: storages, instructions with their user's line and loop turns, first writes of PSUM.

``current()`` is the tracer of the kernel that runs.  The two API generations record through it alike.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import count, islice
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from lowering.capture.nki.psum_written import Written, elements
from lowering.capture.nki.shared_hbm import Instance, SharedHbm
from lowering.capture.nki.trace import (
    NEW,
    ON_CHIP,
    SHARED_HBM,
    Indirect,
    Instr,
    Loop,
    NkiStorage,
    NkiTrace,
    Operand,
    View,
)
from lowering.capture.trace import TensorRef
from lowering.capture.user_frames import is_user_file
from lowering.errors import UNKNOWN_SPAN, Span, Unsupported, UsageError

_ACTIVE: list[Tracer] = []
_PACKAGE = str(Path(__file__).parent)


def current() -> Tracer:
    """The tracer of the running kernel; a usage error outside of one."""
    if not _ACTIVE:
        raise UsageError(f"{here()}: an nki instruction is called outside of a kernel")
    return _ACTIVE[-1]


def active() -> bool:
    return bool(_ACTIVE)


_columns: dict[tuple[CodeType, int], int] = {}


def here() -> Span:
    """The innermost line of the user's that is running."""
    frame = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE) and is_user_file(code.co_filename):
            key = code, frame.f_lasti
            if key not in _columns:
                position = next(islice(code.co_positions(), frame.f_lasti // 2, None), None)
                _columns[key] = (position[2] or 0) + 1 if position else 0
            return Span(code.co_filename, frame.f_lineno, _columns[key], code.co_name)
        frame = frame.f_back
    return UNKNOWN_SPAN


class Tracer:
    """One kernel run in progress."""

    def __init__(self, trace: NkiTrace) -> None:
        self.trace = trace
        self.loops: list[Loop] = []
        self.core = 0
        self.cores: Any = None  # Cores of the running launch, where there are several
        self.grid: tuple[int, ...] = ()
        self.place: tuple[int, ...] = ()
        self.inside = 0  # kernels that are running, one in the other
        self.shared, self.instance = SharedHbm(), Instance()  # of a grid, and what the running instance made of it
        self.held: dict[Any, Any] = {}  # accumulators of Beta-1's loop_reduce
        self.made_in: dict[int, tuple[Loop, ...]] = {}  # the turns in which storages were made
        self.backwards = False  # Beta-1: the turns of loops whose body is traced once
        self.cleared: set[int] = set()  # Beta-1: PSUM storages that nl.zeros has made
        self._ids, self._loop_ids = count(), count()
        self._written = Written()

    def __enter__(self) -> Tracer:
        _ACTIVE.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        _ACTIVE.pop()

    # -- memory --------------------------------------------------------------------------------------------------

    def storage(self, space: str, dtype: str, shape: Sequence[int], **more: Any) -> NkiStorage:
        """A new storage; ``more``: origin, data, name, pinned."""
        extents = tuple(int(n) for n in shape)
        if any(n <= 0 for n in extents):
            raise UsageError(f"{here()}: a tensor of shape {extents}: every extent has to be positive")
        if space == SHARED_HBM and self.grid:
            return self._shared(dtype, extents, more)
        return self._new(space, dtype, extents, more)

    def _shared(self, dtype: str, extents: tuple[int, ...], more: dict[str, Any]) -> NkiStorage:
        """Every instance of a grid has the same shared HBM."""
        span = here()
        key, made = self.shared.known(self.instance, span, self.loops)
        if made is None:
            made = self.shared.tensors[key] = self._new(SHARED_HBM, dtype, extents, more)
        if (made.dtype, made.shape) != (dtype, extents):
            raise UsageError(
                f"{span}: shared HBM {extents} in {dtype} where the grid's first instance has {made.shape}"
            )
        return made

    def instance_ends(self) -> None:
        """One instance of the running grid has come to its end."""
        unclear = self.shared.unclear(self.instance)
        if unclear is not None:
            said = f"shared HBM that some instances of a grid do not make (the first has that of {unclear.span})"
            raise Unsupported(f"{said}, which is not modelled yet", unclear.span)

    def _new(self, space: str, dtype: str, extents: tuple[int, ...], more: dict[str, Any]) -> NkiStorage:
        core = self.core if space in ON_CHIP else 0
        made = NkiStorage(next(self._ids), space, dtype, extents, span=here(), core=core, **more)
        self.made_in[made.id] = tuple(self.loops)
        self.trace.storages[made.id] = made
        return made

    # -- instructions --------------------------------------------------------------------------------------------

    def emit(
        self,
        instruction: str,
        dst: Sequence[View],
        src: Sequence[Operand],
        engine: str,
        mask: np.ndarray | None = None,
        /,
        **attrs: Any,
    ) -> Instr:
        """Records one instruction at the user's line; ``attrs`` may have an ``op`` of their own."""
        made = Instr(instruction, tuple(dst), tuple(src), attrs, engine, mask, here(), tuple(self.loops), self.core)
        self.trace.instrs.append(made)
        return made

    def accumulates(self, dst: TensorRef, asked: bool | None, mask: np.ndarray | None = None) -> bool | np.ndarray:
        """The accumulate flag of a matmul: as asked, else False at the first write of a location and True later."""
        seen = self._window(dst)
        before = elements(seen, dst.shape)
        seen[... if mask is None else mask] = True
        if asked is not None:
            return bool(asked)
        return bool(before.flat[0]) if before.all() or not before.any() else before

    def _window(self, dst: TensorRef) -> np.ndarray:
        """Which elements of a view a matmul has written (psum_written.Written.window)."""
        storage = self.trace.storages[dst.storage]
        if dst.dtype != storage.dtype:
            raise unmodelled(f"a product that is written to a {storage.dtype} tile as {dst.dtype}")
        found = self._written.window(storage, dst, self.trace.generation == NEW)
        if found is None:
            raise UsageError(f"{here()}: a product is written beyond its tile of shape {storage.shape}, or beyond PSUM")
        return found

    def mark(self, dst: TensorRef, written: bool) -> None:
        """Beta-1: what an instruction other than a matmul left in PSUM is added to; zeros are not."""
        self._window(dst)[...] = written

    # -- loops ---------------------------------------------------------------------------------------------------

    def turns(self, kind: str, *bounds: int) -> Iterator[int]:
        """A range helper: yields every turn, and notes which one is running."""
        number = next(self._loop_ids)
        depth = len(self.loops)
        turns = range(*(int(bound) for bound in bounds))
        for turn in reversed(turns) if self.backwards and kind in ("affine_range", "sequential_range") else turns:
            self.loops[depth:] = [Loop(kind, number, turn)]
            yield turn
        del self.loops[depth:]


def addresses(ref: TensorRef) -> np.ndarray:
    """Elements of the storage that the view reaches, in its shape."""
    places = np.array(ref.offset)
    for stride, extent in zip(ref.strides, ref.shape, strict=True):
        places = places[..., None] + stride * np.arange(extent)
    return places


def unmodelled(name: str, hint: str = "") -> Unsupported:
    """'not modelled yet: nisa.X at file:line'."""
    return Unsupported(f"{name}, which is not modelled yet", here(), hint)


def plain(view: View) -> TensorRef:
    """A view without indices; raises Unsupported otherwise."""
    if isinstance(view, Indirect):
        raise unmodelled("an indirect access pattern here")
    return view
