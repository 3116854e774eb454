"""Every value of a small declared range of integers is tried: a length at which only a page's end shows."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.judge import judge, ranges, swept
from equivalence.judge.runs import Pair
from equivalence.verdicts import Level
from irverify.options import CompareOptions
from lowering.ir.program import Program
from tests.semantics.programs import I64, Body, launched, program

X = np.linspace(0.5, 3.5, 32, dtype=np.float32)
BOTH = program(lambda k, x, n: (x, n), "f32[32]", "i64[2]")


def made(spec: str, steps: list[int], few: bool = False) -> list[np.ndarray]:
    given = {"x0": X, "x1": np.array([19, 30])}
    declared = ranges.declared(["f32[32]", spec], Pair(BOTH, BOTH, given))
    return [arrays["x1"] for _, arrays in swept.sets(given, declared, steps, 0, few)]


def test_every_value_of_a_small_range_comes() -> None:
    arrays = made("i64[2] in [1,32)", [8])
    assert len(arrays) <= swept.MOST_SETS and {int(v) for x in arrays for v in x} == set(range(1, 32))


def test_multiples_come_first_where_a_range_is_large() -> None:
    arrays = made("i64[2] in [1,100000)", [64])
    assert len(arrays) == swept.MOST_SETS and {64, 128, 63, 65} <= {int(v) for x in arrays for v in x}
    assert len(made("i64[2] in [1,100000)", [64], few=True)) == swept.FEW_SETS


def test_what_was_not_declared_stays() -> None:
    assert not made("i64[2]", [8]) and not made("i64[2] in [1,32) sorted", [8])


def sum_of_pages(more: int) -> Body:
    """x[0] to x[n[0]], read in pages of 8 as far as n[0] + more - 1 reaches: 8 is right, 7 loses a token."""

    def body(k, x, n):
        length = k.b.broadcast(k.part(n, 0, 1), (32,), [0])
        read = k.b("and", k.b("add", length, k.lit(more, length)), k.lit(-8, length))
        places = k.b.index((32,), 0, I64)
        return k.sum(k.where(k.cmp("lt", places, read), k.where(k.cmp("le", places, length), x, 0.0), 0.0))

    return body


@pytest.mark.parametrize(("more", "differs"), [(7, True), (8, False)])
def test_a_last_token_lost_at_the_end_of_a_page(more: int, differs: bool) -> None:
    a, b = (program(sum_of_pages(m), "f32[32]", "i64[2]") for m in (8, more))
    options = CompareOptions(a="a", b="b", inputs=("f32[32]", "i64[2] in [1,31)"))
    inputs = {"x0": X, "x1": np.array([19, 30])}
    assert (judge([a], [b], [inputs], options).verdict.level is Level.DIFFERENT) is differs


def test_what_is_beside_the_first_multiples_of_a_block_comes_early() -> None:
    assert {16, 17, 15, 33} <= set(swept.values(1, 47, [2, 16])[:12])


def kept(missing: bool) -> Program:
    """x where the label is not 3; else 0, or nothing at all: the element of the output is not written."""

    def body(k, x, labels, out):
        lanes = k.lanes(8)
        label = k.load(labels, lanes, dt=I64)
        chosen = k.cmp("ne", label, 3)
        value = k.where(chosen, k.load(x, lanes), 0.0)
        k.store(out, lanes, value, *([chosen] if missing else []))

    return launched(body, "f32[8]", "i64[8]", out="f32[8]")


def test_an_element_that_other_labels_leave_unwritten() -> None:
    options = CompareOptions(a="a", b="b", inputs=("f32[8]", "i64[8] in [0,4)"))
    inputs = {"x0": X[:8], "x1": np.array([0, 1, 2, 0, 1, 2, 0, 1])}
    report = judge([kept(False)], [kept(True)], [inputs], options)
    assert report.verdict.level is Level.DIFFERENT and "undefined" in report.verdict.reason
    assert judge([kept(False)], [kept(False)], [inputs], options).verdict.level is Level.BITWISE


def rows(n: int, block: int) -> Program:
    """The sum of the first n rows as far as whole blocks go, in kernel's terms: cdiv(n - 1, block) blocks of rows."""

    def body(k, x, count):
        length = k.b.broadcast(count, (n,), [0])
        read = length
        if block > 1:
            below = k.b("add", length, k.lit(block - 2, length))
            read = k.mul(k.b("div", below, k.lit(block, length), rounding="floor"), block)
        places = k.b.index((n,), 0, I64)
        inside = k.b("and", k.cmp("lt", places, length), k.cmp("lt", places, read))
        return k.sum(k.where(inside, x, 0.0))

    return program(body, f"f32[{n}]", "i64[1]")


def test_a_range_that_a_small_shape_cuts_is_run_through_at_the_given_one() -> None:
    options = CompareOptions(a="a", b="b", inputs=("f32[48]", "i64[1] in [2,48)"))
    wide = np.linspace(0.5, 3.5, 48, dtype=np.float32)
    every = [{"x0": wide, "x1": np.array([20])}, {"x0": wide[:16], "x1": np.array([9])}]
    sides = [[rows(48, block), rows(16, block)] for block in (1, 16)]
    assert judge(sides[0], sides[1], every, options).verdict.level is Level.DIFFERENT
    assert judge(sides[0], sides[0], every, options).verdict.level is Level.BITWISE
    assert judge(sides[0], sides[1], every, CompareOptions(a="a", b="b")).verdict.level is not Level.DIFFERENT
