"""A fused kernel is bit for bit itself, and not its plain spelling; an order that torch leaves open is no order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from equivalence.judge import judge
from equivalence.verdicts import Level
from irverify.options import CompareOptions
from lowering.capture.torch_arrays import array_of
from lowering.capture.torch_host import torch_session
from lowering.ir.program import Program
from lowering.pipeline import lower_torch
from tests.frontends.aten.cases import rand

Function = Callable[..., Any]
INPUTS = [rand(3, 7, seed=n) for n in range(3)]

#: A fused or scaled op, and what it would be in separate ops of one rounding each.
FUSED: dict[str, tuple[Function, Function]] = {
    "addcmul": (lambda a, b, c: torch.addcmul(a, b, c), lambda a, b, c: a + b * c),
    "addcmul_value": (lambda a, b, c: torch.addcmul(a, b, c, value=0.3), lambda a, b, c: a + 0.3 * b * c),
    "addcdiv_value": (lambda a, b, c: torch.addcdiv(a, b, c, value=0.3), lambda a, b, c: a + 0.3 * (b / c)),
    "lerp": (lambda a, b, c: torch.lerp(a, b, 0.3), lambda a, b, c: a + 0.3 * (b - a)),
    "add_alpha": (lambda a, b, c: torch.add(a, b, alpha=0.3), lambda a, b, c: a + 0.3 * b),
    "hypot": (lambda a, b, c: torch.hypot(a, b), lambda a, b, c: torch.sqrt(a * a + b * b)),
}


def program(fn: Function) -> Program:
    with torch_session() as session:
        return lower_torch(session.capture(fn, [t.clone() for t in INPUTS]))


def level(a: Function, b: Function) -> Level:
    left, right = program(a), program(b)
    given = dict(zip(left.input_names, map(array_of, INPUTS), strict=True))
    return judge([left], [right], [given], CompareOptions(a="a.py", b="b.py")).verdict.level


@pytest.mark.parametrize("name", FUSED)
def test_a_fused_kernel_is_not_its_plain_spelling(name: str) -> None:
    fused, plain = FUSED[name]
    assert level(fused, fused) is Level.BITWISE
    assert level(fused, plain) in (Level.REAL, Level.CLOSE)


def test_the_largest_in_no_order_are_not_the_sorted_ones() -> None:
    loose: Function = lambda a, b, c: torch.topk(a, 3, sorted=False)[0]  # noqa: E731
    ordered: Function = lambda a, b, c: torch.topk(a, 3)[0]  # noqa: E731
    assert level(loose, loose) is Level.BITWISE
    assert level(loose, ordered) is Level.UNDECIDED
