"""One candidate's output beside the reference: distance, elements outside tolerances, elements beyond error bounds.

Takes a Reference, the candidate and (rtol, atol) pairs; gives Measured.  Large float outputs go through a compiled
loop in blocks, the others through the same questions in numpy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from equivalence.fields import threads
from equivalence.numerics.formats import codes, format_of
from equivalence.tolerance import _loops as loops
from equivalence.tolerance.metrics import Distance, caught_below, distance, outside

if TYPE_CHECKING:
    from equivalence.tolerance.references import Reference

Array = np.ndarray
FROM = 1 << 16  # elements from which the compiled loop is worth loading
BLOCK = 1 << 14
ERRORS = ("worst", "expected")


@dataclass(frozen=True, slots=True)
class Asked:
    """A tolerance; ``of_all``: asked of every element that does not follow undefined values, else of bounded ones."""

    rtol: float
    atol: float
    of_all: bool


@dataclass(frozen=True, slots=True)
class Measured:
    """``needed``: the rtol below which it is caught at the atol given; ``refused``: elements, per tolerance asked;
    ``beyond``: bounded elements further away than each kind of error."""

    distance: Distance
    needed: float
    refused: tuple[int, ...]
    beyond: dict[str, int]


def measure(
    one: Reference, candidate: Array, asked: Sequence[Asked], atol: float, among: Array | None = None
) -> Measured:
    """Both arrays have one shape and dtype; ``among``: the elements of the distance, if not all that count."""
    among = one.counts if among is None else among
    if not one.dtype.is_float or candidate.size < FROM:
        return _by_numpy(one, candidate, asked, atol, among)
    return _by_loop(one, candidate, asked, atol, among)


def _by_numpy(one: Reference, candidate: Array, asked: Sequence[Asked], atol: float, among: Array) -> Measured:
    masks = [one.counts if each.of_all else one.known for each in asked]
    refused = [outside(candidate, one.value, a.rtol, a.atol) & mask for a, mask in zip(asked, masks)]
    with np.errstate(invalid="ignore"):
        apart = np.abs(candidate.astype(np.float64) - one.value.astype(np.float64))
        beyond = {kind: int((~(apart <= one.errors[kind]) & one.known).sum()) for kind in ERRORS}
    return Measured(
        distance(candidate, one.value, one.dtype, among),
        caught_below(candidate[among], one.value[among], atol),
        tuple(int(x.sum()) for x in refused),
        beyond,
    )


def _by_loop(one: Reference, candidate: Array, asked: Sequence[Asked], atol: float, among: Array) -> Measured:
    shape, fmt = one.value.shape, format_of(one.dtype.name)
    top = np.uint64(1 << (fmt.bits - 1))
    flat = [np.broadcast_to(x, shape).reshape(-1) for x in (candidate, one.value, among, one.counts, one.known)]
    limits = [np.broadcast_to(one.errors[kind], shape).reshape(-1) for kind in ERRORS]
    pairs = np.array([(a.rtol, a.atol) for a in asked], np.float64).reshape(-1, 2)
    of_all = np.array([a.of_all for a in asked], np.bool_)
    cuts = list(threads.blocks(candidate.size, BLOCK))
    rows, steps = np.zeros((len(cuts), loops.WIDTH)), np.zeros((len(cuts), 1), np.uint64)
    refused, beyond = (np.zeros((len(cuts), n), np.int64) for n in (len(asked), len(limits)))

    def work(part: slice) -> None:
        for n in range(part.start, part.stop):
            x, y, *masks = (array[cuts[n]] for array in flat)
            bits = codes(x, fmt.name), codes(y, fmt.name)
            wide = (x, y) if x.dtype.kind == "f" and x.itemsize > 2 else (x.astype(np.float64), y.astype(np.float64))
            bound = np.stack([limit[cuts[n]] for limit in limits])
            asks = pairs, of_all, atol, bound
            job: tuple[Any, ...] = (*wide, *bits, top, *masks, *asks, rows[n], steps[n], refused[n], beyond[n])
            loops.measure(*job)

    threads.run_slices(len(cuts), work)
    least = {kind: int(count) for kind, count in zip(ERRORS, beyond.sum(0))}
    return Measured(_distance(rows, int(steps.max())), float(rows[:, loops.NEEDED].max()), _ints(refused), least)


def _ints(counts: Array) -> tuple[int, ...]:
    return tuple(int(n) for n in counts.sum(0))


def _distance(rows: Array, steps: int) -> Distance:
    with np.errstate(all="ignore"):
        total = rows.sum(0)
        norm_x, norm_y, norm = (float(np.sqrt(total[n])) for n in (loops.SQUARES_X, loops.SQUARES_Y, loops.SQUARES))
        largest = float(rows[:, loops.ABSOLUTE].max())
        cosine = float(np.float64(total[loops.PRODUCTS]) / (norm_x * norm_y or np.nan))
        l2 = float(np.float64(norm) / norm_y) if norm_y else np.inf if largest else 0.0
    ulps = np.inf if steps >= 2**63 else float(steps)
    return Distance(not total[loops.DIFFERS], largest, ulps, cosine, np.inf if np.isnan(l2) else l2)
