"""Ranges that the user wrote down for inputs ('f32[9] in [0,1)', 'labels=i64[24] in [0,50)'): values stay in them.

Takes the specs of the command line and a pair; gives a Range by input.  Integers are drawn anew within theirs.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from equivalence.judge.inputs import Arrays, is_float
from equivalence.judge.runs import Pair

_RANGE = re.compile(r"\bin\s*[\[(]\s*(?P<low>[^,\s]+)\s*,\s*(?P<high>[^\])\s]+)\s*(?P<close>[\])])")
_DIMS = re.compile(r"\[(?P<dims>[\w\s,]+)\]")
_TRAIT = re.compile(r"\bsorted\b")
_NAMED = re.compile(r"\s*(?P<name>[A-Za-z_]\w*)\s*=")
ENDS, REDRAWN, LITERALS = "integers at the ends of their range", "other integers of their range", "integers of the code"
THROUGHOUT, ONE_GIVEN = "one integer of the code throughout", "one given integer, which the code names, throughout"
SWEPT = "integers of their range, run through"
INTEGERS = frozenset([ENDS, REDRAWN, LITERALS, THROUGHOUT, ONE_GIVEN, SWEPT])
#: Sets in which a NaN or an infinity on one side alone counts: the values were declared, so they are in the domain.
IN_DOMAIN = frozenset([THROUGHOUT, SWEPT])
MOST_LITERALS, MOST_THROUGHOUT = 16, 6
LEAST_MASK = 8  # elements from which an integer input of zeros and ones is no accident


@dataclass(frozen=True, slots=True)
class Range:
    """From ``low`` up to ``high``, which belongs to it only where ``closed``; infinite where it is no number.

    ``arranged``: more was promised than a range (sorted, a permutation), so values are not drawn anew; of floats that
    are ``sorted`` every other set of values is put in order too.
    """

    low: float
    high: float
    closed: bool
    arranged: bool = False
    sorted: bool = False

    def kept(self, x: np.ndarray) -> np.ndarray:
        """``x`` with what lies outside moved to the nearest value of its dtype inside."""
        low, high = self.low, self.high
        if self.sorted:
            return replace(self, sorted=False).kept(np.sort(x, axis=-1))
        if np.isinf(low) and np.isinf(high):
            return x
        wide = np.clip(np.nan_to_num(x.astype(np.float64), nan=low), low, high)
        made = wide.astype(x.dtype)
        for _ in range(2):  # rounding to the dtype may step over an end
            below, above = made.astype(np.float64) < low, made.astype(np.float64) > high
            above |= (made.astype(np.float64) == high) & (not self.closed)
            if not (below | above).any():
                break
            nearer = self.low + (self.high - self.low) * (1 - 2.0**-7) if not self.closed else self.high
            made = np.where(above, np.asarray(nearer).astype(x.dtype), made)
            made = np.where(below, np.asarray(self.low + (self.high - self.low) * 2.0**-7).astype(x.dtype), made)
        return made

    @property
    def integers(self) -> tuple[int, int]:
        """The first and the last one; an empty range gives the last before the first."""
        last = math.floor(self.high)
        return math.ceil(self.low), last if self.closed or last < self.high else last - 1

    @property
    def drawable(self) -> bool:
        """Whether any integer of the range is as good as any other."""
        if self.arranged or not (np.isfinite(self.low) and np.isfinite(self.high)):
            return False
        first, last = self.integers
        return first <= last


def declared(specs: Sequence[Any], pair: Pair) -> dict[str, Range]:
    """By input, for those with a range or in order, by position or as name=spec.

    A range that ends at a dimension as it was written down ([0,50) beside f32[50,64]) ends at its size here.
    """
    names, found = list(pair.inputs), {}
    texts: dict[str, str] = {}
    for position, spec in enumerate(specs):
        if isinstance(spec, str):
            named = _NAMED.match(spec)
            texts[named["name"] if named else names[position] if position < len(names) else ""] = spec
    sizes = _sizes(texts, pair)
    for name, spec in texts.items():
        match, in_order = _RANGE.search(spec), _TRAIT.search(spec) is not None
        if match is None and not in_order:
            continue
        arranged = in_order or "permutation" in spec
        low, high, closed = -np.inf, np.inf, True
        if match is not None:
            low, high, closed = _number(match["low"], low), _number(match["high"], high), match["close"] == "]"
            high = sizes.get(high, high) if not closed else high
        found[name] = Range(low, high, closed, arranged, in_order)
    return found


def _sizes(texts: Mapping[str, str], pair: Pair) -> dict[float, float]:
    """For every size that is written down, the least that it is at this set of shapes."""
    found: dict[float, float] = {}
    for name, spec in texts.items():
        dims, x = _DIMS.search(spec), pair.inputs.get(name)
        written = dims["dims"].split(",") if dims is not None else []
        if x is None or len(written) != x.ndim:
            continue
        for text, size in zip(written, x.shape, strict=True):
            if text.strip().isdecimal():
                found[int(text)] = min(size, found.get(int(text), size))
    return found


def _number(text: str, otherwise: float) -> float:
    try:
        return float(text)
    except ValueError:  # the name of a dimension
        return otherwise


def within(arrays: Mapping[str, np.ndarray], given: Mapping[str, np.ndarray], ranges: Mapping[str, Range]) -> Arrays:
    """``arrays`` with every changed float input moved into its range."""
    return {
        name: ranges[name].kept(x) if name in ranges and is_float(x) and x is not given[name] else x
        for name, x in arrays.items()
    }


def integers(
    given: Mapping[str, np.ndarray], ranges: Mapping[str, Range], literals: Sequence[int], seed: int
) -> Iterator[tuple[str, Arrays]]:
    """Other integers of declared ranges: the ends, fresh ones, and those that the programs' own literals name."""
    free = {
        name: ranges[name].integers
        for name, x in given.items()
        if name in ranges and x.dtype.kind in "iu" and x.size and ranges[name].drawable
    }
    if not free:
        return
    rng = np.random.default_rng([seed, *b"integers"])
    ends = {n: rng.choice([low, high], given[n].shape).astype(given[n].dtype) for n, (low, high) in free.items()}
    yield ENDS, {**given, **ends}
    fresh = {
        n: rng.integers(low, high, given[n].shape, endpoint=True).astype(given[n].dtype)
        for n, (low, high) in free.items()
    }
    yield REDRAWN, {**given, **fresh}
    known = {n: [v for v in literals if low <= v <= high][:MOST_LITERALS] for n, (low, high) in free.items()}
    named = {
        n: np.resize(rng.permutation(values), given[n].shape).astype(given[n].dtype)
        for n, values in known.items() if values
    }  # fmt: skip
    if named:
        yield LITERALS, {**given, **named}


