"""Beta-1's index tiles, loop variables and masks, as concrete integers (NKI.md §1.4).

Gives ``arange``, ``mgrid``, ``par_dim``, Index (an integer array with affine arithmetic), LoopVar (an int that knows
its loop) and Mask (comparisons of these, joined with ``&``).  Knows nothing of tensors.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from itertools import count
from typing import Any, cast

import numpy as np

from lowering.capture.nki.assumptions import assume
from lowering.capture.nki.tracer import active, current, here
from lowering.capture.nki.truth_beta1 import asks_for_presence
from lowering.errors import UsageError


class ParDim(int):
    """The extent of a partition dimension: ``nl.par_dim(128)``."""


par_dim = ParDim


class Mask:
    """A conjunction of comparisons, each a bool array that broadcasts over the tile that it masks.

    ``origins``: for each comparison the numbers of the index tiles that it was made from.
    """

    def __init__(self, parts: list[np.ndarray], origins: list[frozenset[int]]) -> None:
        self.parts, self.origins = parts, origins

    def __and__(self, other: Any) -> Mask:
        if isinstance(other, Mask):
            return Mask([*self.parts, *other.parts], [*self.origins, *other.origins])
        if isinstance(other, bool | np.bool_):
            return Mask([*self.parts, np.array(bool(other))], [*self.origins, frozenset()])
        if other is None:
            return self
        raise UsageError(f"{here()}: a mask is joined with & to another mask, not to a {type(other).__name__}")

    __rand__ = __and__

    def __or__(self, other: Any) -> Mask:
        raise UsageError(f"{here()}: masks are joined with & only")

    __ror__ = __xor__ = __or__

    def __invert__(self) -> Mask:
        raise UsageError(f"{here()}: a mask is a conjunction of comparisons; it has no ~")

    def __bool__(self) -> bool:
        """The value of a comparison of loop variables; ``a if mask else b`` asks whether there is a mask."""
        if asks_for_presence():
            return True
        if any(part.ndim for part in self.parts):
            raise UsageError(f"{here()}: control flow that depends on nl.arange or nl.mgrid: mask= is for that")
        if active():
            note = f"{here()}: a condition on a loop variable counts as its value in each turn"
            if note not in current().trace.notes:
                current().trace.notes.append(note)
        return all(bool(part) for part in self.parts)

    def over(self, shape: tuple[int, ...]) -> np.ndarray:
        """The bool array of ``shape``; a usage error where a comparison does not broadcast to it."""
        return np.logical_and.reduce([self.part_over(part, shape) for part in self.parts])

    def part_over(self, part: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        try:
            return np.broadcast_to(part, shape)
        except ValueError:
            raise UsageError(f"{here()}: a mask of shape {part.shape} does not fit a tile of shape {shape}") from None


def broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...] | None:
    """numpy's common shape; None where there is none."""
    rank = max(map(len, shapes))
    made = [1] * rank
    for shape in shapes:
        for dim, extent in enumerate(shape, rank - len(shape)):
            if extent != 1:
                if made[dim] not in (1, extent):
                    return None
                made[dim] = extent
    return tuple(made)


