"""What moving to another device changes by itself: A as target A evaluates it, against B as target B does.

Takes pairs that were judged and two targets; gives one finding per output.  The verdict is about the programs and is
not touched: this is about two matrix units, as numerics/matrix_units.py models them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from equivalence.evaluator import Limits
from equivalence.evaluator.frame import OutOfTime
from equivalence.judge import inputs
from equivalence.judge.planes import value
from equivalence.judge.runs import Pair, Runner
from equivalence.numerics.formats import same_bits, ulp_distance
from equivalence.numerics.matrix_dot import rows
from equivalence.numerics.matrix_units import Row, Unit, unit_of
from equivalence.verdicts import Finding, Level
from lowering.errors import UsageError
from lowering.ir.program import Op, Program
from lowering.ir.types import DType

CODE = "migration"
GIVEN = "the given inputs"
SETS = ("reordered", "positive", "small", "mean far from zero", "cancelling neighbours")
MOST_ELEMENTS = 1 << 20  # of the inputs: beyond, only the given values are tried
MOST_PRODUCTS = 1 << 32  # of one dot of a host program, which is one step that no deadline ends: about a minute


@dataclass(frozen=True, slots=True)
class Moved:
    """One output on one set of inputs: elements whose bits differ, and the largest distance in ulp.

    ``alone``: how many differ with the dots of both evaluated alike, so that the programs and not the units part them.
    """

    output: str
    label: str
    elements: int
    differing: int
    max_ulp: int
    alone: int


def units(targets: tuple[str, str]) -> tuple[Unit, Unit]:
    """The matrix units of two targets; a target without one is a usage error."""
    found = [unit_of(target) for target in targets]
    for option, target, unit in zip(("--target", "--target-b"), targets, found, strict=True):
        if unit is None:
            raise UsageError(f"{option} is {target!r}: its matrix unit is not modelled; see docs/matrix-units.md")
    return found[0], found[1]  # type: ignore[return-value]


def moved(pair: Pair, targets: tuple[str, str], seed: int = 0, limits: Limits | None = None) -> list[Moved]:
    """Every output on the given inputs and on those of ``SETS``, as far as time allows."""
    both, limits = units(targets), limits or Limits()
    result: list[Moved] = []
    for label, arrays in _inputs(pair, seed):
        try:
            result += _on(pair, both, label, arrays, limits)
        except OutOfTime:
            if not result:
                raise
            break
    return result


def _inputs(pair: Pair, seed: int) -> Iterator[tuple[str, Mapping[str, np.ndarray]]]:
    yield GIVEN, pair.inputs
    if pair.size <= MOST_ELEMENTS and any(inputs.is_float(x) for x in pair.inputs.values()):
        yield from ((name, inputs.make(name, pair.inputs, seed)) for name in SETS)


def _on(
    pair: Pair, both: tuple[Unit, Unit], label: str, arrays: Mapping[str, np.ndarray], limits: Limits
) -> list[Moved]:
    programs = pair.a, pair.b
    a, b = (Runner(limits=replace(limits, unit=unit)).one(programs[n], (), arrays, side=n) for n, unit in
            enumerate(both))  # fmt: skip
    plain = [Runner(limits=limits).one(program, (), arrays, side=n) for n, program in enumerate(programs)]
    result = []
    for (name, _), (other, _) in zip(pair.a.outputs, pair.b.outputs, strict=True):
        dtype = a.outputs[name].dtype
        x, y = value(a.outputs[name]), value(b.outputs[other])
        alone = _differing(value(plain[0].outputs[name]), value(plain[1].outputs[other]), dtype)
        differing = _differing(x, y, dtype)
        result.append(Moved(name, label, x.size, differing, _furthest(x, y, dtype), alone))
    return result


def _differing(x: np.ndarray, y: np.ndarray, dtype: DType) -> int:
    same = same_bits(x, y, dtype.name) if dtype.is_float else np.asarray(x == y)
    return int(np.size(same) - np.count_nonzero(same))


def _furthest(x: np.ndarray, y: np.ndarray, dtype: DType) -> int:
    if not dtype.is_float or not x.size:
        return 0
    finite = np.isfinite(x.astype(np.float64)) & np.isfinite(y.astype(np.float64))
    return int(np.max(np.where(finite, ulp_distance(x, y, dtype.name).reshape(finite.shape), 0), initial=0))


# -- in words ------------------------------------------------------------------------------------------------------


def findings(
    pair: Pair, targets: tuple[str, str], level: Level, seed: int = 0, limits: Limits | None = None
) -> list[Finding]:
    """One note per output, and one per side for a dot whose arithmetic on its target is not modelled."""
    sides = zip((pair.a, pair.b), units(targets), targets, "AB", strict=True)
    result = [finding for side in sides for finding in _unmodelled(*side)]
    if level in (Level.DIFFERENT, Level.UNDECIDED, Level.UNSUPPORTED):
        said = f"not looked at: the two are {level.value}, so that more than the device would be compared"
        return [*result, Finding(CODE, said, None, "note")]
    if max(map(_products, (pair.a, pair.b))) > MOST_PRODUCTS:
        return [*result, Finding(CODE, "not looked at: a dot is too large for it; give smaller inputs", None, "note")]
    try:
        seen = moved(pair, targets, seed, limits)
    except OutOfTime:
        return [*result, Finding(CODE, "not looked at: out of time", None, "note")]
    place = next((op.span for op in dots(pair.a)), None)
    assumed = dict.fromkeys(words for p, unit in zip((pair.a, pair.b), units(targets)) for words in _assumed(p, unit))
    ending = "".join(f"; assumed, not measured: {words}" for words in assumed)
    return [*result, *(Finding(CODE, said + ending, place, "note") for said in _sentences(seen, targets))]


def dots(program: Program) -> list[Op]:
    """The float dots of a program, kernels included."""
    return [op for op in program.walk() if op.name == "dot" and op.results[0].type.dtype.is_float]


def _products(program: Program) -> int:
    """The most products that one dot outside kernels adds up."""
    found = [op for op in program.body.walk() if op.name == "dot" and op.results[0].type.dtype.is_float]
    return max((op.results[0].type.size * op.operands[0].type.shape[-1] for op in found), default=0)


def _row(op: Op, unit: Unit) -> Row | None:
    types = op.operands[0].type.dtype.name, op.operands[1].type.dtype.name
    return rows(unit, types, op.results[0].type.dtype.name, op.attrs["precision"])


def _unmodelled(program: Program, unit: Unit, target: str, side: str) -> list[Finding]:
    for op in dots(program):
        if _row(op, unit) is None:
            names = [v.type.dtype.name for v in (*op.operands[:2], *op.results)]
            what = f"{side}: {names[0]} x {names[1]} into {names[2]} on {target}"
            return [Finding(CODE, f"{what} is not modelled: one exact sum, rounded once", op.span, "note")]
    return []


def _assumed(program: Program, unit: Unit) -> list[str]:
    """What of the adders that a program uses is not known."""
    found = [row for op in dots(program) if (row := _row(op, unit)) is not None and row.status == "assumed"]
    return [f"{unit.what}, {row.why}" for row in found]


def _sentences(seen: Sequence[Moved], targets: tuple[str, str]) -> Iterator[str]:
    for name in dict.fromkeys(found.output for found in seen):
        mine = [found for found in seen if found.output == name]
        worst = max(mine[1:], key=lambda found: (found.differing / max(1, found.elements), found.max_ulp), default=None)
        said = f"{name}, {targets[0]} against {targets[1]}: {_share(mine[0])} on {GIVEN}"
        if worst is not None and (worst.differing > mine[0].differing or worst.max_ulp > mine[0].max_ulp):
            said += f"; {_share(worst)} on inputs {worst.label!r}"
        alone = max(found.alone for found in mine)
        if alone:
            said += f" (up to {alone} differ where all dots are evaluated alike: there the programs part)"
        yield said


def _share(found: Moved) -> str:
    percent = 100 * found.differing / max(1, found.elements)
    share = f"{found.differing} of {found.elements} elements ({percent:.1f} %)"
    return f"{share} differ in bits, by at most {found.max_ulp} ulp"


__all__ = ["CODE", "Moved", "dots", "findings", "moved", "units"]
