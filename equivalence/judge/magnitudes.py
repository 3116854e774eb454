"""Sizes of inputs at which machine integers of a program overflow, while the conversion to them does not.

Takes a pair; gives arrays for differential.py.  Only where floats become integers, or truth values narrow ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.base import Site
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Array, Error
from equivalence.judge.compare import poisoned
from equivalence.judge.inputs import Arrays, unflagged
from equivalence.judge.runs import Pair, Runner
from lowering.errors import Unsupported
from lowering.ir.program import Op, Program

LABEL = "large for the programs' integers"
#: By the bits of an integer type: values whose sums, squares or small multiples it does not hold.
SIZES: dict[int, tuple[float, ...]] = {8: (100.0, 200.0, 700.0), 16: (200.0, 700.0, 3e4, 5e4), 32: (5e4, 1e5, 1e9, 3e9)}


class Conversions(Error):
    """Notes whether a finite float was beyond the integers that it was converted to."""

    def __init__(self) -> None:
        super().__init__(usual=False)
        self.beyond = False

    def op_cast(self, site: Site, out: Lanes, x: Sequence[Lanes], e: Sequence[Array], growth: object) -> Array:
        if x[0].dtype.is_float and not out.dtype.is_float and out.dtype.kind != "bool":
            ends = np.iinfo(out.dtype.numpy)
            value = np.trunc(x[0].data.astype(np.float64))
            self.beyond |= bool((~((value >= float(ends.min)) & (value <= float(ends.max)))).any())
        return super().op_cast(site, out, x, e, growth)


def of(pair: Pair) -> list[float]:
    """The sizes worth trying, by the integer types that floats and truth values become in either program."""
    bits = {b for program in (pair.a, pair.b) for b in _widths(program)}
    return sorted({size for b in bits for size in SIZES.get(b, ())})


def _widths(program: Program) -> Iterator[int]:
    for op in program.walk():
        if op.name == "cast" and _narrows(op):
            yield op.results[0].type.dtype.bits


def _narrows(op: Op) -> bool:
    source, target = op.operands[0].type.dtype, op.results[0].type.dtype
    if not target.is_integer or target.kind == "bool":
        return False
    return source.is_float or (target.bits < 32 and (source.kind == "bool" or source.bits > target.bits))


def sets(pair: Pair, runner: Runner, seed: int, declared: frozenset[str]) -> Iterator[Arrays]:
    """Float inputs of each size, where one side at least converts them without overflow, and none reads beyond."""
    rng = np.random.default_rng([seed, *LABEL.encode()])
    for size in of(pair):
        arrays = {name: x if name in declared else _sized(name, x, size, rng) for name, x in pair.inputs.items()}
        if any(arrays[name] is not x for name, x in pair.inputs.items()) and _usable(pair, runner, arrays):
            yield arrays


def _sized(name: str, x: np.ndarray, size: float, rng: np.random.Generator) -> np.ndarray:
    if name not in unflagged({name: x}) or name.startswith("weight:"):
        return x
    with np.errstate(all="ignore"):
        made = (size * rng.choice([1.0, 0.9375], x.shape)).astype(x.dtype)
    return made if np.isfinite(made.astype(np.float64)).all() else x


def _usable(pair: Pair, runner: Runner, arrays: Mapping[str, np.ndarray]) -> bool:
    """Not where integers made of floats, as places, lead out of a buffer, or both sides' conversions overflow."""
    beyond = True
    for side, program in enumerate((pair.a, pair.b)):
        conversions = Conversions()
        try:
            done = runner.one(program, [conversions, Depends(marks=False)], arrays, side=side)
        except Unsupported:
            return False
        if any(poisoned(lanes).any() for lanes in done.outputs.values()):
            return False
        beyond &= conversions.beyond
    return not beyond
