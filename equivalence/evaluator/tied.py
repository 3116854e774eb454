"""Which elements of rows are equal: a freedom in the order of equal keys is known by them, whatever the values.

Takes keys; gives, for each row with equal elements, the place of the first one that is equal to each, as bytes.
"""

from __future__ import annotations

import numpy as np

Rows = frozenset[bytes]
MOST_PAIRS = 1 << 14  # of rows that are compared with each other


def _rows(keys: np.ndarray, axis: int) -> np.ndarray:
    return np.moveaxis(keys, axis, -1).reshape(-1, keys.shape[axis]) if keys.size else keys.reshape(0, 1)


def _first(row: np.ndarray) -> np.ndarray:
    """The place of the first element that is equal to each."""
    _, first, inverse = np.unique(row, return_index=True, return_inverse=True)
    return first[inverse.reshape(-1)].astype(np.int32)


def tied_rows(keys: np.ndarray, axis: int) -> Rows:
    """The rows along ``axis`` in which some elements are equal."""
    found = (_first(row) for row in _rows(keys, axis))
    return frozenset(places.tobytes() for places in found if np.unique(places).size < places.size)


def tied_extrema(keys: np.ndarray, axis: int, largest: bool) -> Rows:
    """The rows with several equal extrema; all else counts as different."""
    found: set[bytes] = set()
    for row in _rows(keys, axis):
        winners = np.flatnonzero(row == (row.max() if largest else row.min()))
        places = np.arange(row.size, dtype=np.int32)
        places[winners] = winners[:1]
        if winners.size > 1:
            found.add(places.tobytes())
    return frozenset(found)


def spared(keys: np.ndarray, axis: int, rows: Rows) -> np.ndarray:
    """Like ``keys``: elements that are equal to none but such as are equal to each other in one of the ``rows``."""
    own = _rows(keys, axis)
    known = [np.frombuffer(one, np.int32) for one in rows] if len(rows) * len(own) <= MOST_PAIRS else []
    found = np.stack([_spared(_first(row), known) for row in own]) if len(own) else np.zeros(own.shape, bool)
    moved = np.moveaxis(keys, axis, -1).shape
    return np.moveaxis(found.reshape(moved), -1, axis)


def _spared(first: np.ndarray, rows: list[np.ndarray]) -> np.ndarray:
    found = np.zeros(first.size, bool)
    for other in rows:
        if other.size == first.size:
            apart = np.bincount(first, other[first] != other, minlength=first.size)
            found |= apart[first] == 0
    return found
