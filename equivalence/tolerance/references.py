"""The reference outputs, how far permitted implementations may be from them, and which tolerances follow.

Takes a Program (or two) and draws of inputs; gives Reference per draw and output.  Must not know candidates.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from equivalence.evaluator import Freedoms, Lanes, Limits, Machine, Outcome
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.error import Error
from equivalence.judge import inputs
from equivalence.judge.compare import poisoned
from equivalence.judge.planes import plane, value
from equivalence.numerics.formats import ulp
from equivalence.tolerance.derive import Points
from equivalence.tolerance.result import OutputTolerance
from lowering.errors import UsageError
from lowering.ir.program import Program
from lowering.ir.types import DType

Array = np.ndarray
Draw = tuple[str, dict[str, Array]]
KINDS = {"worst": "bound", "expected": "expected"}


@dataclass(frozen=True, slots=True)
class Reference:
    """One output on one draw.  ``errors``: by tolerance, the distance that two permitted implementations may have;
    ``known``: elements for which that is finite; ``counts``: those that no undefined value reaches."""

    name: str
    dtype: DType
    value: Array
    errors: dict[str, Array]
    own: dict[str, Array]  # of the reference alone, from the real result
    known: Array
    counts: Array


def draws(given: dict[str, Array], count: int, seed: int) -> Iterator[Draw]:
    """The given values, then the same in other orders: as random as the given ones."""
    yield "the given values", given
    if any(inputs.is_float(x) for x in given.values()):
        for n in range(1, count):
            yield f"the given values reordered, seed {seed + n}", inputs.make("reordered", given, seed + n)


def evaluate(program: Program, arrays: dict[str, Array], deadline: float) -> Outcome:
    limits = Limits()
    limits.deadline = min(limits.deadline, deadline)
    return Machine(program, [Depends(marks=False), Error()], Freedoms(), limits).run(arrays)


def references(a: Outcome, b: Outcome | None) -> list[Reference]:
    """Of A's outputs; with B both sides' roundings may meet."""
    others: Sequence[Lanes | None] = list(b.outputs.values()) if b is not None else [None] * len(a.outputs)
    if len(others) != len(a.outputs):
        raise UsageError(f"A gives {len(a.outputs)} outputs, B gives {len(others)}: no tolerance compares them")
    return [_reference(name, lanes, other) for (name, lanes), other in zip(a.outputs.items(), others, strict=True)]


def _reference(name: str, a: Lanes, b: Lanes | None) -> Reference:
    if b is not None and (a.dtype is not b.dtype or a.shape != b.shape):
        kinds = [f"{x.dtype.name}[{','.join(map(str, x.shape))}]" for x in (a, b)]
        raise UsageError(f"{name}: A gives {kinds[0]}, B gives {kinds[1]}: no tolerance compares them")
    own = {kind: plane(a, plane_name) for kind, plane_name in KINDS.items()}
    errors = {kind: 2 * own[kind] if b is None else own[kind] + np.maximum(own[kind], _of(b, a, kind)) for kind in own}
    finite = np.isfinite(value(a).astype(np.float64)) if a.dtype.is_float else np.ones(a.shape, bool)
    bounded = np.isfinite(errors["worst"]) if a.dtype.is_float else errors["worst"] == 0
    counts = ~poisoned(a)
    masks = np.asarray(counts & finite & bounded), np.asarray(counts)
    return Reference(name, a.dtype, value(a), errors, own, *masks)


def _of(b: Lanes, a: Lanes, kind: str) -> Array:
    """B's errors; none where its value is undefined and A's is not: that is no matter of rounding."""
    return np.where(lost(a, b), 0.0, plane(b, KINDS[kind]))


def lost(a: Lanes, b: Lanes) -> Array:
    """Elements that an undefined value may have reached in B alone."""
    return np.asarray(poisoned(b) & ~poisoned(a))


def derive(found: Sequence[Sequence[Reference]], beside: bool) -> list[OutputTolerance]:
    """Per output, over all draws; ``beside``: whether there is a B, so that A alone is asked about as well."""
    results = []
    for same in zip(*found, strict=True):
        worst, expected = (_points(same, kind, alone=False) for kind in KINDS)
        alone = {kind: _points(same, kind, alone=True).tolerance() if beside else None for kind in KINDS}
        one = same[0]
        results.append(
            OutputTolerance(
                one.name,
                one.dtype.name,
                one.value.shape,
                worst=worst.tolerance(),
                expected=expected.tolerance(),
                unbounded=worst.unbounded,
                elements=worst.elements,
                worst_alone=alone["worst"],
                expected_alone=alone["expected"],
            )
        )
    return results


def _points(same: Sequence[Reference], kind: str, alone: bool) -> Points:
    points = Points()
    for one in same:
        _add(points, one, kind, 2 * one.own[kind] if alone else one.errors[kind])
    return points


def _add(points: Points, one: Reference, kind: str, errors: Array) -> None:
    """|b| may be smaller by its own error than it is here."""
    size = np.abs(one.value.astype(np.float64))
    with np.errstate(invalid="ignore"):
        size = np.asarray(np.maximum(size - 2 * one.own[kind], 0.0))
    flat = one.value.reshape(-1)
    step = ulp(flat, one.dtype.name) if one.dtype.is_float else np.ones(flat.shape)
    points.add(*(x.reshape(-1) for x in (size, errors, step, one.known)))


__all__ = ["Draw", "Reference", "derive", "draws", "evaluate", "lost", "references"]
