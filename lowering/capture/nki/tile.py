"""A view of a storage, as both API generations hand it around: shape, strides and offset in elements.

Gives Tile with the view algebra that needs no generation's rules.  NkiTensor (new API) and Tensor (Beta-1) derive.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Self

from lowering.capture.nki.dtypes import DType, size_of
from lowering.capture.nki.trace import ON_CHIP, Indirect, NkiStorage, View
from lowering.capture.nki.tracer import current, here
from lowering.capture.trace import TensorRef
from lowering.errors import UsageError


class Tile:
    """``shape``, ``strides``: tuples of the same length; ``indirect``: where other data choose the elements."""

    def __init__(
        self,
        storage: NkiStorage,
        shape: Sequence[int],
        strides: Sequence[int],
        offset: int = 0,
        dtype: str | None = None,
        indirect: Indirect | None = None,
    ) -> None:
        self.storage, self.shape, self.strides = storage, tuple(shape), tuple(strides)
        self.offset, self._dtype, self._indirect = offset, dtype or storage.dtype, indirect

    @classmethod
    def whole(cls, storage: NkiStorage) -> Self:
        return cls(storage, storage.shape, dense(storage.shape))

    @classmethod
    def new(cls, space: str, shape: Sequence[int], dtype: str, **more: Any) -> Self:
        """A tile over memory of its own."""
        return cls.whole(current().storage(space, dtype, shape, **more))

    @property
    def dtype(self) -> DType:
        return DType(self._dtype)

    @property
    def dtype_name(self) -> str:
        """The dtype as a plain word."""
        return self._dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def itemsize(self) -> int:
        return size_of(self._dtype)

    @property
    def name(self) -> str:
        return self.storage.name

    @property
    def on_chip(self) -> bool:
        return self.storage.space in ON_CHIP

    @property
    def ref(self) -> TensorRef:
        return TensorRef(self.storage.id, self._dtype, self.shape, self.strides, self.offset)

    @property
    def view_of(self) -> View:
        """What an instruction records."""
        return self._indirect or self.ref

    @property
    def partitions(self) -> int:
        return self.shape[0] if self.shape else 1

    @property
    def free(self) -> int:
        """Elements per partition."""
        return prod(self.shape[1:])

    def remade(self, shape: Sequence[int], strides: Sequence[int], offset: int | None = None, dtype: str = "") -> Self:
        """Another view of the same storage."""
        at = self.offset if offset is None else offset
        return type(self)(self.storage, shape, strides, at, dtype or self._dtype)

    def reshaped(self, shape: Sequence[int]) -> Self:
        """The same elements in row-major order under another shape, where that is a view; a usage error otherwise."""
        wanted = _without_minus_one(tuple(int(n) for n in shape), self.size)
        strides = _strides_of_reshape(self.shape, self.strides, wanted)
        if prod(wanted) != self.size or strides is None:
            raise UsageError(f"{here()}: a view of shape {self.shape}, strides {self.strides} has no view {wanted}")
        return self.remade(wanted, strides)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name or self.storage.space}, {self._dtype}{list(self.shape)})"

    def __bool__(self) -> bool:
        raise UsageError(f"{here()}: a tensor is no truth value while a kernel is traced: its data are on the device")


def dense(shape: Sequence[int]) -> tuple[int, ...]:
    """Row-major strides."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def _without_minus_one(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    if shape.count(-1) != 1:
        return shape
    known = prod(n for n in shape if n != -1)
    return tuple(size // max(known, 1) if n == -1 else n for n in shape)


def _strides_of_reshape(shape: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> tuple[int, ...] | None:
    """Strides of ``wanted`` over the same memory; None where it is no view."""
    runs: list[list[int]] = []  # [extent, stride of its last element] of maximal runs that are dense within
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == stride * extent:
            runs[-1] = [runs[-1][0] * extent, stride]
        else:
            runs.append([extent, stride])
    made: list[int] = []
    for extent in reversed(wanted):
        if extent == 1:
            made.append(made[-1] if made else 1)
            continue
        if not runs or runs[-1][0] % extent:
            return None
        made.append(runs[-1][1])
        runs[-1] = [runs[-1][0] // extent, runs[-1][1] * extent]
        if runs[-1][0] == 1:
            runs.pop()
    return tuple(reversed(made)) if not runs else None