class Index:
    """An integer array: the places that a tile takes along one dimension of a tensor.

    ``origins``: the numbers of the ``arange`` and ``mgrid`` tiles that it was made from.  ``grid``: the extents of
    the grids that these are of, which is the shape of a tile that the index itself fills (nisa.iota).
    """

    __array_priority__ = 100  # numpy integers on the left leave the operation to us

    def __init__(self, values: np.ndarray, origins: frozenset[int], grid: tuple[int, ...] | None = None) -> None:
        self._values: np.ndarray | None = values
        self.shape: tuple[int, ...] = values.shape
        self.origins, self.grid = origins, values.shape if grid is None else grid
        self._affine: tuple[int, tuple[int, ...]] | None = None
        self._looked = False

    @classmethod
    def stepping(
        cls, shape: tuple[int, ...], base: int, steps: tuple[int, ...], origins: frozenset[int], grid: tuple[int, ...]
    ) -> Index:
        """base + the sum of steps[d] * coordinate d, whose values are made when they are asked for."""
        made = cls.__new__(cls)
        made._values, made.shape, made.origins, made.grid = None, shape, origins, grid
        made._affine, made._looked = (base, steps), True
        return made

    @property
    def values(self) -> np.ndarray:
        if self._values is None:
            assert self._affine is not None
            self._values = _spanned(self.shape, *self._affine)
        return self._values

    def __getitem__(self, key: Any) -> Index:
        keys = key if isinstance(key, tuple) else (key,)
        for one in keys:
            if not (one is None or one is Ellipsis or (isinstance(one, slice) and one == slice(None))):
                raise UsageError(f"{here()}: an index tile takes new axes (None) and whole slices only, not {one!r}")
        return Index(self.values[key], self.origins)

    def affine(self) -> tuple[int, tuple[int, ...]]:
        """Its value at the origin and the step along each dimension; a usage error where it is not affine."""
        known = self.known()
        if known is None:
            raise UsageError(f"{here()}: this index is not affine in its index tiles (their sums and multiples are)")
        return known

    def known(self) -> tuple[int, tuple[int, ...]] | None:
        """As ``affine``; None where it is not."""
        if not self._looked:
            self._looked = True
            values = self.values
            base = int(values[(0,) * values.ndim])
            nexts = [tuple(int(d == dim) for d in range(values.ndim)) for dim in range(values.ndim)]
            steps = tuple(int(values[at]) - base if n > 1 else 0 for at, n in zip(nexts, values.shape, strict=True))
            if np.array_equal(_spanned(values.shape, base, steps), values):
                self._affine = base, steps
        return self._affine

    def _with(self, other: Any, name: str, swapped: bool = False) -> Any:
        if not isinstance(other, _INTEGERS):
            return NotImplemented
        theirs = other if isinstance(other, Index) else int(other)
        shape, grid = self.shape, self.grid
        if isinstance(theirs, Index):
            common, grids = broadcast(shape, theirs.shape), broadcast(grid, theirs.grid)
            if common is None or grids is None:
                raise UsageError(f"{here()}: index tiles of shapes {shape} and {theirs.shape} do not go together")
            shape, grid = common, grids
        origins = self.origins | _origins(theirs)
        combined = _combined(name, *((theirs, self) if swapped else (self, theirs)), len(shape))
        if combined is not None:
            return Index.stepping(shape, *combined, origins, grid)
        sides = _number(theirs), self.values
        return Index(getattr(operator, name)(*(sides if swapped else sides[::-1])), origins, grid)

    def __neg__(self) -> Index:
        return self._with(-1, "mul")

    def __repr__(self) -> str:
        return f"Index{list(self.shape)}"

    __hash__ = None  # type: ignore[assignment]


def _spanned(shape: tuple[int, ...], base: int, steps: tuple[int, ...]) -> np.ndarray:
    """The integers of an affine index."""
    total = np.array(base)
    for extent, step in zip(shape, steps, strict=True):
        total = total[..., None] + step * np.arange(extent)
    return total


def _combined(name: str, x: Index | int, y: Index | int, rank: int) -> tuple[int, tuple[int, ...]] | None:
    """Base and steps of a sum, a difference or a multiple of affine indices; None for everything else."""
    left, right = (side.known() if isinstance(side, Index) else (side, ()) for side in (x, y))
    if left is None or right is None:
        return None
    a, b = ((0,) * (rank - len(steps)) + tuple(steps) for _, steps in (left, right))
    if name in ("add", "sub"):
        sign = 1 if name == "add" else -1
        return left[0] + sign * right[0], tuple(i + sign * j for i, j in zip(a, b, strict=True))
    if name == "mul" and not (isinstance(x, Index) and isinstance(y, Index)):
        (base, _), steps, times = (left, a, right[0]) if isinstance(x, Index) else (right, b, left[0])
        return base * times, tuple(step * times for step in steps)
    return None


