"""NkiTensor: the views of the new API (NKI.md §1.4).  No view moves data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from lowering.capture.nki.tile import Tile
from lowering.capture.nki.tracer import here
from lowering.errors import UsageError


class NkiTensor(Tile):
    """A view with the methods of NKI 0.5 and later."""

    @property
    def buffer(self) -> str:
        return self.storage.space

    def __getitem__(self, key: Any) -> Self:
        """numpy's basic indexing; on chip an int on dimension 0 keeps it, at extent 1."""
        keys = _filled(key if isinstance(key, tuple) else (key,), self.ndim)
        shape, strides, offset = [], [], self.offset
        for dim, (one, extent, stride) in enumerate(zip(keys, self.shape, self.strides, strict=True)):
            if isinstance(one, slice):
                start, stop, step = one.indices(extent)
                if one.stop is not None and int(one.stop) > extent:
                    raise UsageError(f"{here()}: {one.start}:{one.stop} is out of bounds of dimension {dim}, {extent}")
                shape.append(max(0, -(-(stop - start) // step)))
                strides.append(stride * step)
                offset += start * stride
                continue
            place = int(one)
            if not -extent <= place < extent:
                raise UsageError(f"{here()}: index {place} is out of bounds of dimension {dim}, {extent}")
            offset += place % extent * stride
            if self.on_chip and dim == 0:
                shape.append(1)
                strides.append(stride)
        if not shape or (self.on_chip and len(shape) < 2):
            shape, strides = [*shape, 1], [*strides, 1]
        if 0 in shape:
            raise UsageError(f"{here()}: {key} takes no element of a tensor of shape {self.shape}")
        return self.remade(shape, strides, offset)

    def reshape(self, shape: Sequence[int]) -> Self:
        return self.reshaped(shape)


def _filled(keys: tuple[Any, ...], rank: int) -> list[Any]:
    """Ellipsis and missing dimensions as whole slices."""
    if sum(key is Ellipsis for key in keys) > 1 or len(keys) - (Ellipsis in keys) > rank:
        raise UsageError(f"{here()}: {len(keys)} indices of a tensor of {rank} dimensions")
    if Ellipsis not in keys:
        keys = (*keys, Ellipsis)
    at = keys.index(Ellipsis)
    return [*keys[:at], *[slice(None)] * (rank - len(keys) + 1), *keys[at + 1 :]]
