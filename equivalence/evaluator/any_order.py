"""Sums that colliding lanes make in an open or racing order: what interpretations say of all orders at once.

A buffer remembers of each element how many terms it is the sum of, their magnitudes and the planes' sums, so that
updates by several operations count as one sum.  An element that something else has written starts anew.  Must not know
what a plane means.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from equivalence.evaluator.buffers import Buffer
from equivalence.evaluator.lanes import Lanes

if TYPE_CHECKING:
    from equivalence.evaluator.machine import Machine

Array = np.ndarray


@dataclass(slots=True)
class Sums:
    """By element: ``count`` of terms, their magnitudes' ``size``, the sums of planes, and what it was left as."""

    count: Array
    size: Array
    passed: dict[str, Array]
    data: Array
    planes: dict[str, Array]


def names(m: Machine) -> list[str]:
    """Planes of interpretations that have something to say of sums in any order."""
    return [name for i in m.interpretations if i.sums_in_any_order for name in i.planes]


def before(m: Machine, buffer: Buffer, position: Array, value: Lanes) -> Sums | None:
    """The touched elements as they stand, each the sum of one term or of those that it was made of."""
    wanted = names(m)
    if not wanted or buffer.cells is None or value.planes is None or buffer.cells.dtype is not value.dtype:
        return None
    at = np.unique(position)
    now = _look(buffer, wanted, at)
    known = buffer.sums
    if known is None or known.data.size != buffer.cells.data.size:
        return now
    same = known.data[at] == now.data
    for name in wanted:
        same &= known.planes[name][at] == now.planes[name]
    pick = lambda table, fresh: np.where(same, table[at], fresh)  # noqa: E731
    passed = {name: pick(known.passed[name], now.passed[name]) for name in wanted}
    return Sums(pick(known.count, now.count), pick(known.size, now.size), passed, now.data, now.planes)


def _look(buffer: Buffer, wanted: list[str], at: Array) -> Sums:
    """The cells at ``at``; a zero that is exact is no term."""
    cells = buffer.cells
    assert cells is not None and cells.planes is not None
    data = cells.data.reshape(-1)[at].astype(np.float64)
    planes = {name: np.broadcast_to(cells.planes[name], (1, cells.data.size))[0, at] for name in wanted}
    size = np.abs(data)
    empty = (size == 0) & np.logical_and.reduce([plane == 0 for plane in planes.values()])
    return Sums(np.where(empty, 0.0, 1.0), size, dict(planes), data, planes)


def after(m: Machine, buffer: Buffer, position: Array, value: Lanes, start: Sums) -> None:
    """Gives the touched elements the planes of a sum in any order; ``position`` and ``value`` are all its new terms."""
    cells = buffer.cells
    assert cells is not None and isinstance(cells.planes, dict) and value.planes is not None
    at, place = np.unique(position, return_inverse=True)
    term = np.broadcast_to(value.data, (1, position.size))[0].astype(np.float64)
    add = lambda plane: np.bincount(place, np.broadcast_to(plane, (1, position.size))[0], at.size)  # noqa: E731
    start.count = start.count + np.bincount(place, minlength=at.size)
    start.size = start.size + np.bincount(place, np.abs(term), at.size)
    start.passed = {name: plane + add(value.planes[name]) for name, plane in start.passed.items()}
    out = Lanes(cells.dtype, (at.size,), cells.data.reshape(-1)[at][None])
    made = dict(cells.planes)
    for i in m.interpretations:
        if i.sums_in_any_order:
            passed = {name: start.passed[name] for name in i.planes}
            for name, plane in i.in_any_order(out, start.count, start.size, passed).items():
                made[name] = _put(made[name], at, plane, cells.data.size)
    buffer.cells = cells.replace(planes=made)
    _remember(buffer, at, start, list(start.passed))


def _put(target: Array, at: Array, plane: Array, size: int) -> Array:
    whole = target if target.size == size else np.array(np.broadcast_to(target, (1, size)))
    whole.reshape(-1)[at] = plane
    return whole


def _remember(buffer: Buffer, at: Array, sums: Sums, wanted: list[str]) -> None:
    assert buffer.cells is not None and buffer.cells.planes is not None
    size, known = buffer.cells.data.size, buffer.sums
    if known is None or known.data.size != size:
        fresh = lambda: np.full(size, np.nan)  # noqa: E731
        known = buffer.sums = Sums(
            fresh(), fresh(), {n: fresh() for n in wanted}, fresh(), {n: fresh() for n in wanted}
        )
    known.count[at], known.size[at] = sums.count, sums.size
    known.data[at] = buffer.cells.data.reshape(-1)[at].astype(np.float64)
    for name in wanted:
        known.passed[name][at] = sums.passed[name]
        known.planes[name][at] = np.broadcast_to(buffer.cells.planes[name], (1, size))[0, at]
