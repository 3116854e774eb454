"""What a word must not leave out: directed roundings, and the signedness of what is ordered."""

from __future__ import annotations

import pytest

from equivalence.verdicts import Level
from lowering.ir.types import dtype
from tests.semantics.programs import level

STRONG = (Level.BITWISE, Level.REASSOCIATED)
V = "f32[16]"


@pytest.mark.parametrize("name", ["add", "sub", "mul"])
@pytest.mark.parametrize(("one", "other"), [("rtz", "rne"), ("rtp", "rtn")])
def test_directed_roundings(name: str, one: str, other: str) -> None:
    def rounded(how: str):
        return lambda k, x, y: k.b(name, x, y, rounding=how)

    assert level(rounded(one), rounded(other), V, V) not in STRONG
    assert level(rounded(one), rounded(one), V, V) in STRONG


def sort(k, x):
    return k.b.op("sort", [x], axis=0, order="ascending", stable=True).results[0]


def place(k, x):
    return k.b.op("reduce", [x, k.b.index(x.type.shape, 0)], axis=0, combine="argmax", order="unordered").results[1]


def unsigned(body, back: bool):
    def turned(k, x):
        made = body(k, k.b.bitcast(x, dtype("u32")))
        return k.b.bitcast(made, dtype("i32")) if back else made

    return turned


@pytest.mark.parametrize(("body", "back"), [(sort, True), (place, False)])
def test_the_order_of_signed_and_of_unsigned_integers(body, back: bool) -> None:
    assert level(body, unsigned(body, back), "i32[8]") not in STRONG
    assert level(body, body, "i32[8]") in STRONG
