"""Masks: M and -M at two terms, units at others; the units that survive say which terms meet M before -M does.

Takes a Box; gives for a term the size of the smallest subtree that holds it and each other term.
Must not know how a tree is put together (probe.py).

M is so large that every sum of the units in use vanishes beside it, and sums of units are exact; so whatever is added
below the place where M and -M meet is lost, and the result counts the units elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from equivalence.numerics.formats import format_of

from .box import Box, Formats

REACH = 120  # exponents beyond +-REACH are not needed, and would come close to the ends of f32
MARGIN = 6  # bits between the last place of M and the largest sum of units: adders may keep two or three more
_WIDEST = ("f64", "f32")  # accumulators beside whose masks units are to vanish


@dataclass(frozen=True, slots=True)
class Scale:
    """Exponents of the mask and the unit, and how many units may be in use at once."""

    formats: Formats
    mask: int
    unit: int
    most: int


def scales(formats: Formats, size: int) -> list[Scale]:
    """Scales to try: those that take all units at once first, and normal units before subnormal ones, which some
    machines flush; the widest accumulator first, for additions need not all have one format."""
    wanted = min(size, 2**formats.counted_bits)
    found = [
        _scale(replace(formats, spread=spread), accumulator, subnormal)
        for spread in dict.fromkeys((formats.factors, 1))
        for accumulator in _WIDEST
        for subnormal in (False, True)
    ]
    return sorted((scale for scale in found if scale.most), key=lambda scale: -min(scale.most, wanted))


def _scale(formats: Formats, accumulator: str, subnormal: bool) -> Scale:
    """The largest mask and the smallest unit."""
    mask, unit = min(formats.largest(), REACH), max(formats.smallest(subnormal), -REACH)
    bits = min(formats.counted_bits, mask - format_of(accumulator).p - MARGIN - unit)
    return Scale(formats, mask, unit, 2**bits if bits >= 0 else 0)


class Masks:
    """Asks a box for the sizes of subtrees."""

    def __init__(self, box: Box, formats: Formats) -> None:
        self.box = box
        self.zero = box.number(0.0)
        tried = scales(formats, box.size)
        for scale in tried:
            self._use(scale)
            if self._sums_units():
                return
        if not tried:
            pair = f"{formats.dtype} values that gives {formats.result}"
            raise box.refusal(f"a sum of {pair}", "no mask fits these formats")
        got = box.call() * 2.0**-self.scale.unit
        raise box.contradiction(f"equal terms come out as {got:g} times one of them, which is not their number")

    def _use(self, scale: Scale) -> None:
        self.scale, self.formats = scale, scale.formats
        self.unit, self.mask = self.box.power(scale.unit), self.box.power(scale.mask)
        self.minus = self.box.power(scale.mask, negative=True)

    def _sums_units(self) -> bool:
        """Whether a mask comes out as it is, none as nothing, and units as their number."""
        self.box.clear()
        empty = self.box.call()
        self.box.put(0, self.mask)
        if empty != 0.0 or self.box.call() != 2.0**self.scale.mask:
            return False
        for start in range(0, self.box.size, self.scale.most):
            units = range(self.box.size)[start : start + self.scale.most]
            self.box.clear()
            self.box.put(units, self.unit)
            if self.box.call() != len(units) * 2.0**self.scale.unit:
                return False
        return True

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
                raise box.contradiction(f"of {most} units beside masks at {pivot} and {other}, {survivors:g} survive")
            lost[k] = most - int(survivors)
            box.put(other, self.unit if is_unit[other] else self.zero)
        return lost
