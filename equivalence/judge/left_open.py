"""Rows of special values that follow what a source or a target leaves open: flushed subnormals, order among equal keys.

Takes the rows of one run; gives them with the status 'open', and a message, where that choice would move an output.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from equivalence.evaluator.frame import OutOfTime
from equivalence.evaluator.lanes import Lanes
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.judge.compare import FLUSHED
from equivalence.judge.inputs import dtype_of
from equivalence.judge.planes import plane, value
from equivalence.judge.planted import SUBNORMAL, TIES, Planted, shown
from equivalence.judge.runs import Pair, PairRun, Runner
from equivalence.judge.special_rows import ALIKE, DIFFER, OPEN, apart, tie_apart
from equivalence.numerics.formats import format_of
from equivalence.verdicts import SpecialRow
from lowering.errors import Unsupported
from lowering.ir.program import Program

Array = np.ndarray
Rows = list[SpecialRow]


def settle(pair: Pair, runner: Runner, error: Error, planted: Planted, run: PairRun, made: Rows) -> Rows:
    """``made``, with what is only one of several permitted outcomes said to be open."""
    if planted.kind == SUBNORMAL:
        return _flushed(pair, runner, error, planted, run, made)
    return _other_keys(pair, runner, error, planted, run, made) if planted.kind == TIES else made


# -- subnormals that XLA flushes -------------------------------------------------------------------------------------


def _flushed(pair: Pair, runner: Runner, error: Error, planted: Planted, run: PairRun, made: Rows) -> Rows:
    """StableHLO leaves it to the target whether subnormals are kept: XLA takes them for 0 on a CPU and a TPU."""
    flushing = [program.attrs.get("level") == "stablehlo" for program in (pair.a, pair.b)]
    names = [plant.input for plant in planted.plants]
    if sum(flushing) != 1 or any(dtype_of(pair.inputs[n]).name not in FLUSHED for n in names):
        return made  # one freedom on both sides, or none
    side = flushing.index(True)
    zeros = {n: x if n not in names else _flush(x, dtype_of(x).name) for n, x in planted.inputs.items()}
    other = _attempt(lambda: runner.run(pair, [Depends(marks=False), error], zeros))
    return made if other is None else [_with_flush(row, run, other, side) for row in made]


def _with_flush(row: SpecialRow, run: PairRun, other: PairRun, side: int) -> SpecialRow:
    """``other``: the run in which the flushing side's subnormal is a zero."""
    kept = next(found for found in run.outputs() if found[0] == row.output)[1:]
    gone = next(found for found in other.outputs() if found[0] == row.output)[1:][side]
    flushed = value(gone).astype(np.float64)
    if gone.dtype.name in FLUSHED:
        flushed = _flush(flushed, gone.dtype.name)
    bound = plane(kept[1 - side], "bound") + plane(gone, "bound")
    kept_values = value(kept[1 - side]).astype(np.float64)
    normal = format_of(gone.dtype.name).smallest_normal if gone.dtype.name in FLUSHED else 0.0
    with np.errstate(all="ignore"):
        far = apart(flushed, kept_values, bound) & ~((np.abs(flushed) < normal) & (np.abs(kept_values) < normal))
    if row.status != ALIKE or not far.any():
        return row
    index = tuple(int(i) for i in np.unravel_index(int(np.argmax(far)), far.shape))
    letter, values = "AB"[side], [shown(float(value(x)[index])) for x in kept]
    place = f"{row.output}[{', '.join(map(str, index))}]"
    said = (
        f"{row.input} gives {values[0]} in A and {values[1]} in B at {place}, but {shown(float(flushed[index]))} in "
        f"{letter} where it is flushed: StableHLO leaves that open, XLA flushes on a CPU and a TPU"
    )
    return replace(row, status=OPEN, message=said, index=index, value_a=values[0], value_b=values[1])


def _flush(x: Array, name: str) -> Array:
    return np.where(np.abs(x.astype(np.float64)) < format_of(name).smallest_normal, x * 0, x).astype(x.dtype)


# -- equal keys ------------------------------------------------------------------------------------------------------


def _other_keys(pair: Pair, runner: Runner, error: Error, planted: Planted, run: PairRun, made: Rows) -> Rows:
    """What an unstable sort, or an extremum's place with any of equal ones, gives the other way round."""
    if not any(_unstable(program) or _any_place(program) for program in (pair.a, pair.b)):
        return made
    backward = runner.the_other_way("keys")
    other = _attempt(lambda: backward.run(pair, [Depends(marks=False), error], planted.inputs))
    return made if other is None else [_with_choice(row, run, other, pair) for row in made]


def _with_choice(row: SpecialRow, run: PairRun, other: PairRun, pair: Pair) -> SpecialRow:
    first, second = (next(o for o in done.outputs() if o[0] == row.output)[1:] for done in (run, other))
    moved = [
        bool(apart(value(x).astype(np.float64), value(y).astype(np.float64), plane(x, "bound") * 2).any())
        or (x.dtype.is_integer and _any_place(program))
        for x, y, program in zip(first, second, (pair.a, pair.b), strict=True)
    ]
    if not any(moved) or (row.status == DIFFER and not _all_moved_with(first, second[0], pair.a)):
        return row  # what A fixes, B must give
    sides = " and ".join(letter for letter, side in zip("AB", moved) if side)
    said = f"{row.message}: which of equal keys comes first, or is named, is left open in {sides}"
    return replace(row, status=OPEN, message=said)


def _all_moved_with(sides: Sequence[Lanes], a_otherwise: Lanes, program: Program) -> bool:
    """Whether A itself gives something else wherever the two differ, once its keys go the other way round."""
    a, b = sides
    if a.dtype.is_integer and _any_place(program):
        return True
    far = tie_apart(a, b)
    moved = apart(value(a).astype(np.float64), value(a_otherwise).astype(np.float64), plane(a, "bound") * 2)
    return not (far & ~moved).any()


def _unstable(program: Program) -> bool:
    return any(op.name == "sort" and not op.attrs["stable"] for op in program.walk())


def _any_place(program: Program) -> bool:
    return any(op.name in ("reduce", "scan") and op.attrs["tie"] != "lowest" for op in program.walk())


def _attempt(run: Callable[[], PairRun]) -> PairRun | None:
    """None where it cannot be run, or says nothing because the host would do something else."""
    try:
        done = run()
    except (Unsupported, OutOfTime):
        return None
    return done if done.on_path else None
