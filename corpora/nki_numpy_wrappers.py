"""The functions of nki.language that return tiles, in numpy, for both generations: index tiles and masks of Beta-1 too.

A masked load leaves NaN where the mask is False, a masked reduction skips those places, a masked store leaves them.
Promotion is the generation's: in the new API the first operand's dtype, in Beta-1 f32 beside a Python float.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from nki_numpy import ACT, ALU, F32, Tensor, blank, filled, nc_matmul


class Tile(Tensor):
    """A tensor of Beta-1: index tiles choose elements, `+=` adds in place."""

    def view(self, change: Any) -> Tile:
        return Tile(change(self.data), change(self.written))

    def __getitem__(self, key: Any) -> Any:
        indices = key if isinstance(key, tuple) else (key,)
        return (
            Chosen(self.data, indices) if any(isinstance(k, np.ndarray) for k in indices) else super().__getitem__(key)
        )

    def __setitem__(self, key: Any, value: Tensor) -> None:
        self[key].put(value.data)

    def __iadd__(self, other: Tensor) -> Tile:
        self.put(self.wide + other.wide)
        return self


class Chosen:
    """Elements that index tiles choose; those outside of the tensor have to be masked."""

    def __init__(self, data: np.ndarray, indices: tuple[Any, ...]) -> None:
        self.data, self.dtype = data, data.dtype
        self.indices = np.broadcast_arrays(*indices)

    def places(self, mask: Any) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
        inside = np.broadcast_to(True if mask is None else mask, self.indices[0].shape)
        return inside, tuple(index[inside] for index in self.indices)


class Op(str):
    """A value of ``op=`` that is a function too."""

    beta1 = False

    def __call__(self, *operands: Any, dtype: Any = None, mask: Any = None) -> Tensor:
        first = next(x for x in operands if isinstance(x, Tensor))
        given = [x.wide if isinstance(x, Tensor) else F32(x) for x in operands]
        value = ALU[self](*given) if len(given) > 1 else ACT[self](given[0])
        wide = self.beta1 and any(isinstance(x, float) for x in operands)
        return made(value, dtype or (F32 if wide else first.dtype), type(first))


class Beta1(Op):
    beta1 = True


def made(value: np.ndarray, dtype: Any, kind: type[Tensor] = Tensor) -> Tensor:
    tile = kind(blank(value.shape, dtype).data)
    tile.put(value)
    return tile


def load(src: Any, mask: Any = None, dtype: Any = None) -> Tensor:
    if isinstance(src, Tensor):
        return made(src.read(), dtype or src.dtype, type(src))
    inside, places = src.places(mask)
    tile = Tile(blank(inside.shape, dtype or src.dtype).data)
    tile.data[inside] = src.data[places]
    return tile


def store(dst: Any, value: Tensor, mask: Any = None) -> None:
    if isinstance(dst, Tensor):
        return dst.put(value.wide if value.dtype != dst.dtype else value.data)
    inside, places = dst.places(mask)
    dst.data[places] = value.data[inside].astype(dst.dtype)
    return None


def reduction(function: Any, skipped: float) -> Any:
    def reduce(x: Tensor, axis: Any, keepdims: bool = False, mask: Any = None, dtype: Any = None) -> Tensor:
        kept = x.wide if mask is None else np.where(mask, x.wide, F32(skipped))
        value = function.reduce(kept, axis=tuple(axis) if isinstance(axis, list | tuple) else axis, keepdims=keepdims)
        return made(value, dtype or x.dtype, type(x))

    return reduce


def product(stationary: Tensor, moving: Tensor) -> Tensor:
    tile = Tile(blank((stationary.shape[1], moving.shape[1]), F32).data)
    nc_matmul(tile, stationary, moving)
    return tile


class Grid:
    """nl.mgrid[0:p, 0:x]."""

    def __getitem__(self, spans: tuple[slice, ...]) -> SimpleNamespace:
        return SimpleNamespace(**dict(zip("pxyzw", np.ix_(*[np.arange(s.start, s.stop) for s in spans]))))


def copied(x: Tensor, dtype: Any = None, mask: Any = None) -> Tensor:
    return made(x.data, dtype or x.dtype, type(x))


def as_tile(make: Any) -> Any:
    return lambda *args, **options: Tile(make(*args, **options).data)


SHARED = {"load": load, "store": store, "copy": copied}
NEW = {name: Op(name) for name in [*ALU, *ACT]} | SHARED | {
    "max": reduction(np.maximum, -np.inf), "sum": reduction(np.add, 0)
}  # fmt: skip
BETA1 = {name: Beta1(name) for name in [*ALU, *ACT]} | SHARED | {
    "max": reduction(np.maximum, -np.inf), "sum": reduction(np.add, 0), "arange": np.arange, "mgrid": Grid(),
    "ndarray": as_tile(blank), "zeros": as_tile(filled(0)),
}  # fmt: skip
ISA_BETA1 = {"nc_matmul": product}