def throughout(
    given: Mapping[str, np.ndarray], ranges: Mapping[str, Range], literals: Sequence[int]
) -> Iterator[tuple[str, Arrays]]:
    """Every integer is one that the programs name: all labels left out, every token the padding.

    Where no range was declared, one of the given values, of inputs that repeat values in no order: labels, no offsets.
    """
    whole = {name: x for name, x in given.items() if x.dtype.kind in "iu" and x.size > 1}
    free = {name: ranges[name].integers for name in whole if name in ranges and ranges[name].drawable}
    yield from _filled(
        THROUGHOUT, given, literals, lambda name, v: name in free and free[name][0] <= v <= free[name][1]
    )
    loose = {name: set(x.reshape(-1).tolist()) for name, x in whole.items() if name not in ranges and _in_no_order(x)}
    yield from _filled(ONE_GIVEN, given, literals, lambda name, v: v in loose.get(name, ()))


def _filled(
    label: str, given: Mapping[str, np.ndarray], literals: Sequence[int], may: Callable[[str, int], bool]
) -> Iterator[tuple[str, Arrays]]:
    """One set for each of the first literals that some input may hold everywhere."""
    made = ({name: np.full_like(x, v) for name, x in given.items() if may(name, v)} for v in literals)
    for arrays in islice(filter(None, made), MOST_THROUGHOUT):
        yield label, {**given, **arrays}


def _in_no_order(x: np.ndarray) -> bool:
    """Some value comes twice, and they neither rise nor fall."""
    flat = x.reshape(-1)
    rises, falls = (flat[1:] >= flat[:-1]).all(), (flat[1:] <= flat[:-1]).all()
    return np.unique(flat).size < flat.size and not rises and not falls


def integer_masks(given: Mapping[str, np.ndarray]) -> list[str]:
    """Integer inputs that hold both truth values and no other, in no order (offsets would rise)."""
    whole = {name: x for name, x in given.items() if x.dtype.kind in "iu" and x.size >= LEAST_MASK}
    return [name for name, x in whole.items() if set(np.unique(x).tolist()) == {0, 1} and _in_no_order(x)]


def empty_rows(given: Mapping[str, np.ndarray], seed: int, also: Sequence[str] = ()) -> Iterator[tuple[str, Arrays]]:
    """Truth values, also integers that stand for such: a row of false ones, of true ones, the rest drawn anew."""
    masks = [name for name, x in given.items() if (x.dtype.kind == "b" or name in also) and x.size > 1]
    if not masks:
        return
    for words, value in ((f"a row of false in {masks[0]}", False), (f"a row of true in {masks[0]}", True)):
        rng = np.random.default_rng([seed, *words.encode()])
        made = dict[str, np.ndarray]()
        for name in masks:
            made[name] = rng.integers(0, 2, given[name].shape).astype(given[name].dtype)
            made[name][0] = value
            if given[name].ndim > 1:  # along the last axis too, whatever stands before it
                made[name][..., 0, :] = value
            elif given[name].ndim == 1:
                made[name][:] = value
        yield words, {**given, **made}
