"""Buffers that were filled with one number, read by views that are no slices: every element is that number."""

from __future__ import annotations

import numpy as np
import pytest

from equivalence.evaluator import Machine
from lowering.ir.builder import Builder
from lowering.ir.program import Program
from lowering.ir.types import F32, TensorType

VIEWS = {
    "rows backwards": ((6, 5), (-5, 1), 25),
    "all backwards": ((30,), (-1,), 29),
    "every other column": ((6, 2), (5, 2), 1),
    "a window": ((3, 3), (1, 1), 4),
    "one element, repeated": ((4, 4), (0, 0), 7),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("second", [False, True], ids=["filled", "and written to in part"])
def test_a_view(view: str, second: bool) -> None:
    shape, strides, offset = VIEWS[view]
    b = Builder()
    x = b.value(TensorType(F32, (2,)))
    b.block.args.append(x)
    buffer = b("alloc", bytes=120)
    b.op("write", [buffer, b.constant(7.0, F32, (6, 5))], strides=(5, 1), offset=0)
    expected = np.full(30, 7.0, np.float32)
    if second:
        b.op("write", [buffer, x], strides=(3,), offset=4)
        expected[[4, 7]] = 1.0, 2.0
    seen = b("read", buffer, to="f32", shape=shape, strides=strides, offset=offset)
    program = Program(b.block, ["x"], [("out", seen)], {}, {"level": "nki", "contract": False, "key": "views"})
    found = Machine(program, ()).run({"x": np.array([1.0, 2.0], np.float32)}).outputs["out"].data[0]
    places = offset + sum(s * i for s, i in zip(strides, np.indices(shape)))
    assert np.array_equal(np.broadcast_to(found, shape), expected[places])
