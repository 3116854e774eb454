"""KIR text: print -> parse -> print is the identity, and what is not KIR is refused with its place."""

import numpy as np
import pytest

from lowering.errors import Span, UsageError
from lowering.ir.builder import Builder
from lowering.ir.parser import parse_program
from lowering.ir.printer import print_program
from lowering.ir.program import Block, Function, Program
from lowering.ir.types import F16, F32, I32, PTR, TensorType


def sample() -> Program:
    b = Builder()
    kernel = Function("k<1>", [b.value(TensorType(PTR)), b.value(TensorType(I32))], b.block, {"contract": True})
    b("program_id", axis=0)
    low, step = b.constant(0, I32), b.constant(1, I32)
    with b.at(Span('we"ird.py', 3, 7, "acc")):
        b.op(
            "for",
            [low, kernel.params[1], step, b.constant(-0.0, F32, (3,))],
            [b.region([TensorType(I32), TensorType(F32, (3,))], lambda i, acc: [b("add", acc, acc)])],
        )
    host = Builder()
    x = host.value(TensorType(F32, (3, 5)))
    host.block = Block([x])
    host("math", x, fn="exp", impl="cuda")
    half = host.cast(x, F16)
    table = host.constant(np.arange(15, dtype=np.float32).reshape(3, 5), F32)
    big = host("select", host.cmp("lt", x, table), x, host.like(float("-inf"), x))
    return Program(
        host.block, ["x"], [("out0", big), ("out1", half)], {kernel.name: kernel}, {"level": "aten"}, ['a "note"']
    )


def test_round_trip() -> None:
    text = print_program(sample())
    assert print_program(parse_program(text)) == text
    assert '@"we\\"ird.py":3:7:"acc"' in text and "value=-inf" in text


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("exp", "expp", "no function"),
        ("math %", "mash %", "no op"),
        (": f16[3,5]", ": f32[3,5]", "has type f16"),
        ('"out0" %', '"out0" %77', "not defined"),
        ("level=", "level", "expected '='"),
    ],
)
def test_bad_text_is_refused(old: str, new: str, message: str) -> None:
    text = print_program(sample())
    assert old in text
    with pytest.raises(UsageError, match=message):
        parse_program(text.replace(old, new, 1))
