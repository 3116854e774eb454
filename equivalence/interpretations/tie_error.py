"""`error` where ties matter: decisions that no rounding can change are certain, and exact arithmetic costs nothing.

Three rules more than `Error` has.  An operation on exact operands whose result is exact has no error.  Lanes with
equal words of `ties` tie in every implementation.  A tie of two lanes that both programs compare, with the same
words, is one tie: whatever the roundings make of it, they make it on both sides.  So is a value at a step of a
rounding, or of a cast to integers, which both programs round, up or down, to even or away from zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.interpretations.base import Site, Sums
from equivalence.interpretations.error import Error, wide
from equivalence.interpretations.error_meaning import MeantError
from equivalence.interpretations.ties import Ties, along, ordered, winners, words_of
from equivalence.numerics.formats import format_of
from equivalence.numerics.granules import granule, held
from lowering.ir.types import DType

Array = np.ndarray
NO_KEYS = np.zeros(0, np.uint64)
#: f(x) that every implementation returns exactly: {function: (x, ...)}.
_FIXED = {"exp": 0.0, "exp2": 0.0, "log": 1.0, "log2": 1.0, "tanh": 0.0}
_COARSE = {"tf32": 11, "bf16": 8}


def _bits(dt: DType) -> int:
    return format_of(dt.name).p


def _normal(out: Lanes) -> Array:
    """Results that no flushing of subnormals changes."""
    return np.abs(wide(out)) >= format_of(out.dtype.name).smallest_normal


class TieError(MeantError):
    """``shared``: words of comparisons that both sides make; ``seen`` gathers those that tie, and are not certain."""

    def __init__(self, error: Error, ties: Ties, shared: Array = NO_KEYS) -> None:
        super().__init__({}, usual=False, target=error.target)
        self.distances = getattr(error, "distances", {})
        self.ties, self.shared = ties, shared
        self.seen: list[Array] = []

    # -- exact arithmetic ------------------------------------------------------------------------------------------

    def in_any_order(self, out: Lanes, sums: Sums) -> Planes:
        """Exact terms whose sums the format holds are added exactly in every order."""
        planes = super().in_any_order(out, sums)
        exact = held(sums.size, sums.step, _bits(out.dtype)) & (sums.passed["bound"] == 0)
        return {"bound": np.where(exact, 0.0, planes["bound"])}

    def op_add(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error = super().op_add(site, out, x, e, growth)
        if not out.dtype.is_float:
            return error
        step = np.minimum(granule(wide(x[0])), granule(wide(x[1])))
        return self._unless(held(np.abs(wide(out)), step, _bits(out.dtype)), e, error)

    op_sub = op_add

    def op_mul(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error = super().op_mul(site, out, x, e, growth)
        if not out.dtype.is_float:
            return error
        a, b = wide(x[0]), wide(x[1])
        exact = held(np.abs(wide(out)), granule(a) * granule(b), _bits(out.dtype)) & _normal(out)
        zero = ((a == 0) & (e[0] == 0) & np.isfinite(b + e[1])) | ((b == 0) & (e[1] == 0) & np.isfinite(a + e[0]))
        return np.where(zero, 0.0, self._unless(exact, e, error))

    def op_fma(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error = super().op_fma(site, out, x, e, growth)
        a, b, c = (granule(wide(lanes)) for lanes in x)
        exact = held(np.abs(wide(out)), np.minimum(a * b, c), _bits(out.dtype)) & _normal(out)
        return self._unless(exact, e, error)

    def op_div(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        """Of approximate quotients those by a power of two: its reciprocal is exact in every implementation."""
        error = super().op_div(site, out, x, e, growth)
        if not out.dtype.is_float:
            return error
        a, b, q = wide(x[0]), wide(x[1]), wide(out)
        exact = (q * b == a) & held(np.abs(a), granule(q) * granule(b), 53) & (_normal(out) | (a == 0)) & (b != 0)
        if site.attrs["accuracy"] != "exact":
            exact = exact & ((np.abs(b) == granule(b)) | (a == 0))
        return self._unless(exact, e, error)

    def op_math(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error, fn, a, y = super().op_math(site, out, x, e, growth), site.attrs["fn"], wide(x[0]), wide(out)
        if fn in _FIXED:
            return self._unless(a == _FIXED[fn], e, error)
        if fn == "sqrt" and site.attrs["accuracy"] == "exact":
            return self._unless((y * y == a) & held(a, granule(y) ** 2, 53), e, error)
        return error

    def op_cast(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error = super().op_cast(site, out, x, e, growth)
        if out.dtype.is_float and x[0].dtype.is_float:
            return self._unless((wide(out) == wide(x[0])) & np.isfinite(wide(out)), e, error)
        return self._at_step(error, x[0], "trunc") if x[0].dtype.is_float else error

    def op_reduce(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error = super().op_reduce(site, out, x, e, growth)
        if site.attrs["combine"] != "add" or not out.dtype.is_float:
            return error
        axis = site.attrs["axis"] + 1
        terms = along(wide(x[0]), x[0].shape, axis)
        exact = held(np.abs(terms).sum(axis=axis), granule(terms).min(axis=axis), _bits(out.dtype))
        return self._unless(exact, [along(e[0], x[0].shape, axis).max(axis=axis)], error)

    def op_scan(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error = super().op_scan(site, out, x, e, growth)
        if site.attrs["combine"] != "add" or not out.dtype.is_float:
            return error
        axis = site.attrs["axis"] + 1
        terms = along(wide(x[0]), x[0].shape, axis)
        size, step = np.abs(terms).sum(axis=axis, keepdims=True), granule(terms).min(axis=axis, keepdims=True)
        return self._unless(
            held(size, step, _bits(out.dtype)), [along(e[0], x[0].shape, axis).max(axis=axis, keepdims=True)], error
        )

    def op_dot(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        error = super().op_dot(site, out, x, e, growth)
        if not out.dtype.is_float or any(np.any(v) for v in e):
            return error
        a, b = (lane.full(wide(lane)) for lane in x[:2])
        bits = _COARSE.get(site.attrs["precision"], 53)
        if not all(held(np.abs(v), granule(v), bits).all() for v in (a, b)):
            return error
        rows = granule(a).min(axis=-1, keepdims=True)
        step, size = rows * granule(b).min(axis=-2, keepdims=True), np.matmul(np.abs(a), np.abs(b))
        if len(x) > 2:
            step, size = np.minimum(step, granule(wide(x[2]))), size + np.abs(wide(x[2]))
        return np.where(held(size, step, _bits(out.dtype)), 0.0, error)

    @staticmethod
    def _unless(exact: Array, e: Sequence[Array], error: Array) -> Array:
        """No error where operands and result are exact."""
        for own in e:
            exact = exact & (own == 0)
        return np.where(exact, 0.0, error) if exact.any() else error

    # -- ties ------------------------------------------------------------------------------------------------------

    def op_cmp(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        doubt = super().op_cmp(site, out, x, e, growth)
        tied = (doubt != 0) & (x[0].data == x[1].data)
        if not tied.any():
            return doubt
        same = tied & (words_of(x[0]) == words_of(x[1]))
        left = tied & ~same
        return np.where(same | self._on_both(left, self.ties.pair(x[0], x[1])), 0.0, doubt)

    def op_round(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: Any) -> Array:
        return self._at_step(super().op_round(site, out, x, e, growth), x[0], site.attrs["mode"])

    def _at_step(self, doubt: Array, x: Lanes, mode: str) -> Array:
        """No doubt where the value is at a step itself, and both programs round it there."""
        half, value = mode in ("even", "away"), wide(x)
        steps = np.mod(value, 1.0) == (0.5 if half else 0.0)
        tied = (doubt != 0) & (steps & (value != 0) if mode == "trunc" else steps)
        settled = self._on_both(tied, self.ties.step(x, half))
        if half and tied.any():
            settled = settled | self._on_both(tied, self.ties.half_up(x))
        return np.where(settled, 0.0, doubt)

    def _on_both(self, tied: Array, words: Array) -> Array:
        """Those of the uncertain ties that the other program has too; notes them all."""
        if not tied.any():
            return tied
        tied, words = np.broadcast_arrays(tied, words)
        self.seen.append(np.unique(words[tied]))
        return tied & np.isin(words, self.shared)

    def several(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any = None) -> list[Planes]:
        planes, axis = super().several(site, outs, args, extra), site.attrs["axis"] + 1
        if site.name == "reduce":
            lowest = site.attrs["tie"] == "lowest"
            sure = winners(args[0], axis, site.attrs["combine"] == "argmax", lowest)[0].squeeze(axis)
        else:
            sure = ordered(args[0], extra, axis, site.attrs["stable"])
        for own, lanes in zip(planes[1:], args[1:], strict=True):
            moved = np.max(lanes.planes["bound"], axis=axis, keepdims=site.name != "reduce")  # type: ignore[index]
            own["bound"] = np.where(sure, 0.0, np.inf) + moved
        return planes

    def found(self) -> Array:
        """The words of all uncertain ties that were compared."""
        return np.unique(np.concatenate([NO_KEYS, *self.seen]))
