"""What a trial of the dismissal of decisions must not overlook: functions that differ where no input has led."""

from __future__ import annotations

import pytest

from lowering.ir.types import dtype
from tests.semantics.programs import EQUAL, Body, Kit, level

T = "f32[30,40]"


def far(k: Kit, model, powers: int):
    """10^(1 + powers), no literal of the program."""
    total = k.lit(10.0, model)
    for _ in range(powers):
        total = k.mul(total, 10.0)
    return total


def place(k: Kit, x):
    return k.b.op("reduce", [x, k.b.index(x.type.shape, 1)], axis=1, combine="argmax").results[1]


def low(k: Kit, x, y):
    """x, but y - 10^6 where that is larger."""
    return k.max(x, k.sub(y, far(k, y, 5)))


def sign(k: Kit, x, y):
    return k.cmp("gt", k.add(k.mul(x, y), far(k, x, 6)), 0.0)


def in_order(k: Kit, x):
    return k.b.op("sort", [x, k.b.index(x.type.shape, 1)], axis=1, order="ascending", stable=True).results[1]


APART: dict[str, tuple[Body, Body]] = {
    "a place": (lambda k, x, y: place(k, k.min(x, far(k, x, 5))), lambda k, x, y: place(k, x)),
    "an order": (lambda k, x, y: in_order(k, k.min(k.mul(x, y), far(k, x, 6))),
                 lambda k, x, y: in_order(k, k.mul(x, y))),
    "a comparison": (lambda k, x, y: k.where(k.cmp("gt", low(k, x, y), 0.5), x, k.mul(x, 2.0)),
                     lambda k, x, y: k.where(k.cmp("gt", x, 0.5), x, k.mul(x, 2.0))),
    "a comparison alone": (lambda k, x, y: k.cmp("gt", low(k, x, y), 0.5), lambda k, x, y: k.cmp("gt", x, 0.5)),
    "a truth value": (lambda k, x, y: k.mul(x, k.cast(k.cast(k.max(k.add(k.mul(x, y), far(k, x, 6)), 0.0), "i1"),
                                                      "f32")),
                      lambda k, x, y: x),
    "a power of 0": (lambda k, x, y: k.where(k.cmp("gt", k.fn("pow", k.max(k.add(k.mul(x, y), far(k, x, 6)), 0.0),
                                                              k.lit(1.3, x)), 0.0), x, k.mul(x, 2.0)),
                     lambda k, x, y: x),
    "a sum below a mask": (lambda k, x, y: k.add(k.max(k.sub(k.mul(x, y), 1e7), 0.0), x), lambda k, x, y: x),
    "an absolute value": (lambda k, x, y: k.b("abs", k.sub(k.mul(x, y), 1e7)),
                          lambda k, x, y: k.sub(k.lit(1e7, x), k.mul(x, y))),
    "an even product of decisions": (
        lambda k, x, y: k.mul(x, k.b.broadcast(k.b("reduce", k.where(sign(k, x, y), 1.0, k.lit(-1.0, x)), axis=1,
                                                   combine="mul"), (30, 40), [0])),
        lambda k, x, y: x),
    "no whole number": (lambda k, x, y: k.b("round", low(k, k.b("round", x, mode="even"), y), mode="even"),
                        lambda k, x, y: low(k, k.b("round", x, mode="even"), y)),
    "a running maximum": (lambda k, x, y: k.where(k.cmp("gt", k.b("scan", low(k, x, y), axis=1, combine="max"), 0.5),
                                                  x, k.mul(x, 2.0)),
                          lambda k, x, y: k.where(k.cmp("gt", k.b("scan", x, axis=1, combine="max"), 0.5), x,
                                                  k.mul(x, 2.0))),
}  # fmt: skip


@pytest.mark.parametrize("name", APART)
def test_a_decision_that_no_input_turns_is_not_dismissed(name: str) -> None:
    assert level(*APART[name], T, T) not in EQUAL


@pytest.mark.parametrize("to", ["bf16", "f16"])
def test_a_short_constant_is_no_rounded_one(to: str) -> None:
    def narrow(k, x):
        return k.cast(k.mul(k.cast(x, to), 0.5), "f32")

    def wide(k, x):
        return k.mul(x, 0.5001)

    assert level(narrow, wide, T) not in EQUAL


def looked_up(doubled: int | None) -> Body:
    """The table's element at 100 |x|; one that is hardly ever read is twice as large."""

    def body(k: Kit, x, table):
        index = k.b("min", k.cast(k.mul(k.b("abs", x), 100.0), "i64"), k.b.constant(4095, dtype("i64"), x.type.shape))
        if doubled is not None:
            here = k.b.cmp("eq", k.b.index((4096,), 0), k.b.constant(doubled, dtype("i64"), (4096,)))
            table = k.where(here, k.mul(table, 2.0), table)
        return k.b("gather", table, index)

    return body


def test_elements_that_no_data_chose() -> None:
    given = "f32[8,40]", "f32[4096]"
    assert level(looked_up(None), looked_up(3001), *given) not in EQUAL
    assert level(looked_up(None), looked_up(None), *given) in EQUAL
