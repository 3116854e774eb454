"""Independent checks on a positive verdict.

`zero_one`: on inputs drawn from {0, 1} every partial sum of a program of sums and products is exact in every order,
so the two sides must agree to the bit (SEMANTICS §10).  It catches what a mistaken fingerprint would let through.
"""

from __future__ import annotations

import numpy as np

from equivalence.judge.compare import compare
from equivalence.judge.inputs import is_float
from equivalence.judge.runs import Pair, PairRun
from equivalence.verdicts import Check
from lowering.ir.program import Program

_INEXACT = {"math", "div", "rem", "round", "opaque", "random"}
_MOST_TERMS = {"f32": 1 << 24, "f64": 1 << 53}


def zero_one(pair: Pair, run: PairRun) -> list[Check]:
    """One check per output, where the programs are of the kind that makes it exact."""
    if not (sums_and_products(pair.a) and sums_and_products(pair.b)) or not _whole(run):
        return []
    checks = []
    for name, a, b in run.outputs():
        same = compare(a, b, ()).identical
        checks.append(Check(f"{name} on zeros and ones", same, "every partial sum is exact: results agree to the bit"))
    return checks


def _whole(run: PairRun) -> bool:
    """Whether all float inputs are 0 or 1: those of few values, and weights, stay what they were."""
    floats = (x.astype(np.float64) for x in run.inputs.values() if is_float(x))
    return all(bool(((x == 0) | (x == 1)).all()) for x in floats)


def sums_and_products(program: Program) -> bool:
    """Only additions, products and moves of f32 and f64, on few enough terms; other literals than 0 and 1 spoil it."""
    for op in program.walk():
        if op.name in _INEXACT:
            return False
        if not op.results or not op.results[0].type.dtype.is_float:
            continue
        if op.results[0].type.dtype.name not in _MOST_TERMS and op.name not in ("load", "read", "constant"):
            return False
        if op.name == "constant" and not np.isin(op.attrs["value"], (0.0, 1.0, -np.inf)).all():
            return False
    return True