class LoopVar(int):
    """The variable of an affine or sequential range: an int; what is computed from it stays one, with its loop."""

    loop: int

    def __new__(cls, value: int, loop: int) -> LoopVar:
        made = super().__new__(cls, value)
        made.loop = loop
        return made

    def __hash__(self) -> int:
        return int.__hash__(self)


_INTEGERS = (int, np.integer, Index)
_COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")
_numbers = count()


def _origins(value: Any) -> frozenset[int]:
    return value.origins if isinstance(value, Index) else frozenset()


def _number(value: Any) -> Any:
    return value.values if isinstance(value, Index) else int(value)


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(operator, name)

    def compare(self: Any, other: Any) -> Any:
        if not isinstance(other, _INTEGERS):
            return NotImplemented
        try:
            part = np.asarray(function(_number(self), _number(other)))
        except ValueError:
            raise UsageError(f"{here()}: index tiles of these shapes do not compare") from None
        return Mask([part], [_origins(self) | _origins(other)])

    return compare


def _index_arithmetic(name: str, swapped: bool) -> Callable[[Any, Any], Any]:
    return lambda self, other: self._with(other, name, swapped)


def _loop_arithmetic(name: str) -> Callable[[Any, Any], Any]:
    function = getattr(int, name)

    def compute(self: LoopVar, other: Any) -> Any:
        result = function(self, other)
        return LoopVar(result, self.loop) if isinstance(result, int) else result

    return compute


for _name in _COMPARISONS:
    setattr(Index, f"__{_name}__", _comparison(_name))
    setattr(LoopVar, f"__{_name}__", _comparison(_name))
for _name in ("add", "sub", "mul", "floordiv", "mod"):
    setattr(Index, f"__{_name}__", _index_arithmetic(_name, False))
    setattr(Index, f"__r{_name}__", _index_arithmetic(_name, True))
    setattr(LoopVar, f"__{_name}__", _loop_arithmetic(f"__{_name}__"))
    setattr(LoopVar, f"__r{_name}__", _loop_arithmetic(f"__r{_name}__"))


def arange(*bounds: int) -> Index:
    """Consecutive integers, of one dimension."""
    return Index(np.arange(*(int(bound) for bound in bounds), dtype=np.int64), frozenset([next(_numbers)]))


class Grid(tuple):
    """What ``mgrid`` gives: one index tile for each dimension, also as .p .x .y .z .w."""

    def __getattr__(self, name: str) -> Index:
        if name in "pxyzw" and "pxyzw".index(name) < len(self):
            return cast("Index", self["pxyzw".index(name)])
        raise AttributeError(f"mgrid of {len(self)} dimensions has no .{name}")


class _MGrid:
    """``nl.mgrid[0:P, 0:F]``: each index tile has extent 1 in the dimensions of the others.

    The documentation calls it dense, as numpy's; kernels combine tiles of grids of different extents, and take a
    column by ``.p`` alone, which is what broadcasting of these gives.
    """

    def __getitem__(self, key: Any) -> Grid:
        slices = key if isinstance(key, tuple) else (key,)
        if not all(isinstance(one, slice) and one.stop is not None for one in slices):
            raise UsageError(f"{here()}: nl.mgrid takes slices start:stop, such as nl.mgrid[0:128, 0:512]")
        ranges = [np.arange(int(one.start or 0), int(one.stop), int(one.step or 1), dtype=np.int64) for one in slices]
        assume("beta1_mgrid")
        grid = tuple(len(values) for values in ranges)
        made = []
        for dim, values in enumerate(ranges):
            extents = [-1 if d == dim else 1 for d in range(len(slices))]
            made.append(Index(values.reshape(extents), frozenset([next(_numbers)]), grid))
        return Grid(made)


mgrid = _MGrid()
