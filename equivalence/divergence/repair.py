"""Counterfactual runs: B with one number, or what one op gives, changed; does it then agree with A?

Takes a Context and an edit; gives yes or no.  The program is changed in place and always put back.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import combinations_with_replacement
from math import prod
from typing import Any

import numpy as np

from equivalence.divergence.finding import Context
from equivalence.divergence.node import Node
from equivalence.divergence.trace import Edit
from equivalence.evaluator import Lanes
from equivalence.interpretations import ieee
from lowering.errors import IrverifyError
from lowering.ir.program import Op
from lowering.ir.types import F32

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
    with changed(op, **attrs):
        return _agrees(c, None, everywhere=True)


def _agrees(c: Context, edit: Edit | None, *, everywhere: bool) -> bool:
    c.spent += c.b.trace.count
    if c.spent > LANES:
        return False
    try:
        return c.repaired(c.b.trace.program, edit, everywhere)
    except (IrverifyError, TypeError, ValueError, IndexError, OverflowError):  # what is put in may fit no operation
        return False


def unrounded(c: Context, *ops: Op) -> bool:
    """Whether B agrees with A once ``ops`` do not round to their narrow dtypes."""
    return _agrees(c, Edit(ops, _wide), everywhere=True)


def _wide(op: Op, turn: int, operands: Sequence[Lanes], lanes: Lanes) -> np.ndarray:
    """What the op gives in f32."""
    if op.name == "cast":
        return np.array(np.broadcast_to(operands[0].data.astype(np.float32), lanes.data.shape))
    wide = [x.replace(dtype=F32, data=x.data.astype(np.float32)) if x.dtype.is_float else x for x in operands]
    if op.name == "dot":
        x, y, *acc = (x.data for x in wide)
        return np.asarray(np.matmul(x, y) + (acc[0] if acc else np.float32(0)))
    return ieee.evaluate(op.name, op.attrs, F32, *wide)


def grafted(c: Context, mine: Sequence[Node], theirs: Sequence[Node]) -> bool:
    """Whether B's output element agrees with A's once the lanes ``mine`` have the values of ``theirs``."""
    ops = {id(n.op): n.op for n in mine if n.op is not None and len(n.op.results) == 1}
    if not ops or len(mine) != len(theirs) or any(id(n.op) not in ops for n in mine):
        return False
    turns = {key: {a.first: turn for turn, a in enumerate(a for a in c.b.trace.log if a.op is ops[key])} for key in ops}
    wanted = [
        (id(b.op), turns[id(b.op)][b.application.first], b.lane, a.value) for b, a in zip(mine, theirs, strict=True)
    ]

    def make(op: Op, turn: int, operands: Sequence[Lanes], lanes: Lanes) -> np.ndarray:
        data = np.array(np.broadcast_to(lanes.data, (lanes.data.shape[0], *lanes.shape)))
        for key, when, lane, value in wanted:
            if key == id(op) and when == turn:
                data[lane] = value
        return data

    return _agrees(c, Edit(tuple(ops.values()), make), everywhere=False)


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
