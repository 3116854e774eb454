"""Sums that colliding lanes make in an open or racing order: what interpretations say of all orders at once.

A buffer remembers of each element how many terms it is the sum of, their magnitudes and the planes' sums, so that
updates by several operations count as one sum.  An element that something else has written starts anew.  Must not know
what a plane means.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.buffers import Buffer
from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.base import Sums
from equivalence.numerics.granules import granule

if TYPE_CHECKING:
    from equivalence.evaluator.machine import Machine

Array = np.ndarray


@dataclass(slots=True)
class Known:
    """Sums by element, and what the elements were left as: ``data`` and the planes of the same names."""

    sums: Sums
    data: Array
    planes: dict[str, Array]

    def arrays(self) -> list[Array]:
        return [self.sums.count, self.sums.size, self.sums.step, self.data, *self.sums.passed.values(),
                *self.planes.values()]  # fmt: skip


def names(m: Machine) -> list[str]:
    """Planes of interpretations that have something to say of sums in any order."""
    return [name for i in m.interpretations if i.sums_in_any_order for name in i.planes]


def before(m: Machine, buffer: Buffer, position: Array, value: Lanes) -> Sums | None:
    """The touched elements as they stand, each the sum of one term or of those that it was made of."""
    wanted = names(m)
    if not wanted or buffer.cells is None or value.planes is None or buffer.cells.dtype is not value.dtype:
        return None
    at = np.unique(position)
    now, known = _look(buffer, wanted, at), buffer.sums
    if known is None or known.data.size != buffer.cells.data.size:
        return now.sums
    same = known.data[at] == now.data
    for name in wanted:
        same &= known.planes[name][at] == now.planes[name]
    made = [np.where(same, table[at], fresh) for table, fresh in zip(known.arrays(), now.arrays(), strict=True)]
    return Sums(made[0], made[1], made[2], dict(zip(wanted, made[4:], strict=False)))


def _look(buffer: Buffer, wanted: list[str], at: Array) -> Known:
    """The cells at ``at``; a zero that is exact is no term."""
    cells = buffer.cells
    assert cells is not None and cells.planes is not None
    data = cells.data.reshape(-1)[at].astype(np.float64)
    planes = {name: np.broadcast_to(cells.planes[name], (1, cells.data.size))[0, at] for name in wanted}
    empty = (data == 0) & np.logical_and.reduce([plane == 0 for plane in planes.values()])
    return Known(Sums(np.where(empty, 0.0, 1.0), np.abs(data), granule(data), dict(planes)), data, planes)


def after(m: Machine, buffer: Buffer, position: Array, value: Lanes, sums: Sums) -> None:
    """Gives the touched elements the planes of a sum in any order; ``position`` and ``value`` are all its new terms."""
    cells = buffer.cells
    assert cells is not None and isinstance(cells.planes, dict) and value.planes is not None
    at, place = np.unique(position, return_inverse=True)
    flat = lambda plane: np.broadcast_to(plane, (1, position.size))[0].astype(np.float64)  # noqa: E731
    terms = flat(value.data)
    sums.count = sums.count + np.bincount(place, minlength=at.size)
    sums.size = sums.size + np.bincount(place, np.abs(terms), at.size)
    sums.step = sums.step.copy()
    np.minimum.at(sums.step, place, granule(terms))
    sums.passed = {n: p + np.bincount(place, flat(value.planes[n]), at.size) for n, p in sums.passed.items()}
    out, made = Lanes(cells.dtype, (at.size,), cells.data.reshape(-1)[at][None]), dict(cells.planes)
    for i in m.interpretations:
        if i.sums_in_any_order:
            own = replace(sums, passed={name: sums.passed[name] for name in i.planes})
            for name, plane in i.in_any_order(out, own).items():
                made[name] = _put(made[name], at, plane, cells.data.size)
    buffer.cells = cells.replace(planes=made)
    _remember(buffer, at, sums)


def _put(target: Array, at: Array, plane: Array, size: int) -> Array:
    whole = target if target.size == size else np.array(np.broadcast_to(target, (1, size)))
    whole.reshape(-1)[at] = plane
    return whole


def _remember(buffer: Buffer, at: Array, sums: Sums) -> None:
    assert buffer.cells is not None
    wanted, size, known = list(sums.passed), buffer.cells.data.size, buffer.sums
    if known is None or known.data.size != size:
        fresh = [np.full(size, np.nan) for _ in range(4 + 2 * len(wanted))]
        passed, planes = (dict(zip(wanted, some, strict=False)) for some in (fresh[4:], fresh[4 + len(wanted) :]))
        known = buffer.sums = Known(Sums(fresh[0], fresh[1], fresh[2], passed), fresh[3], planes)
    now = _look(buffer, wanted, at)
    for table, own in zip(known.arrays(), Known(sums, now.data, now.planes).arrays(), strict=True):
        table[at] = own
