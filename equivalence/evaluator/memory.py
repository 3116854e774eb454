"""Flat buffers at virtual addresses, holding lanes (data and planes) by element.

Gives Memory: alloc, read and write through host views, gather and scatter by address.  A buffer's element size is set
by its first write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator.buffers import GAP, Access, Buffer, Visits
from equivalence.evaluator.fences import Fences
from equivalence.evaluator.lanes import NONE, SOME, Atoms, Lanes
from lowering.errors import UNKNOWN_SPAN, InternalError, Span, Unsupported
from lowering.ir.types import DType

_NEAR = 1 << 36  # bytes below a buffer that count as its own: an offset that wrapped, not a null pointer
MakeUndefined = Callable[[DType, tuple[int, ...]], Lanes]


def _at(cells: np.ndarray, position: np.ndarray, size: int) -> np.ndarray:
    """Elements by position; of a uniform plane the one that there is."""
    if cells.size == 1 < size:
        return cells.reshape((1,) * position.ndim)
    return cells.take(position, mode="clip")


def row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Whether the strides are those of a contiguous array."""
    step = 1
    for extent, stride in zip(reversed(shape), reversed(strides), strict=True):
        if extent != 1 and stride != step:
            return False
        step *= extent
    return True


def shared(lanes: Lanes) -> Lanes:
    """Equal uniform planes as one array: what is computed from them is then computed once."""
    known: dict[tuple[str, bytes], np.ndarray] = {}
    planes = {
        name: known.setdefault((plane.dtype.str, plane.tobytes()), plane) if plane.size == 1 else plane
        for name, plane in (lanes.planes or {}).items()
    }
    return lanes if lanes.planes is None else lanes.replace(planes=planes)


