"""Which lanes an operation used for one of its own: by position, along an axis, or as a row and a column.

Takes Steps; gives numbers of lanes, one list an operand.  Must not know values.
"""

from __future__ import annotations

import numpy as np

from equivalence.certificate.record import Step

_TABLED = 1 << 16  # lanes up to which all operands are looked up at once


def used(step: Step, lane: int) -> list[list[int]]:
    """Of each operand the lanes that lane ``lane`` (counted from the step's first) was computed from."""
    if step.name == "reduce":
        return [_along(step, k, lane) for k in range(len(step.operands))]
    if step.name == "scan":
        return [_prefix(step, lane)]
    if step.name == "sort":
        return [_row(step, k, lane) for k in range(len(step.operands))]
    if step.name == "dot":
        return _dot(step, lane)
    return [[_same(step, k, lane)] for k in range(len(step.operands))]


def _table(step: Step, k: int, shape: tuple[int, ...]) -> list[int]:
    """Operand ``k`` spread over ``shape``, as a list."""
    while len(step.tables) <= k:
        step.tables.append(None)
    if step.tables[k] is None:
        step.tables[k] = np.broadcast_to(step.operands[k], shape).ravel().tolist()
    return step.tables[k]


def _index(step: Step, lane: int) -> tuple[int, ...]:
    return tuple(int(i) for i in np.unravel_index(lane, step.shape))


def _at(ids: np.ndarray, index: tuple[int | slice, ...]) -> np.ndarray:
    """A lazily broadcast array at a place."""
    return ids[tuple(0 if n == 1 and not isinstance(i, slice) else i for i, n in zip(index, ids.shape, strict=True))]


def _same(step: Step, k: int, lane: int) -> int:
    if step.size <= _TABLED:
        return _table(step, k, step.shape)[lane]
    return int(_at(step.operands[k], _index(step, lane)))


def _along(step: Step, k: int, lane: int) -> list[int]:
    axis, index = step.attrs["axis"] + 1, _index(step, lane)
    return _at(step.operands[k], (*index[:axis], slice(None), *index[axis:])).tolist()


def _row(step: Step, k: int, lane: int) -> list[int]:
    axis, index = step.attrs["axis"] + 1, _index(step, lane)
    found = _at(step.operands[k], (*index[:axis], slice(None), *index[axis + 1 :])).tolist()
    return found * (step.shape[axis] if len(found) == 1 else 1)


def _prefix(step: Step, lane: int) -> list[int]:
    row, place = _row(step, 0, lane), _index(step, lane)[step.attrs["axis"] + 1]
    return row[place:] if step.attrs["reverse"] else row[: place + 1]


def _dot(step: Step, lane: int) -> list[list[int]]:
    a, b, *acc = step.operands
    index = _index(step, lane)
    row = _at(a, (*index[:-1], slice(None)))
    column = _at(b, (*index[:-2], slice(None), index[-1]))
    row, column = np.broadcast_arrays(row, column)
    return [row.tolist(), column.tolist(), *([int(_at(c, index))] for c in acc)]
