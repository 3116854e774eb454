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
from equivalence.judge.planes import plane, value
from equivalence.numerics.formats import ulp
from equivalence.tolerance.derive import Points
from equivalence.tolerance.result import OutputTolerance
from lowering.errors import Unsupported, UsageError
from lowering.ir.program import Program
from lowering.ir.types import DType

Array = np.ndarray
Draw = tuple[str, dict[str, Array]]
KINDS = {"worst": "bound", "expected": "expected"}


@dataclass(frozen=True, slots=True)
class Reference:
    """One output on one draw.  ``errors``: by tolerance, the distance that two permitted implementations may have;
    ``known``: elements for which that is finite; ``counts``: those that do not follow undefined values."""

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


def references(a: Outcome, b: Outcome | None, undefined: Sequence[Sequence[Array]]) -> list[Reference]:
    """Of A's outputs; with B both sides' roundings may meet.  ``undefined``: elements of A's outputs, and of B's."""
    others: Sequence[Lanes | None] = list(b.outputs.values()) if b is not None else [None] * len(a.outputs)
    if len(others) != len(a.outputs):
        raise UsageError(f"A gives {len(a.outputs)} outputs, B gives {len(others)}: no tolerance compares them")
    found = []
    for position, ((name, lanes), other) in enumerate(zip(a.outputs.items(), others, strict=True)):
        masks = [side[position] for side in undefined]
        if masks[0].size and masks[0].all():
            hint = "a read without a mask, or memory that nothing wrote; `irverify compare` shows where"
            raise Unsupported(f"a tolerance for {name}, every element of which follows undefined values", hint=hint)
        found.append(_reference(name, lanes, other, masks))
    return found


def _reference(name: str, a: Lanes, b: Lanes | None, undefined: Sequence[Array]) -> Reference:
    own = {kind: plane(a, plane_name) for kind, plane_name in KINDS.items()}
    errors = {kind: 2 * error for kind, error in own.items()}
    if b is not None:
        _check_types(name, a, b)
        for kind, error in own.items():  # where B alone is undefined, that is no matter of rounding
            errors[kind] = error + np.maximum(error, np.where(undefined[1], 0.0, plane(b, KINDS[kind])))
    finite = np.isfinite(value(a).astype(np.float64)) if a.dtype.is_float else np.ones(a.shape, bool)
    bounded = np.isfinite(errors["worst"]) if a.dtype.is_float else errors["worst"] == 0
    counts = ~undefined[0]
    masks = np.asarray(counts & finite & bounded), np.asarray(counts)
    return Reference(name, a.dtype, value(a), errors, own, *masks)


def _check_types(name: str, a: Lanes, b: Lanes) -> None:
    if a.dtype is not b.dtype or a.shape != b.shape:
        kinds = [f"{x.dtype.name}[{','.join(map(str, x.shape))}]" for x in (a, b)]
        raise UsageError(f"{name}: A gives {kinds[0]}, B gives {kinds[1]}: no tolerance compares them")


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


__all__ = ["Draw", "Reference", "derive", "draws", "evaluate", "references"]