@dataclass(slots=True)
class Memory:
    """All buffers of one run.  ``undefined`` makes fresh undefined lanes."""

    undefined: MakeUndefined
    buffers: dict[int, Buffer] = field(default_factory=dict)
    visits: Visits = field(default_factory=Visits)
    fences: Fences = field(default_factory=Fences)  # of the running launch

    def alloc(self, nbytes: int, name: str) -> int:
        """The base address of a new buffer of undefined contents."""
        buffer = Buffer(name, nbytes, len(self.buffers) + 1)
        self.buffers[buffer.number] = buffer
        return buffer.base

    def at(self, address: int, span: Span = UNKNOWN_SPAN) -> Buffer:
        buffer = self.buffers.get(address >> GAP)
        if buffer is None:
            raise Unsupported("an address that points into no buffer", span)
        return buffer

    # -- cells ---------------------------------------------------------------------------------------------------

    def cells(self, buffer: Buffer, dt: DType, span: Span) -> Lanes:
        """The buffer as elements of ``dt``'s width; made undefined on first use."""
        if buffer.cells is None:
            buffer.cells = self._owned(self.undefined(dt, (buffer.nbytes // dt.nbytes,)))
        if buffer.cells.dtype.nbytes != dt.nbytes:
            if buffer.written:
                raise Unsupported(
                    f"{buffer.name} viewed as {buffer.cells.dtype} and as {dt}",
                    span,
                    "views of another element size are not modelled",
                )
            buffer.cells = self._owned(self.undefined(dt, (buffer.nbytes // dt.nbytes,)))
        if not buffer.written and buffer.cells.dtype is not dt:
            buffer.cells = self._owned(self.undefined(dt, (buffer.nbytes // dt.nbytes,)))
        return buffer.cells

    @staticmethod
    def _owned(lanes: Lanes) -> Lanes:
        """Arrays of our own; a uniform plane stays one element until something else is stored."""

        def own(a: np.ndarray) -> np.ndarray:
            fresh = a.shape == (1, *lanes.shape) and a.flags.owndata and a.flags.c_contiguous
            return a if fresh else np.array(np.broadcast_to(a, (1, *lanes.shape)))

        planes = {n: a.reshape(1, 1).copy() if a.size == 1 else own(a) for n, a in (lanes.planes or {}).items()}
        return lanes.replace(data=own(lanes.data), planes=planes)

    def stored_dtype(self, buffer: Buffer, dt: DType, span: Span = UNKNOWN_SPAN) -> DType:
        """The dtype that the buffer holds, for a value of ``dt`` about to be stored or loaded."""
        return self.cells(buffer, dt, span).dtype

    # -- host views ----------------------------------------------------------------------------------------------

    def read(self, buffer: Buffer, dt: DType, shape: Sequence[int], strides: Sequence[int], offset: int) -> Lanes:
        """A strided view as a value (a copy); the dtype is the stored one."""
        cells = self.cells(buffer, dt, UNKNOWN_SPAN)
        self._check_view(buffer, cells, shape, strides, offset)
        if not offset and row_major(shape, strides) and int(np.prod(shape)) == cells.data.size:
            buffer.borrowed = True
            return cells.map(lambda a: a.reshape((1, *shape) if a.size > 1 else (1,) * (len(shape) + 1)), tuple(shape))
        return cells.map(lambda a: self._view(a, shape, strides, offset).copy()[None], tuple(shape))

    def write(self, buffer: Buffer, value: Lanes, strides: Sequence[int], offset: int) -> None:
        cells = self.cells(buffer, value.dtype, UNKNOWN_SPAN)
        self._check_view(buffer, cells, value.shape, strides, offset)
        whole = value.data.size and int(np.prod(value.shape)) == cells.data.size
        cells = self._accept(buffer, value, whole=bool(whole))
        if whole and cells.planes is not None and value.planes is not None:
            uniform = {n: p.reshape(1, 1).copy() for n, p in value.planes.items() if p.size == 1}
            cells.planes = {**cells.planes, **uniform}
        for target, source in self._pairs(cells, value):
            self._view(target, value.shape, strides, offset)[...] = source[0] if source.shape[0] == 1 else source

    def adopt(self, buffer: Buffer, value: Lanes) -> None:
        """Fills a new buffer with the whole of ``value``, row by row."""
        shape, count = value.shape, int(np.prod(value.shape))

        def flat(a: np.ndarray) -> np.ndarray:
            return np.broadcast_to(a, (1, *shape)).reshape(1, count)

        if isinstance(value.planes, Atoms):
            planes = value.planes.reshaped(1, count)
        else:
            planes = {n: a.reshape(1, 1) if a.size == 1 else flat(a) for n, a in (value.planes or {}).items()}
        buffer.cells = Lanes(value.dtype, (count,), flat(value.data), planes)
        self._accept(buffer, value, whole=True)
        buffer.borrowed = True

    @staticmethod
    def _view(a: np.ndarray, shape: Sequence[int], strides: Sequence[int], offset: int) -> np.ndarray:
        if a.size == 1:
            return a.reshape((1,) * len(shape))
        flat = a.reshape(-1)
        step = flat.strides[0]  # 0 where one element stands for all of them
        flat = flat[offset:] if 0 not in shape else flat[:0]
        return np.lib.stride_tricks.as_strided(flat, tuple(shape), tuple(s * step for s in strides))

    @staticmethod
    def _check_view(buffer: Buffer, cells: Lanes, shape: Sequence[int], strides: Sequence[int], offset: int) -> None:
        last = offset + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if 0 not in shape and not (offset >= 0 and 0 <= last < cells.data.size):
            raise InternalError(f"view {tuple(shape)}+{offset} by {tuple(strides)} leaves {buffer.name}")

    @staticmethod
    def _pairs(cells: Lanes, value: Lanes) -> list[tuple[np.ndarray, np.ndarray]]:
        """(array of the cells, array of the value), without planes that are uniform and stay so."""
        assert isinstance(cells.planes, dict) and value.planes is not None
        pairs = [(cells.data, value.data)]
        for name, plane in cells.planes.items():
            source = value.planes[name]
            if plane.size == 1 and source.size == 1 and plane.reshape(-1)[0] == source.reshape(-1)[0]:
                continue
            if plane.size == 1 < cells.data.size:
                plane = cells.planes[name] = np.array(np.broadcast_to(plane, cells.data.shape))
            pairs.append((plane, source))
        return pairs

    def _accept(self, buffer: Buffer, value: Lanes, whole: bool) -> Lanes:
        """The buffer's cells with their static facts widened to hold ``value`` too."""
        old = buffer.cells
        assert old is not None
        if buffer.borrowed:
            planes = {name: plane.copy() for name, plane in (old.planes or {}).items()}
            old, buffer.borrowed = old.replace(data=old.data.copy(), planes=planes), False
        fresh = whole or not buffer.written
        buffer.cells = old.replace(
            taint=value.taint if fresh else max(old.taint, value.taint),
            freedoms=value.freedoms if fresh else old.freedoms | value.freedoms,
            literal=(value.literal if whole else NONE if value.literal == NONE else SOME)
            if fresh
            else (old.literal if old.literal == value.literal else SOME),
            product=False,
            fits=value.fits if fresh or old.fits is value.fits else None,
            weight=value.weight if fresh else max(old.weight, value.weight),
        )
        buffer.written = True
        return buffer.cells

    # -- by address ----------------------------------------------------------------------------------------------

    def resolve(self, address: np.ndarray, active: np.ndarray, dt: DType, span: Span) -> list[Access]:
        """Active lanes grouped by buffer; ``address`` and ``active`` have full extents."""
        if active.size and active.all():
            low, high = int(address.min()), int(address.max())
            if low >> GAP == high >> GAP:
                return [self._access(low >> GAP, address, active, dt, span, (low, high))]
        numbers = address >> GAP
        first = int(numbers[active][0]) if active.any() else 0
        if not first and not active.any():
            return []
        same = numbers == first
        if same[active].all():
            return [self._access(first, address, active, dt, span)]
        return [self._access(int(n), address, active & (numbers == n), dt, span) for n in np.unique(numbers[active])]

    def _access(
        self,
        number: int,
        address: np.ndarray,
        active: np.ndarray,
        dt: DType,
        span: Span,
        reach: tuple[int, int] | None = None,
    ) -> Access:
        """``reach``: the least and greatest address, where all lanes are active."""
        buffer = self.buffers.get(number) or self._just_above(number, address, active)
        if buffer is None:
            raise Unsupported("an address that points into no buffer", span)
        offset = address - buffer.base
        position = offset >> (dt.nbytes.bit_length() - 1)  # every size is a power of two
        if dt.nbytes > 1 and (((offset & (dt.nbytes - 1)) != 0) & active).any():
            raise Unsupported(f"a misaligned access to {buffer.name} as {dt}", span)
        count = buffer.nbytes // dt.nbytes
        if reach is not None and reach[0] >= buffer.base and reach[1] < buffer.base + count * dt.nbytes:
            return Access(buffer, position, active, whole=True)
        return Access(buffer, position, active & (position >= 0) & (position < count), wanted=active)

    def _just_above(self, number: int, address: np.ndarray, active: np.ndarray) -> Buffer | None:
        """The buffer that addresses below every buffer are meant for: a negative offset."""
        above = self.buffers.get(number + 1)
        near = above is not None and above.base - int(address[active].min()) < _NEAR
        return above if near else None

    def gather(self, access: Access, dt: DType, span: Span) -> Lanes:
        """The elements at ``access.position``; lanes not inside hold whatever is at a clipped place."""
        cells = self.cells(access.buffer, dt, span)
        shape = access.position.shape[1:]
        if isinstance(cells.planes, Atoms):
            position = access.position if access.whole else access.position.clip(0, cells.data.size - 1)
            data = cells.data.reshape(-1).take(position)
            return shared(cells.replace(data=data, planes=cells.planes.at(position), shape=shape))
        return shared(cells.map(lambda a: _at(a.reshape(-1), access.position, cells.data.size), shape))

    def scatter(self, access: Access, value: Lanes, span: Span, instance: np.ndarray | None) -> bool:
        """Stores the lanes inside; returns whether two lanes or instances put different values in one element."""
        buffer = access.buffer
        self.cells(buffer, value.dtype, span)
        cells = self._accept(buffer, value, whole=False)
        position = access.picked(access.position)
        foreign = self.visits.stamped(access, instance)
        read = self.visits.read_by_others(access, instance)
        foreign = read if foreign is None else foreign if read is None else foreign | read
        if instance is not None and buffer.number in self.visits.watched:
            crossed = self.fences.write(access, instance)
            foreign = crossed if foreign is None else foreign | crossed
        raced = False
        for target, source in self._pairs(cells, value):
            flat, lanes = target.reshape(-1), access.picked(source)
            if foreign is not None:
                old, new = flat[position[foreign]], lanes[foreign]
                raced |= bool(((old != new) & ((old == old) | (new == new))).any())
            flat[position] = lanes
            raced |= bool((flat[position] != lanes).any()) and lanes.dtype.kind == "u"  # words: NaN-free
        return raced


__all__ = ["Memory", "row_major"]
