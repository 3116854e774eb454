"""Counterfactual runs: B with one number changed; does it then agree with A?

Takes a Context and an edit; gives yes or no.  The program is changed in place and always put back.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations_with_replacement
from math import prod
from typing import Any

from equivalence.divergence.finding import Context
from lowering.errors import IrverifyError
from lowering.ir.program import Op

TRIES = 24  # runs for one launch argument
LANES = 8_000_000  # that all counterfactual runs of one explanation may evaluate: a few seconds


@contextmanager
def changed(op: Op, **attrs: Any) -> Iterator[None]:
    """The op with other attributes for the duration."""
    saved = dict(op.attrs)
    op.attrs.update(attrs)
    try:
        yield
    finally:
        op.attrs.clear()
        op.attrs.update(saved)


def agrees(c: Context, op: Op, **attrs: Any) -> bool:
    """Whether B agrees with A once ``op`` has these attributes; a run that fails does not agree."""
    c.spent += c.b.trace.count
    if c.spent > LANES:
        return False
    with changed(op, **attrs):
        try:
            return c.repaired(c.b.trace.program)
        except IrverifyError:
            return False


def scalar_repairs(c: Context, launch: Op, position: int, value: int) -> bool:
    """Whether another integer for one launch argument makes the two agree; extents and strides are tried."""
    op = c.b.trace.definers.get(launch.operands[position])
    if op is None or op.name != "constant":
        return False
    candidates = [n for n in _extents(c, value) if n != value]
    return any(agrees(c, op, value=candidate) for candidate in candidates[:TRIES])


def _extents(c: Context, value: int) -> list[int]:
    """Extents and strides of inputs and output, then products of two extents; the nearest to ``value`` first."""
    shapes = {v.type.shape for v in c.a.trace.program.body.args} | {v.type.shape for _, v in c.a.trace.program.outputs}
    extents = {n for shape in shapes for n in shape}
    strides = {prod(shape[at:]) for shape in shapes for at in range(len(shape) + 1)} | extents
    pairs = {a * b for a, b in combinations_with_replacement(sorted(extents), 2)} - strides
    return [n for found in (strides, pairs) for n in sorted(found, key=lambda n: abs(n - value))]
