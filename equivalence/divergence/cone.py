"""Backward cones over a Trace, lane by lane, and the matching of two cones by fingerprint and by value.

Takes Traces; gives Side (the cone of one output element with words, values and flags as flat arrays) and Matching.
Must not know rules or words.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from equivalence.divergence.trace import MARKS, NODE, Application, Trace
from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.hashed import LITERAL

COARSE = 1e-3  # relative distance of one value rounded to 16 bits and not
_ALONG = ("reduce", "scan", "sort")


def used(application: Application, lanes: np.ndarray) -> list[np.ndarray]:
    """Numbers of the operand lanes that the lanes where the mask ``lanes`` holds are computed from."""
    if application.name in _ALONG:
        return [_along(application, ids, lanes) for ids in application.operands]
    if application.name == "dot":
        return _dot(application, lanes)
    return [np.broadcast_to(ids, application.shape)[lanes] for ids in application.operands]


def _along(application: Application, ids: np.ndarray, lanes: np.ndarray) -> np.ndarray:
    axis = application.attrs["axis"] + 1
    if application.name == "reduce":
        wanted = np.expand_dims(lanes, axis)
    else:
        wanted = lanes.any(axis=axis, keepdims=True)
    shape = np.broadcast_shapes(wanted.shape, ids.shape)
    return np.broadcast_to(ids, shape)[np.broadcast_to(wanted, shape)]


def _dot(application: Application, lanes: np.ndarray) -> list[np.ndarray]:
    a, b, *acc = application.operands
    rows, columns = (np.asarray(lanes.any(axis, keepdims=True)) for axis in (-1, -2))
    found = [_picked(a, rows), _picked(b, columns)]
    return found + [np.broadcast_to(c, application.shape)[lanes] for c in acc]


def _picked(ids: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    shape = np.broadcast_shapes(ids.shape, wanted.shape)
    return np.broadcast_to(ids, shape)[np.broadcast_to(wanted, shape)]


def reached(application: Application, flags: np.ndarray) -> np.ndarray:
    """For each lane of an application, whether one of its operand lanes has its flag set."""
    result = np.zeros(application.shape, bool)
    for position, ids in enumerate(application.operands):
        mask = flags[ids]
        if application.name in _ALONG:
            mask = mask.any(axis=application.attrs["axis"] + 1, keepdims=application.name != "reduce")
        elif application.name == "dot" and position < 2:
            mask = mask.any(axis=-1 if position == 0 else -2, keepdims=True)
        result |= mask
    return result


def cone(trace: Trace, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
    """Flags over all lanes of the trace: those from which lanes ``numbers`` are computed, themselves included."""
    flags = np.zeros(trace.count, bool)
    flags[np.asarray(numbers, np.int64)] = True
    for application in reversed(trace.log):
        lanes = flags[application.first : application.first + application.size]
        if application.operands and lanes.any():
            for ids in used(application, lanes.reshape(application.shape)):
                flags[ids] = True
    return flags


def labels(trace: Trace, number: int) -> frozenset[str]:
    """The inputs that a lane comes from."""
    names = sorted({a.label for a in trace.log if a.label})[:64]
    if trace.origins is None:
        trace.origins = np.zeros(trace.count, np.uint64)
        for bit, name in enumerate(names):
            flags = np.zeros(trace.count, bool)
            for a in trace.log:
                part = slice(a.first, a.first + a.size)
                flags[part] = reached(a, flags).ravel() if a.operands else a.label == name
            trace.origins[flags] |= np.uint64(1 << bit)
    return frozenset(name for bit, name in enumerate(names) if int(trace.origins[number]) >> bit & 1)


@dataclass(eq=False, slots=True)
class Side:
    """One program at one output element: ``cone`` flags, and per lane its word, value, touched inputs."""

    trace: Trace
    root: int
    cone: np.ndarray
    words: np.ndarray
    values: np.ndarray
    touch: np.ndarray
    literal: np.ndarray
    leaf: np.ndarray
    coarse: np.ndarray
    matched: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    exonerated: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def bad(self) -> np.ndarray:
        """Lanes of the cone that nothing vouches for."""
        return self.cone & ~self.exonerated

    def frontier(self) -> list[int]:
        """Lanes that nothing vouches for although all their operands are right, in order of execution."""
        bad, found = self.bad, []
        for application in self.trace.log:
            lanes = bad[application.first : application.first + application.size]
            if lanes.any():
                fresh = lanes.reshape(application.shape) & ~reached(application, bad)
                found.extend(application.first + np.flatnonzero(fresh))
        return [int(number) for number in found]


@dataclass(eq=False, slots=True)
class Columns:
    """A trace's lanes as flat arrays."""

    words: np.ndarray
    values: np.ndarray
    touch: np.ndarray
    literal: np.ndarray
    leaf: np.ndarray
    coarse: np.ndarray  # of 16 bits or fewer


