"""Builds small programs and runs two of them under one Real: the common part of the tests of `real`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from equivalence.evaluator import Machine
from equivalence.evaluator.lanes import Lanes
from equivalence.fields.primes import choose
from equivalence.interpretations.depends import Depends
from equivalence.interpretations.real import Agreement, Real, agree, prepare, together
from lowering.errors import Span
from lowering.ir.builder import Builder
from lowering.ir.composites import Composites
from lowering.ir.program import Program, Value
from lowering.ir.types import F32, F64, DType, TensorType

Body = Callable[..., Value]


@dataclass
class Kit:
    """What a body builds with: ``b`` the builder, ``c`` the composites."""

    b: Builder
    c: Composites

    def fn(self, name: str, *xs: Value) -> Value:
        return self.c.fn(name, *xs)

    def lit(self, value: float, model: Value) -> Value:
        return self.b.like(value, model)


@dataclass
class Comparison:
    """Both programs' outputs under one prime after another."""

    agreements: list[Agreement]
    unseen: list[tuple[str, str, Span]]
    assumptions: list[str]
    real: Real = field(repr=False)

    @property
    def equal(self) -> bool:
        """No prime mismatches, and every lane agreed under some prime."""
        return together(self.agreements).equal

    @property
    def mismatch(self) -> bool:
        return any(a.mismatch.any() for a in self.agreements)


def program(types: Sequence[TensorType], body: Body) -> Program:
    b = Builder()
    args = [b.value(t) for t in types]
    b.block.args = list(args)
    out = body(Kit(b, Composites(b, "torch")), *args)
    return Program(b.block, [f"x{i}" for i in range(len(args))], [("out", out)])


def inputs(types: Sequence[TensorType], seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"x{i}": rng.standard_normal(t.shape).astype(t.dtype.numpy) for i, t in enumerate(types)}


def output(real: Real, p: Program, data: dict[str, np.ndarray], side: str) -> Lanes:
    real.sites.side = side
    return Machine(p, [real, Depends()]).run(data).outputs["out"]


def compare(
    a: Body,
    b: Body,
    *shapes: tuple[int, ...],
    dt: DType = F32,
    data: dict[str, np.ndarray] | None = None,
    types: Sequence[TensorType] | None = None,
    primes: int = 6,
) -> Comparison:
    """Runs bodies ``a`` and ``b`` on inputs of ``shapes``."""
    types = types or [TensorType(dt, s) for s in shapes]
    first, second = program(types, a), program(types, b)
    data = data or inputs(types)
    agreements, unseen = [], None
    for number, prime in enumerate(choose(7, primes)):
        real, _ = prepare(first, second, number, prime)
        outs = [output(real, p, data, side) for p, side in ((first, "A"), (second, "B"))]
        agreements.append(agree(real, *outs))
        unseen = real.unseen()
    return Comparison(agreements, unseen or [], real.assumptions, real)


__all__ = ["F32", "F64", "Comparison", "Kit", "compare", "inputs", "output", "program"]
