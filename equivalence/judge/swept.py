"""Declared ranges of integers run through: lengths and positions that end a page, or begin one.

Takes the given arrays, the ranges, and the numbers that matter in the programs; gives arrays.  A few random lengths
rarely end where a block does; where a range has few values, all of them are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from equivalence.judge.inputs import Arrays
from equivalence.judge.ranges import SWEPT, Range

MOST_SETS, FEW_SETS = 16, 4
MOST_VALUES = 64  # of one range
MOST_MULTIPLES = 8  # of one number of the programs


def sets(
    given: Mapping[str, np.ndarray], ranges: Mapping[str, Range], steps: Sequence[int], seed: int, few: bool = False
) -> Iterator[tuple[str, Arrays]]:
    """One input at a time takes the values of its range, several of them in one set; the sets are shared out."""
    free = {
        name: ranges[name].integers
        for name, x in given.items()
        if name in ranges and x.dtype.kind in "iu" and x.size and ranges[name].drawable
    }
    rng = np.random.default_rng([seed, *b"swept"])
    coming = [_of_one(name, given[name], values(*ends, steps), rng) for name, ends in free.items()]
    left = FEW_SETS if few else MOST_SETS
    while coming and left:
        for one in list(coming)[:left]:
            made = next(one, None)
            if made is None:
                coming.remove(one)
                continue
            left -= 1
            yield SWEPT, {**given, **made}


def _of_one(name: str, x: np.ndarray, pool: Sequence[int], rng: np.random.Generator) -> Iterator[Arrays]:
    """As many sets as it takes until every value of the pool had a place."""
    for start in range(0, len(pool), x.size):
        chosen = np.resize(np.asarray(pool[start : start + x.size], x.dtype), x.size)
        yield {name: rng.permutation(chosen).reshape(x.shape)}


def values(first: int, last: int, steps: Sequence[int]) -> list[int]:
    """At most MOST_VALUES of a range: both ends, then multiples of the steps with what is beside them, then the rest.

    The first multiples of long steps come first: blocks are longer than pages and strides.
    """
    long = sorted({step for step in steps if 1 < step <= max(abs(first), abs(last))}, reverse=True)
    multiples = [(-(-first // step) + turn) * step for turn in range(MOST_MULTIPLES) for step in long]
    beside = [m + d for m in multiples for d in (0, 1, -1)]
    spread = np.linspace(first, last, MOST_VALUES).astype(np.int64).tolist()
    wanted = (first, last, *beside, *spread)
    return list(dict.fromkeys(v for v in wanted if first <= v <= last))[:MOST_VALUES]
