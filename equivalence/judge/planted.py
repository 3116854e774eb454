"""Inputs that hold special values: NaN, infinities, zeros of either sign, subnormals, ties, masked rows, overflow.

Takes the given arrays of a Pair; gives Planted sets, each of one kind.  Must not know what the programs make of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from equivalence.judge import ranges
from equivalence.judge.inputs import dtype_of, is_float
from equivalence.judge.runs import Pair
from equivalence.numerics.formats import FORMATS, format_of
from equivalence.verdicts import Plant
from lowering.ir.program import Op, Program
from lowering.ir.types import DType, dtype

Arrays = dict[str, np.ndarray]

NAN, SUBNORMAL, TIES, CAST, MASKED = "a NaN", "a subnormal", "ties", "overflow in a cast", "a masked row"
ZEROS = ("zero everywhere", "-0 everywhere", "zeros of either sign")
FEW_FROM = 1 << 17  # input elements beyond which every run costs: a NaN and a row of -infinity stand for the rest


@dataclass(frozen=True, slots=True)
class Planted:
    """One set of inputs.  ``usual``: finite numbers, none too small or too large, on which tests must agree anyway."""

    kind: str
    words: str
    inputs: Arrays
    plants: tuple[Plant, ...]
    usual: bool = False


def kinds(name: str) -> dict[str, float]:
    """Special values of the format called ``name``, by their names."""
    fmt = format_of(name)
    table = {"-0": -0.0, SUBNORMAL: 2.0 ** (fmt.emin - fmt.p + 1), "the largest finite value": fmt.max}
    if fmt.nan != "none":
        table = {NAN: np.nan, **table}
    if fmt.has_inf:
        table = {**table, "+infinity": np.inf, "-infinity": -np.inf}
    return table


def every(pair: Pair) -> Iterator[Planted]:
    """Masked rows; one value in one place of one float input at a time; rows of -infinity; zeros; ties."""
    few = pair.size > FEW_FROM
    yield from _masked(pair.inputs)
    for name, x in floats(pair.inputs).items():
        for kind, special in list(kinds(dtype_of(x).name).items())[: 1 if few else None]:
            yield _in_one_place(pair.inputs, name, kind, special)
        if x.ndim and format_of(dtype_of(x).name).has_inf:
            row = x.copy()
            row[0] = -np.inf
            plant = Plant(name, "row 0", "-inf")
            yield Planted("a row of -infinity", f"a row of -infinity in {name}", {**pair.inputs, name: row}, (plant,))
    if not few:
        yield from _beyond_casts(pair)
        yield from _zeros(pair.inputs)
        yield from _ties(pair)


def floats(given: Mapping[str, np.ndarray]) -> Arrays:
    """The float inputs that a caller hands over, weights left out."""
    return {n: x for n, x in given.items() if is_float(x) and x.size and not n.startswith("weight:")}


def _in_one_place(given: Arrays, name: str, kind: str, special: float, said: str = "") -> Planted:
    changed = given[name].copy()
    flat = changed.size // 3
    changed.reshape(-1)[flat] = special
    place = str([int(i) for i in np.unravel_index(flat, changed.shape)])
    plant = Plant(name, place, shown(float(changed.reshape(-1)[flat])))
    return Planted(kind, f"{said or kind} in {name}", {**given, name: changed}, (plant,))


def shown(x: float) -> float | str:
    """A number; NaN and infinities as text."""
    return float(x) if np.isfinite(x) else str(float(x))


def _masked(given: Arrays) -> Iterator[Planted]:
    masks = [name for name, x in given.items() if x.dtype.kind == "b" and x.size > 1]
    for words, inputs in ranges.empty_rows(given, 0):
        truth = 1.0 if "true" in words else 0.0
        yield Planted(MASKED, words, inputs, tuple(Plant(name, "row 0, the rest drawn", truth) for name in masks))


def _zeros(given: Arrays) -> Iterator[Planted]:
    names = [name for name, x in given.items() if is_float(x) and not name.startswith("weight:")]
    if not names:
        return
    for kind, zeros in zip(ZEROS, ([0.0], [-0.0], [0.0, -0.0]), strict=True):
        made = {n: np.resize(np.array(zeros), x.shape).astype(x.dtype) if n in names else x for n, x in given.items()}
        value = zeros[0] if len(zeros) == 1 else "0.0, -0.0 in turn"
        yield Planted(kind, kind, made, tuple(Plant(n, "everywhere", value) for n in names), usual=True)


def _ties(pair: Pair) -> Iterator[Planted]:
    """Each value several times in every row, column and plane, so that extrema, thresholds and keys of sorts tie."""
    if not any(_may_tie(op) for program in (pair.a, pair.b) for op in program.walk()):
        return
    for name, x in floats(pair.inputs).items():
        if x.ndim and x.size > 1:
            plant = Plant(name, "everywhere", "each value also at the mirrored place of every axis")
            yield Planted(TIES, f"ties in {name}", {**pair.inputs, name: mirrored(x)}, (plant,), usual=True)


def mirrored(x: np.ndarray) -> np.ndarray:
    """The first half of every axis, and its mirror image in place of the second."""
    for axis, n in enumerate(x.shape):
        places = np.minimum(np.arange(n), np.arange(n)[::-1])
        x = np.take(x, places, axis=axis)
    return np.ascontiguousarray(x)


def _may_tie(op: Op) -> bool:
    if op.name in ("sort", "cmp"):
        return True
    return op.name in ("reduce", "scan") and op.attrs["combine"] in ("argmax", "argmin", "region")


def _beyond_casts(pair: Pair) -> Iterator[Planted]:
    """A value half as large again as what a narrower format of a cast holds, where the input can hold it."""
    targets = sorted(
        {largest(to): to.name for program in (pair.a, pair.b) for to in narrowed(program)}.items(), reverse=True
    )
    for name, x in floats(pair.inputs).items():
        most = format_of(dtype_of(x).name).max
        for limit, target in targets:
            if 1.5 * limit < most:
                said = f"a value beyond {target}"
                yield _in_one_place(pair.inputs, name, CAST, 1.5 * limit, said)


def narrowed(program: Program) -> Iterator[DType]:
    """The formats of casts that floats may be too large for."""
    for op in program.walk():
        if op.name == "cast" and op.operands[0].type.dtype.is_float:
            source, to = op.operands[0].type.dtype, dtype(op.attrs["to"])
            if to.bits > 1 and largest(to) < largest(source):
                yield to


def largest(dt: DType) -> float:
    """The largest finite value of a float format or of an integer."""
    if dt.is_float:
        return format_of(dt.name).max if dt.name in FORMATS else np.inf
    return float(np.iinfo(dt.numpy).max)
