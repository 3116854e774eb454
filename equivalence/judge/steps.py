"""Inputs at the steps of roundings to whole numbers: multiples of half a step, where halves, floors and ceilings part.

Takes the given arrays and the programs' literals; gives arrays.  Random values never meet a step, and what a rounding
moved there is no witness: one input at a time holds exact multiples, the others powers of two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from equivalence.judge.beyond import USUAL_SIZE
from equivalence.judge.inputs import Arrays, into_domain, is_flag, is_float
from lowering.ir.program import Op, Program

LABEL = "at the steps of roundings"
MOST_STEPS, MOST_INPUTS, MOST_TOPS = 5, 3, 3
FEWEST, MOST = 4, 24  # halves of a step on either side of 0


def rounds(program: Program) -> bool:
    """Whether floats are made whole in it."""
    return any(_whole(op) for op in program.walk())


def _whole(op: Op) -> bool:
    if op.name not in ("round", "cast") or not op.operands[0].type.dtype.is_float:
        return False
    return op.name == "round" or op.results[0].type.dtype.is_integer


def sets(given: Mapping[str, np.ndarray], constants: Sequence[float], seed: int) -> Iterator[Arrays]:
    """Each input in turn: multiples of half a step everywhere, one in each row, then under a literal as the largest.

    Where a row is divided by its largest value over 127, the scale is one.
    """
    rng = np.random.default_rng([seed, *LABEL.encode()])
    floats = [name for name, x in given.items() if is_float(x) and x.size and not name.startswith("weight:")
              and not is_flag(x.astype(np.float64))]  # fmt: skip
    powers = {name: _power(given[name]) for name in floats}
    others = {name: np.full_like(given[name], powers[name]) for name in floats}
    for name in floats[:MOST_INPUTS]:
        x = given[name].astype(np.float64)
        for step in lengths(constants, [power for other, power in powers.items() if other != name]):
            reach = np.clip(np.ceil(np.abs(x).max() / step * 2), FEWEST, MOST) if np.isfinite(x).all() else MOST
            made = rng.integers(-int(reach), int(reach), x.shape, endpoint=True) * (step / 2)
            for values in (made, np.broadcast_to(made[..., :1], x.shape)) if x.ndim else (made,):
                yield {**given, **others, name: _like(given[name], values)}
        for top in tops(constants) if x.ndim else ():
            made = rng.integers(-2 * MOST, 2 * MOST, x.shape, endpoint=True) / 2.0
            made[..., 0] = top
            yield {**given, **others, name: _like(given[name], made)}


def _like(given: np.ndarray, values: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        return into_domain(values, given.astype(np.float64)).astype(given.dtype)


def lengths(constants: Sequence[float], powers: Sequence[float]) -> list[float]:
    """One, and what a product or a quotient by a literal, or by another input, makes one."""
    usable = sorted({abs(c) for c in constants if 1 / USUAL_SIZE < abs(c) < USUAL_SIZE})
    exact_first = sorted(usable, key=lambda c: np.frexp(c)[0] != 0.5)
    found = [length for c in (1.0, *powers, *exact_first) for length in (1 / c, c)]
    return list(dict.fromkeys(found))[:MOST_STEPS]


def tops(constants: Sequence[float]) -> list[float]:
    """The largest literals, which are above what is drawn."""
    return sorted({abs(c) for c in constants if MOST < abs(c) < USUAL_SIZE})[-MOST_TOPS:]


def _power(x: np.ndarray) -> float:
    """The power of two nearest to the usual size of the given values."""
    size = np.median(np.abs(x.astype(np.float64)))
    return float(np.exp2(np.rint(np.log2(size)))) if 1 / USUAL_SIZE < size < USUAL_SIZE else 1.0
