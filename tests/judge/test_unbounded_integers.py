"""Integers that differ where no bound is known are no agreement: a large integer by way of a narrower float."""

from __future__ import annotations

import numpy as np

from equivalence.verdicts import Level
from lowering.ir.program import Value
from lowering.ir.types import dtype
from tests.semantics.programs import Body, Kit, judged, level

X = np.array([1944384019, 948165185, 2**25 + 1, -(2**27) - 3, 2**30 + 1], np.int32)  # none is an f32


def by_way_of(narrow: str, flipped: int) -> Body:
    def body(k: Kit, x: Value) -> Value:
        wide = k.cast(x, narrow)
        back = k.cast(k.b("round", wide, mode="even"), "i32", overflow="saturate")
        return k.b("xor", back, k.b.constant(flipped, dtype("i32"), x.type.shape))

    return body


def plain(k: Kit, x: Value) -> Value:
    return k.b("xor", x, k.b.constant(0, dtype("i32"), x.type.shape))


def test_what_no_bound_explains_is_undecided() -> None:
    report = judged(plain, by_way_of("f32", 5), "i32[5]", data={"x0": X})
    assert report.verdict.level is Level.UNDECIDED and "no error bound is known" in report.verdict.reason


def test_what_does_not_differ_is_not() -> None:
    small = {"x0": np.arange(5, dtype=np.int32)}
    assert level(plain, by_way_of("f32", 0), "i32[5]", data=small) not in (Level.UNDECIDED, Level.DIFFERENT)
