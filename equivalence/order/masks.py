"""Masks: M and -M at two terms, units at others; the units that survive say which terms meet M before -M does.

Takes a Box; gives its formats, and for a term the size of the smallest subtree that holds it and each other term.
Must not know how a tree is put together (probe.py).

M is so large that every sum of the units in use vanishes beside it, and sums of units are exact; so whatever is added
below the place where M and -M meet is lost, and the result counts the units elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from equivalence.numerics.formats import format_of

from .box import Box, Formats

REACH = 120  # exponents beyond +-REACH are not needed, and would come close to the ends of f32
MARGIN = 2  # bits between the largest sum of units and half the last place of M (below M, places are half as wide)
CLEARLY = 6  # bits beyond its precision at which a format must lose a unit; adders may keep two or three more
_ACCUMULATORS = ("f32", "f64")


@dataclass(frozen=True, slots=True)
class Scale:
    """Exponents of the mask and the unit, and how many units may be in use at once."""

    mask: int
    unit: int
    most: int


def choose_scale(formats: Formats, size: int, subnormal: bool) -> Scale:
    """The largest mask, and the smallest normal unit, or with ``subnormal`` one as small as ``size`` units need."""
    mask = min(formats.largest(), REACH)
    room = mask - formats.sum.p - MARGIN
    unit = max(formats.smallest(subnormal=False), -REACH)
    if subnormal:
        wanted = min((size - 1).bit_length(), formats.counted_bits)
        unit = min(unit, max(formats.smallest(subnormal=True), room - wanted))
    return Scale(mask, unit, 2 ** max(min(formats.counted_bits, room - unit), 0))


def find_formats(box: Box, accumulator: str | None, result: str) -> Formats:
    """The given accumulator, or the narrowest of the usual ones in which a unit is lost beside a large value."""
    formats = Formats(box.dtype, accumulator or result, result, len(box.arrays))
    if accumulator is not None or box.size < 3:
        return formats
    rng = np.random.default_rng(box.size)
    triples = [(0, 1, 2), (0, box.size // 2, box.size - 1)]
    triples += [tuple(int(i) for i in rng.choice(box.size, 3, replace=False)) for _ in range(3)]
    found = {_narrowest(box, formats, triple) for triple in triples}
    if None in found:
        box.is_exact()
    if len(found) > 1:
        box.refuse(f"an accumulation in several formats ({', '.join(sorted(map(str, found)))})")
    return replace(formats, accumulator=str(found.pop()))


def _narrowest(box: Box, formats: Formats, triple: tuple[int, ...]) -> str | None:
    names = dict.fromkeys((formats.dtype, formats.result, *_ACCUMULATORS))
    for name in sorted(names, key=lambda name: format_of(name).p):
        if format_of(name).p >= formats.value.p and _loses(box, replace(formats, accumulator=name), triple):
            return name
    return None


def _loses(box: Box, formats: Formats, triple: tuple[int, ...]) -> bool:
    """Whether a unit vanishes in one of the ways to lay M, a unit and -M on three terms: two of them meet first."""
    mask = min(formats.largest(), REACH)
    unit = mask - formats.sum.p - CLEARLY
    if unit < formats.smallest(subnormal=True):
        return False
    for first, second, third in permutations(triple):
        if first < third:  # exchanging M and -M tells nothing new
            box.clear()
            box.put(first, box.power(mask))
            box.put(second, box.power(unit))
            box.put(third, box.power(mask, negative=True))
            if box.call() == 0.0:
                return True
    return False


class Masks:
    """Asks a box for the sizes of subtrees."""

    def __init__(self, box: Box, formats: Formats) -> None:
        self.box, self.formats = box, formats
        self.zero = box.number(0.0)
        self._use(choose_scale(formats, box.size, subnormal=True))
        if not self._sums_units():  # subnormals may be flushed
            self._use(choose_scale(formats, box.size, subnormal=False))
            if self.scale.most < 1 or not self._sums_units():
                self._is_no_sum()
        if self.scale.most < 2:
            box.refuse(f"{formats.dtype} terms accumulated in {formats.accumulator}", "its masks do not fit the format")

    def _use(self, scale: Scale) -> None:
        self.scale = scale
        self.unit, self.mask = self.box.power(scale.unit), self.box.power(scale.mask)
        self.minus = self.box.power(scale.mask, negative=True)

    def _sums_units(self) -> bool:
        """Whether the units alone come out as their number, and none as nothing."""
        self.box.clear()
        if self.box.call() != 0.0:
            return False
        for start in range(0, self.box.size, self.scale.most):
            units = range(self.box.size)[start : start + self.scale.most]
            self.box.clear()
            self.box.put(units, self.unit)
            if self.box.call() != len(units) * 2.0**self.scale.unit:
                return False
        return True

    def _is_no_sum(self) -> None:
        got = self.box.call() * 2.0**-self.scale.unit
        self.box.contradicts(f"equal terms come out as {got:g} times one, which is not their number")

    def sizes(self, pivot: int, others: np.ndarray, group: np.ndarray, anchor: int | None) -> np.ndarray:
        """For each of ``others`` the number of terms of ``group`` (which holds it and ``pivot``) in the smallest
        subtree with both; one more where that subtree also holds ``anchor``, a term outside the group."""
        units = group if anchor is None else np.append(group, anchor)
        sizes = np.full(len(others), 2)
        for start in range(0, len(units), self.scale.most):
            sizes += self._lost(pivot, others, units[start : start + self.scale.most])
        return sizes

    def _lost(self, pivot: int, others: np.ndarray, units: np.ndarray) -> np.ndarray:
        """How many of the units at ``units``, but for those that the masks replace, vanish for each other term."""
        box, lost = self.box, np.zeros(len(others), np.int64)
        box.clear()
        box.put(units, self.unit)
        box.put(pivot, self.mask)
        is_unit = np.zeros(box.size, np.bool_)
        is_unit[units] = True
        is_unit[pivot] = False
        placed, scale = int(is_unit.sum()), 2.0**-self.scale.unit
        for k, other in enumerate(others.tolist()):
            box.put(other, self.minus)
            survivors, most = box.call() * scale, placed - bool(is_unit[other])
            if not (0 <= survivors <= most and survivors == int(survivors)):
                box.contradicts(f"of {most} units beside masks at {pivot} and {other}, {survivors:g} survive")
            lost[k] = most - int(survivors)
            box.put(other, self.unit if is_unit[other] else self.zero)
        return lost
