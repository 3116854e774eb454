"""A test run under which ties count: where values differ coarsely, yet within bounds that doubt a decision.

Gives ``run``, which replaces a Runner's for tests and for shrinking their witnesses.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.evaluator.frame import Outcome
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.interpretations.hazards import Hazards
from equivalence.interpretations.tie_error import NO_KEYS, TieError
from equivalence.interpretations.ties import Ties
from equivalence.judge.inputs import dtype_of
from equivalence.judge.planes import plane, value
from equivalence.judge.runs import Inputs, Pair, PairRun, Runner
from equivalence.numerics.formats import format_of
from lowering.ir.program import Op, Program

SEED = 0x71E5
COARSE = 64  # units in the last place of the largest value: a difference beyond may be a decision's


def run(runner: Runner, pair: Pair, error: Error, inputs: Inputs) -> PairRun:
    """Values and bounds on ``inputs``; ties are looked into only where a decision may explain a difference."""
    plain = runner.run(pair, [Depends(marks=False), error, Hazards()], inputs)
    if not plain.on_path or not doubtful(plain) or not (decides(pair.a) or decides(pair.b)):
        return plain
    words = Ties(SEED)
    found, alone = [], []
    for side, program in enumerate((pair.a, pair.b)):
        own = TieError(error, words)
        alone.append(runner.one(program, [words, own], inputs, side=side))
        found.append(own.found())
    shared = np.intersect1d(*found) if all(keys.size for keys in found) else NO_KEYS
    done = runner.run(pair, [Depends(marks=False), words, TieError(error, words, shared), Hazards()], inputs)
    if shared.size:
        _rest_on_both(done, alone)
    return done


def _rest_on_both(done: PairRun, alone: Sequence[Outcome]) -> None:
    """A tie that both programs see settles only elements that rest on such ties on both sides.

    Elsewhere the bounds are those of each side ``alone``: a product in f64 misses the step that one in f32 rounds to.
    """
    for (name, _), (other, _) in zip(done.pair.a.outputs, done.pair.b.outputs, strict=True):
        ends = ((done.a, alone[0], name), (done.b, alone[1], other))
        lanes = [outcome.outputs[key] for outcome, _, key in ends]
        if any(own.planes is None for own in lanes):
            continue
        less = [own.planes["bound"] for own in lanes]  # type: ignore[index]
        full = [outcome.outputs[key].planes["bound"] for _, outcome, key in ends]  # type: ignore[index]
        both = (less[0] < full[0]) & (less[1] < full[1])
        for (outcome, _, key), own, few, most in zip(ends, lanes, less, full, strict=True):
            bound = np.where(both, few, most)
            outcome.outputs[key] = own.replace(planes={**own.planes, "bound": bound})  # type: ignore[dict-item]


def doubtful(done: PairRun) -> bool:
    """Whether an output differs by more than roundings usually do, while all outputs are within their bounds."""
    seen = [_seen(value(a), value(b), plane(a, "bound") + plane(b, "bound")) for _, a, b in done.outputs()]
    return any(coarse for coarse, _ in seen) and not any(beyond for _, beyond in seen)


def _seen(x: np.ndarray, y: np.ndarray, bound: np.ndarray) -> tuple[bool, bool]:
    """(whether the two differ coarsely somewhere, whether they do beyond the bound)."""
    with np.errstate(all="ignore"):
        wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
        distance, limit = np.abs(wide_x - wide_y), 0.0
        if x.dtype.kind not in "biu":
            finite = [np.where(np.isfinite(v), np.abs(v), 0.0) for v in (wide_x, wide_y)]
            limit = COARSE * _unit(x) * max(float(np.max(v, initial=0.0)) for v in finite)
        coarse = np.isfinite(distance) & (distance > limit)
        return bool((coarse & (distance <= bound)).any()), bool((coarse & (distance > bound)).any())


def _unit(x: np.ndarray) -> float:
    return min(2.0 ** -format_of(dtype_of(x).name).p, 2.0**-10)


def decides(program: Program) -> bool:
    """Whether floats are compared, ordered or made whole in it: an argmax, a sort, a floor, a cast to integers."""
    return any(_decision(op) for op in program.walk())


def _decision(op: Op) -> bool:
    if op.name == "sort":
        return True
    if not op.operands or not op.operands[0].type.dtype.is_float:
        return False
    if op.name == "cast":
        return not op.results[0].type.dtype.is_float
    if op.name in ("reduce", "scan"):
        return op.attrs["combine"] in ("argmax", "argmin", "region")
    return op.name in ("cmp", "round")
