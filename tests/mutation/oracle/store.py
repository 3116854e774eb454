"""The oracle's memory: buffers of elements at virtual addresses; undefined cells hold the run's fill.

Takes addresses; gives and takes numpy arrays.  Remembers stores and loads out of bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from lowering.ir.types import DType
from tests.mutation.oracle.arithmetic import Arithmetic, CannotTell

Array = np.ndarray
SHIFT = 42


@dataclass(slots=True)
class Buffer:
    nbytes: int
    dtype: DType | None = None
    cells: Array | None = None


@dataclass(slots=True)
class Store:
    """``fill`` is what undefined lanes hold; ``strayed`` counts lanes out of bounds, by 'load' and 'store'."""

    arithmetic: Arithmetic
    fill: float
    buffers: list[Buffer] = field(default_factory=list)
    strayed: dict[str, int] = field(default_factory=lambda: {"load": 0, "store": 0})

    def alloc(self, nbytes: int) -> Array:
        self.buffers.append(Buffer(nbytes))
        return np.array(len(self.buffers) << SHIFT, np.int64)

    def undefined(self, dt: DType, shape: tuple[int, ...]) -> Array:
        if dt.is_float:
            return self.arithmetic.hold(np.full(shape, self.fill))
        return np.full(shape, int(abs(self.fill)) & 0x3F).astype(dt.numpy)

    def buffer(self, number: int, dt: DType) -> Buffer:
        if not 0 < number <= len(self.buffers):
            raise CannotTell("an address in no buffer")
        buffer = self.buffers[number - 1]
        if buffer.dtype is None:
            buffer.dtype, buffer.cells = dt, self.undefined(dt, (buffer.nbytes // dt.nbytes,))
        if buffer.dtype.nbytes != dt.nbytes or buffer.dtype.is_float != dt.is_float:
            raise CannotTell(f"a buffer of {buffer.dtype} seen as {dt}")
        return buffer

    def locate(self, address: Array, wanted: Array, dt: DType, what: str) -> list[tuple[Buffer, Array, Array]]:
        """(buffer, element positions, lanes in bounds) for each buffer that wanted lanes point into."""
        found = []
        for number in np.unique(address[wanted] >> SHIFT):
            lanes = wanted & (address >> SHIFT == number)
            buffer = self.buffer(int(number), dt)
            offset = address - (int(number) << SHIFT)
            if (offset[lanes] % dt.nbytes).any():
                raise CannotTell("a misaligned address")
            position = offset // dt.nbytes
            inside = lanes & (position >= 0) & (position < buffer.nbytes // dt.nbytes)
            self.strayed[what] += int((lanes & ~inside).sum())
            found.append((buffer, position, inside))
        return found

    def load(self, address: Array, wanted: Array, dt: DType, other: Array | None) -> Array:
        result = np.array(self.undefined(dt, address.shape) if other is None else np.broadcast_to(other, address.shape))
        if (wanted & (address >> SHIFT <= 0)).any():
            raise CannotTell("an address in no buffer")
        if other is not None:
            result = np.where(wanted, self.undefined(dt, address.shape), result)
        for buffer, position, inside in self.locate(address, wanted, dt, "load"):
            assert buffer.cells is not None
            result[inside] = buffer.cells[position[inside]].astype(result.dtype)
        return result

    def store(self, address: Array, value: Array, wanted: Array, dt: DType) -> None:
        for buffer, position, inside in self.locate(address, wanted, dt, "store"):
            assert buffer.cells is not None
            buffer.cells[position[inside]] = np.broadcast_to(value, address.shape)[inside].astype(buffer.cells.dtype)

    def view(self, address: Array, dt: DType, shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Array:
        """The element addresses of a strided host view."""
        index = np.full(shape, offset, np.int64)
        for d, (extent, stride) in enumerate(zip(shape, strides, strict=True)):
            index = index + np.arange(extent).reshape([-1 if k == d else 1 for k in range(len(shape))]) * stride
        return int(address) + index * dt.nbytes
