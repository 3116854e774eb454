"""What only the given shapes come to is tested there: a third tile, the rows from the fortieth on, a longer count."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import judge
from lowering.ir.program import Program
from tests.semantics.programs import EQUAL, Level, options, program

CAP = 20.0


def capped(rows: int, until: int | None) -> Program:
    """Rows are capped; from row ``until`` on they are not."""

    def body(k, x):
        low = k.min(x, CAP)
        if until is None:
            return low
        row = k.b.index((rows, 4), 0)
        return k.where(k.cmp("lt", row, until), low, x)

    return program(body, f"f32[{rows},4]")


def counted(columns: int, narrow: bool) -> Program:
    """How many elements are positive, counted in eight bits."""

    def body(k, x):
        one = k.cast(k.cmp("gt", x, 0.0), "i8" if narrow else "i32")
        return k.cast(k.b("reduce", one, axis=1, combine="add"), "f32")

    return program(body, f"f32[2,{columns}]")


def at(make_a, make_b, *sizes: int) -> Level:
    """The verdict at several sets of shapes, the first one given."""
    rng = np.random.default_rng(0)
    pairs = [(make_a(n), make_b(n)) for n in sizes]
    data = [{"x0": rng.standard_normal(a.body.args[0].type.shape).astype(np.float32)} for a, _ in pairs]
    with np.errstate(all="ignore"):
        return judge([a for a, _ in pairs], [b for _, b in pairs], data, options()).verdict.level


@pytest.mark.parametrize("until", [40, 33])
def test_rows_that_only_the_given_shape_has(until: int) -> None:
    assert at(lambda n: capped(n, None), lambda n: capped(n, until), 64, 32) is Level.DIFFERENT
    assert at(lambda n: capped(n, None), lambda n: capped(n, None), 64, 32) in EQUAL


def test_a_count_that_wraps_at_the_given_shape_only() -> None:
    assert at(lambda n: counted(n, False), lambda n: counted(n, True), 200, 20) not in EQUAL
