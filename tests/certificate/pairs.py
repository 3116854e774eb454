"""Certifies bodies written with a Builder: the common part of the tests of certificates."""

from __future__ import annotations

from collections.abc import Sequence

from equivalence.certificate import Certificate, certify
from lowering.ir.program import Value
from lowering.ir.types import F32, DType, TensorType
from tests.interpretations.real_runs import Body, Kit, inputs, program

SECONDS = 20.0


def certificate(
    a: Body, b: Body, *shapes: tuple[int, ...], dt: DType = F32, types: Sequence[TensorType] | None = None
) -> Certificate:
    """Of the one output of two bodies, on inputs of both signs."""
    given = types or [TensorType(dt, shape) for shape in shapes]
    data = inputs(given)
    return certify(program(given, a), program(given, b), data, data, seconds=SECONDS)[0]


def column(k: Kit, x: Value, i: int) -> Value:
    """x[:, i]"""
    rows = x.type.shape[0]
    return k.b.reshape(k.b("slice", x, start=(0, i), limit=(rows, i + 1), step=(1, 1)), (rows,))


def columns(k: Kit, x: Value, first: int, last: int) -> Value:
    """x[:, first:last]"""
    return k.b("slice", x, start=(0, first), limit=(x.type.shape[0], last), step=(1, 1))
