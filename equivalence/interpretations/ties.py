"""`ties`: fingerprints by value, which tell ties that every implementation sees from ties of this run alone.

As `exact`, but an input element's word is a hash of its value.  Two lanes with equal words are one number, rounded in
the same way in the same order by the same operations: they tie whatever an implementation leaves open.  A decision
that is certain (its `bound` is 0) is taken, so that words pass through selections and extrema.  `TieError` reads the
words; works beside it only.  Must not know judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes, Planes
from equivalence.fields.mersenne import MASK
from equivalence.interpretations.base import Site
from equivalence.interpretations.exact import Exact, unsigned
from equivalence.interpretations.hashed import Words, as_float

PLANE = "ties"
Array = np.ndarray


def words_of(lanes: Lanes) -> Words:
    """Words without the flag of literals."""
    assert lanes.planes is not None
    return lanes.planes[PLANE] & MASK


def bound_of(lanes: Lanes) -> Array:
    assert lanes.planes is not None
    return lanes.planes["bound"]


def along(array: Array, shape: tuple[int, ...], axis: int) -> Array:
    """``array`` with one axis (counted with the batch axis) at its full extent."""
    return Exact.full_axis(array, shape, axis)


def winners(x: Lanes, axis: int, largest: bool, named: bool = True) -> tuple[Array, Array]:
    """(whether every lane that may be the extremum has the word of the one that is, its place), axis kept.

    ``named``: whether it is settled which of several equal lanes is meant; otherwise there must be one only.
    """
    keys = along(x.data.astype(np.float64), x.shape, axis)
    keys = keys if largest else -keys
    words = along(words_of(x), x.shape, axis)
    keys, words = np.broadcast_arrays(keys, words)
    place = np.argmax(keys, axis=axis, keepdims=True)
    best, word = (np.take_along_axis(a, place, axis) for a in (keys, words))
    reach = 2 * np.max(bound_of(x), axis=axis, keepdims=True)
    with np.errstate(all="ignore"):
        near = ~(best - keys > reach)
    alone = (~near | (words == word)).all(axis=axis, keepdims=True) if named else near.sum(axis, keepdims=True) == 1
    return alone & ~np.isnan(keys).any(axis=axis, keepdims=True), place


def ordered(x: Lanes, places: Array, axis: int, stable: bool) -> Array:
    """Whether neighbours of a sorted axis are apart by more than their errors, or tie in every implementation."""
    keys = along(x.data.astype(np.float64), x.shape, axis)
    words = along(words_of(x), x.shape, axis)
    keys, words, places = np.broadcast_arrays(keys, words, places)
    keys, words = (np.take_along_axis(a, places, axis) for a in (keys, words))
    reach = 2 * np.max(bound_of(x), axis=axis, keepdims=True)
    first, second = (np.arange(keys.shape[axis])[s] for s in (slice(None, -1), slice(1, None)))
    with np.errstate(all="ignore"):
        apart = np.abs(keys.take(second, axis) - keys.take(first, axis)) > reach
    same = words.take(first, axis) == words.take(second, axis)
    return (apart | (same & stable)).all(axis=axis, keepdims=True)


class Ties(Exact):
    """Fingerprints of expressions over the values of the inputs."""

    name = "ties"
    plane = PLANE

    def atom(self, name: str, index: np.ndarray, lanes: Lanes) -> Planes:
        data = lanes.data if lanes.data.shape == index.shape else lanes.data.reshape(-1)[index]
        bits = as_float(data).view(np.uint64) if lanes.dtype.is_float else data.astype(np.int64).view(np.uint64)
        text = "value" if lanes.dtype.is_float else "whole value"
        return self.give(self.mix(text, bits & np.uint64(0xFFFFFFFF), bits >> np.uint64(32)))

    def pair(self, a: Lanes, b: Lanes) -> Words:
        """A word of two operands of a comparison, in either order."""
        return self.sym("pair", words_of(a), words_of(b))

    def step(self, x: Lanes, half: bool) -> Words:
        """A word of what is rounded, whatever its sign; ``half``: to the nearest whole number."""
        return self.mix("half" if half else "whole", unsigned(words_of(x))[0])

    def half_up(self, x: Lanes) -> Words:
        """The word under which the floor of a value and a half meets a step: where the value is half way itself."""
        half = self.literal_word(np.full((1,) * x.data.ndim, 0.5), x)
        return self.mix("whole", unsigned(self.sym(f"add:{x.dtype} rne", words_of(x), half))[0])

    def op_select(self, site: Site, out: Lanes, c: Lanes, a: Lanes, b: Lanes) -> Planes:
        """A certain condition has chosen."""
        words = super().op_select(site, out, c, a, b)[self.plane]
        sure = bound_of(c) == 0
        if not sure.any():
            return self.give(words)
        return self.give(np.where(sure, np.where(c.data, self.word(a), self.word(b)), words))

    def op_max(self, site: Site, out: Lanes, a: Lanes, b: Lanes) -> Planes:
        words = super().op_max(site, out, a, b)[self.plane]
        if not out.dtype.is_float:
            return self.give(words)
        x, y = as_float(a.data), as_float(b.data)
        with np.errstate(all="ignore"):
            apart = np.abs(x - y) > bound_of(a) + bound_of(b)
        first = (x > y) if site.name == "max" else (x < y)
        chosen = np.where(first, self.word(a), self.word(b))
        return self.give(np.where(apart | (words_of(a) == words_of(b)), chosen, words))

    op_min = op_max

    def op_reduce(self, site: Site, out: Lanes, x: Lanes) -> Planes:
        planes = super().op_reduce(site, out, x)
        if site.attrs["combine"] not in ("max", "min") or not out.dtype.is_float:
            return planes
        axis = site.attrs["axis"] + 1
        sure, place = winners(x, axis, site.attrs["combine"] == "max")
        return self.give(self._taken(planes[self.plane], self.word(x), x.shape, sure, place, axis))

    @staticmethod
    def _taken(words: Words, own: Words, shape: tuple[int, ...], sure: Array, place: Array, axis: int) -> Words:
        """The words at ``place`` where that is sure."""
        own = along(own, shape, axis)
        lead = np.broadcast_shapes(own.take([0], axis).shape, place.shape)
        full = tuple(own.shape[d] if d == axis else n for d, n in enumerate(lead))
        chosen = np.take_along_axis(np.broadcast_to(own, full), np.broadcast_to(place, lead), axis).squeeze(axis)
        return np.where(sure.squeeze(axis), chosen, words)

    def multi_reduce(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any) -> list[Planes]:
        """Of pairs: the value's word; the index's too, where equal values leave it no choice."""
        made = super().multi_reduce(site, outs, args, extra)
        axis = site.attrs["axis"] + 1
        sure, place = winners(args[0], axis, site.attrs["combine"] == "argmax")
        value = self._taken(made[0][self.plane], self.word(args[0]), args[0].shape, sure, place, axis)
        named = along(args[1].data, args[1].shape, axis) == np.expand_dims(outs[1].data, axis)
        place = np.argmax(named, axis=axis, keepdims=True)
        if site.attrs["tie"] != "lowest":
            sure, _ = winners(args[0], axis, site.attrs["combine"] == "argmax", named=False)
        words = self._taken(made[1][self.plane], self.word(args[1]), args[1].shape, sure, place, axis)
        return [self.give(value), self.give(words)]

    def multi_sort(self, site: Site, outs: Sequence[Lanes], args: Sequence[Lanes], extra: Any) -> list[Planes]:
        """``extra``: where each lane comes from."""
        made = super().multi_sort(site, outs, args, extra)
        axis = site.attrs["axis"] + 1
        sure = ordered(args[0], extra, axis, site.attrs["stable"])
        planes = []
        for own, lanes in zip(made, args, strict=True):
            words = np.broadcast_to(along(self.word(lanes), lanes.shape, axis), extra.shape)
            planes.append(self.give(np.where(sure, np.take_along_axis(words, extra, axis), own[self.plane])))
        return planes