def columns(trace: Trace, plane: str) -> Columns:
    """Words under ``plane`` without the literal flag, values in f64."""
    words, touch = np.zeros(trace.count, np.uint64), np.zeros(trace.count, np.uint64)
    values, leaf, coarse = np.zeros(trace.count), np.zeros(trace.count, bool), np.zeros(trace.count, bool)
    for a in trace.log:
        part = slice(a.first, a.first + a.size)
        words[part] = np.broadcast_to(a.planes[plane], a.shape).ravel()
        touch[part] = _folded(a) if a.data.dtype.kind not in "iub" else 0  # small integers are equal by chance
        coarse[part] = a.data.dtype.itemsize <= 2
        with np.errstate(all="ignore"):
            values[part] = np.broadcast_to(a.data.astype(np.float64), a.shape).ravel()
        leaf[part] = not a.operands
    literal = (words & LITERAL) != 0
    return Columns(words & ~LITERAL, values, touch, literal, leaf, coarse)


def _folded(a: Application) -> np.ndarray:
    """The bit sets of touched inputs as one word; 0 for none."""
    total = np.zeros((1,) * len(a.shape), np.uint64)
    for mark in MARKS:
        total = (total ^ a.planes[mark]) * np.uint64(0xFF51AFD7ED558CCD)
        total = total ^ (total >> np.uint64(33))
    return np.broadcast_to(total, a.shape).ravel()


def side(trace: Trace, flat: Columns, root: int) -> Side:
    """The cone of lane ``root``."""
    return Side(
        trace, root, cone(trace, [root]), flat.words, flat.values, flat.touch, flat.literal, flat.leaf, flat.coarse
    )


def root_of(lanes: Lanes, element: tuple[int, ...]) -> int:
    """The number of an output's element."""
    assert lanes.planes is not None
    return int(lanes.full(lanes.planes[NODE])[(0, *element)])


def match(mine: Side, other: Side, tolerance: float, vouched: np.ndarray | None = None) -> None:
    """Marks the lanes of ``mine`` whose word, or value from the same inputs, occurs in ``other``'s cone.

    ``tolerance`` 0 compares words only; ``vouched`` are more words of ``other`` that are known to be right.
    """
    known = other.words[other.cone]
    if vouched is not None:
        known = np.concatenate([known, vouched])
    mine.matched = mine.cone & mine.literal & ~np.isnan(mine.values)
    inside = np.flatnonzero(mine.cone)
    mine.matched[inside] |= np.isin(mine.words[inside], known)
    if tolerance:
        equal = _not_by_chance(mine, _same_values(mine, other, tolerance))
        mine.matched |= equal & (mine.values != mine.values[mine.root])  # the result is known to be wrong
    proved = np.flatnonzero(mine.matched & ~mine.leaf & ~mine.literal)
    mine.exonerated = mine.matched | (cone(mine.trace, proved) if proved.size else mine.matched)


def _same_values(mine: Side, other: Side, tolerance: float) -> np.ndarray:
    """Lanes with a value that ``other`` computes from the same inputs, up to ``tolerance`` (relative)."""
    result = np.zeros(mine.cone.shape, bool)
    theirs = np.flatnonzero(other.cone & ~other.leaf & np.isfinite(other.values))
    telling = np.isfinite(mine.values) & ~np.isin(mine.values, (0.0, 1.0, -1.0))  # the rest is equal by chance
    ours = np.flatnonzero(mine.cone & ~mine.matched & ~mine.leaf & telling & (mine.touch != 0))
    order = np.lexsort((other.values[theirs], other.touch[theirs]))
    theirs = theirs[order]
    keys, starts = np.unique(other.touch[theirs], return_index=True)
    ends = np.append(starts[1:], theirs.size)
    group = np.searchsorted(keys, mine.touch[ours])
    for number, slot in zip(ours, group, strict=True):
        if slot < keys.size and keys[slot] == mine.touch[number]:
            values = other.values[theirs[starts[slot] : ends[slot]]]
            allowed = max(tolerance, COARSE) if mine.coarse[number] else tolerance
            result[number] = _near(values, mine.values[number], allowed)
    return result


def _not_by_chance(mine: Side, equal: np.ndarray) -> np.ndarray:
    """Keeps value matches where at least half of an application's unmatched lanes have one: a few are coincidence."""
    for application in mine.trace.log:
        part = slice(application.first, application.first + application.size)
        if equal[part].any():
            open_ = mine.cone[part] & ~mine.matched[part]
            if 2 * equal[part].sum() < open_.sum():
                equal[part] = False
    return equal


def _near(ordered: np.ndarray, value: float, tolerance: float) -> bool:
    at = np.searchsorted(ordered, value)
    return any(abs(ordered[i] - value) <= tolerance * abs(value) for i in (at - 1, at) if 0 <= i < ordered.size)
