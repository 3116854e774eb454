"""Elements whose expression graphs are those of a proved element with other input elements in their place.

Takes a Graph, a proved element's lane and the lanes of others; says which of them have the same graph, and which input
elements stand where.  What holds for all values of the inputs then holds there.  Must not know values.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heappop, heappush

import numpy as np

from equivalence.certificate.lanes import used
from equivalence.certificate.record import Graph, Step

Array = np.ndarray
_IGNORED = frozenset(["impl", "accuracy", "order", "nan", "rounding", "product", "precision", "tie"])


class Matching:
    """Candidates beside one proved element, on one side after the other.

    ``alike``: whether each is still a copy; ``leaves``: what stands for each of the proved element's input elements.
    """

    def __init__(self, count: int) -> None:
        self.alike = np.ones(count, bool)
        self.leaves: dict[tuple[str, int], Array] = {}
        self._names: dict[str, int] = {}
        self._kinds: dict[tuple[int, int], bool] = {}

    def side(self, graph: Graph, root: int, roots: Array) -> None:
        """Goes down from ``root`` and from all ``roots`` at once."""
        starts = np.asarray(graph.starts)
        self._kinds = {}  # both graphs count their lanes from 0
        others: dict[int, Array] = {root: roots}
        waiting = [-root]
        while waiting and self.alike.any():
            lane = -heappop(waiting)  # the latest: what uses a lane was made after it
            places = others.pop(lane)
            step = graph.step(lane)
            numbers = np.searchsorted(starts, places, side="right") - 1
            for number in _each(numbers):
                self._keep(numbers != number, self._same_kind(step, graph.steps[number]))
            numbers = np.where(self.alike, numbers, np.searchsorted(starts, lane, side="right") - 1)
            places = np.where(self.alike, places, lane)
            for new in self._compared(graph, step, lane, numbers, places, others):
                heappush(waiting, -new)

    def _keep(self, unconcerned: Array, holds: bool) -> None:
        if not holds:
            self.alike &= unconcerned

    def _same_kind(self, a: Step, b: Step) -> bool:
        if a is b:
            return True
        key = (a.first, b.first)
        if key not in self._kinds:
            self._kinds[key] = (
                (a.name, a.dtype, a.decided, a.output, len(a.operands))
                == (b.name, b.dtype, b.decided, b.output, len(b.operands))
                and _meant(a) == _meant(b)
                and (a.name == "input" or [i.ndim for i in a.operands] == [i.ndim for i in b.operands])
            )
        return self._kinds[key]

    def _compared(
        self, graph: Graph, step: Step, lane: int, numbers: Array, places: Array, others: dict[int, Array]
    ) -> set[int]:
        """Compares what a lane is, and hands its operands on; those that are new."""
        if (step.decided and step.dtype.is_integer) or step.name == "literal":
            self._same_data(graph, step, lane, numbers, places)
            return set()
        if step.name == "undefined":
            self.alike[:] = False
            return set()
        if step.name == "input":
            self._same_leaf(graph, step, lane, numbers, places)
            return set()
        own = [n for operand in used(step, lane - step.first) for n in operand]
        columns = np.empty((len(own), len(places)), np.int64)
        for number in _each(numbers):
            here = numbers == number
            found = _operands(graph.steps[number], places[here] - graph.steps[number].first)
            if found is None or len(found) != len(own):
                self.alike &= ~here
                columns[:, here] = np.asarray(own)[:, None]
            else:
                columns[:, here] = found
        new = set()
        for n, column in zip(own, columns, strict=True):
            if n in others:
                self.alike &= others[n] == column
            else:
                others[n] = column
                new.add(n)
        return new

    def _same_data(self, graph: Graph, step: Step, lane: int, numbers: Array, places: Array) -> None:
        own = _data(step, np.array([lane - step.first]))[0]
        for number in _each(numbers):
            here = numbers == number
            other = graph.steps[number]
            self.alike[here] &= _data(other, places[here] - other.first) == own

    def _same_leaf(self, graph: Graph, step: Step, lane: int, numbers: Array, places: Array) -> None:
        key = (step.attrs["input"], int(step.operands[0].ravel()[lane - step.first]))
        found = np.empty(len(places), np.int64)
        for number in _each(numbers):
            here, other = numbers == number, graph.steps[number]
            name = self._names.setdefault(other.attrs["input"], len(self._names))
            found[here] = other.operands[0].ravel()[places[here] - other.first] + (name << 40)
        if key in self.leaves:
            self.alike &= self.leaves[key] == found
        else:
            self.leaves[key] = found

    def distinct(self) -> Array:
        """Copies in which different input elements stand for different ones."""
        if len(self.leaves) < 2:
            return self.alike
        ordered = np.sort(np.stack(list(self.leaves.values())), axis=0)
        return self.alike & (np.diff(ordered, axis=0) != 0).all(axis=0)


def _each(numbers: Array) -> list[int]:
    """The numbers that occur: mostly one."""
    return [int(numbers[0])] if (numbers == numbers[0]).all() else np.unique(numbers).tolist()


def _meant(step: Step) -> dict[str, object]:
    """The attributes that say what an operation is."""
    if step.name == "input":
        return {}
    return {k: v for k, v in step.attrs.items() if k not in _IGNORED or step.name == "rem"}


def _data(step: Step, lanes: Array) -> Array:
    index = np.unravel_index(lanes, step.shape)
    return step.data[tuple(np.zeros_like(i) if n == 1 else i for i, n in zip(index, step.data.shape))]


def _operands(step: Step, lanes: Array) -> Array | None:
    """One row for each operand lane, one column for each of ``lanes``; None where they are not used alike."""
    index = np.unravel_index(lanes, step.shape)
    if step.name == "reduce":
        axis = step.attrs["axis"] + 1
        return np.concatenate([_rows(ids, [*index[:axis], None, *index[axis:]]) for ids in step.operands])
    if step.name == "scan":
        return _prefixes(step, index)
    if step.name == "dot":
        a, b, *acc = step.operands
        row, column = _rows(a, [*index[:-1], None]), _rows(b, [*index[:-2], None, index[-1]])
        extent = max(len(row), len(column))
        parts = [np.broadcast_to(x, (extent, len(lanes))) for x in (row, column)]
        return np.concatenate([*parts, *(_rows(c, list(index)) for c in acc)])
    return np.concatenate([_rows(ids, list(index)) for ids in step.operands])


def _rows(ids: Array, index: Sequence[Array | None]) -> Array:
    """A lazily broadcast array at many places; along the axis whose index is None all lanes, as rows."""
    axis = next((k for k, i in enumerate(index) if i is None), None)
    at = [np.zeros_like(i) if n == 1 else i for i, n in zip(index, ids.shape, strict=True) if i is not None]
    if axis is None:
        return ids[tuple(at)][None]
    return np.moveaxis(ids, axis, 0)[(slice(None), *at)]


def _prefixes(step: Step, index: Sequence[Array]) -> Array | None:
    axis = step.attrs["axis"] + 1
    place = index[axis]
    if not place.size or (place != place[0]).any():
        return None
    rows = _rows(step.operands[0], [*index[:axis], None, *index[axis + 1 :]])
    if len(rows) == 1:
        rows = np.broadcast_to(rows, (step.shape[axis], rows.shape[1]))
    first = int(place[0])
    return rows[first:] if step.attrs["reverse"] else rows[: first + 1]
