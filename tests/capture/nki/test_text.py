"""The text form of a trace: read back it is the same trace, field by field; bad text is told with its line."""

from __future__ import annotations

from dataclasses import MISSING, fields, is_dataclass
from math import inf, nan
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lowering.capture.nki.text import print_trace
from lowering.capture.nki.text_parser import parse_trace
from lowering.capture.nki.trace import BETA1, Indirect, Instr, Loop, NkiStorage, NkiTrace
from lowering.capture.trace import TensorRef
from lowering.errors import Span, UsageError
from tests.capture.nki.test_matmul import traced


def same(a: Any, b: Any) -> bool:
    """Equal types and values all the way down; NaN equals NaN."""
    if type(a) is not type(b):
        return False
    if is_dataclass(a):
        return all(same(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if isinstance(a, np.ndarray):
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, dict):
        return list(a) == list(b) and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a == b or (a != a and b != b)


def everything() -> NkiTrace:
    """One trace with a value of every kind in every field."""
    span = Span('a "b".py', 3, 5, "f")
    scattered = np.zeros((3, 5), bool)
    scattered[0, 1] = scattered[2, 4] = True
    prefix = np.zeros((3, 5, 7), bool)
    prefix[:2, 1:4, :6] = True
    table = np.arange(6, dtype=ml_dtypes.bfloat16).reshape(2, 3)
    whole, view = TensorRef(0, "float32", (3, 5), (5, 1)), TensorRef(4, "uint8", (3, 2, 1), (20, -3, 0), 7)
    attrs: dict[str, Any] = {
        "op": "add", "none": None, "yes": True, "no": False, "whole": -3, "number": 1e-05, "big": -inf, "none_of": nan,
        "axes": (1, 2), "pattern": [[1, 128], [3, 4]], "nested": ((), (1.0,)), "flags": scattered, "table": table,
        "other": view, "words": {"a b": 1, "c": (2.0,)}, "empty": "",
    }  # fmt: skip
    trace = NkiTrace("k", BETA1, "gen2", "0.3", notes=['a "note"'], assumed={"fma": None}, checks_shapes=False)
    trace.storages = {
        0: NkiStorage(0, "hbm", "float32", (3, 5), "input", np.ones((3, 5), np.float32), "x", None, span),
        1: NkiStorage(1, "sbuf", "bfloat16", (2, 3), "data", table, "", (32, 64), blocks=1),
        4: NkiStorage(4, "psum", "uint8", (3, 7, 2), core=1, blocks=1, pins=((0, 0), (0, 4), (32, 8))),
    }
    trace.inputs, trace.outputs = [("x", whole)], [("out0", view)]
    indirect = Indirect(whole, TensorRef(1, "bfloat16", (2, 1), (3, 1)), 1, "free", 64)
    loops = (Loop("affine_range", 0, 2), Loop("sequential_range", 3, -1))
    trace.instrs = [
        Instr("tensor_tensor", (view, indirect), (whole, indirect, 2.5, 3, None), attrs, "dve", scattered, span, loops),
        Instr("mem_set", (whole,), (-inf,), {}, "", prefix, Span(), (), 1),
        Instr("core_barrier", (), (), {}, "sp", np.zeros((2, 2), bool), Span("other.py", 1)),
        Instr("nc_copy", (whole,), (True,), {}, "act", np.ones(3, bool)),
    ]
    return trace


def test_the_same_trace_is_read_back() -> None:
    trace = everything()
    assert same(parse_trace(print_trace(trace)), trace)


def test_every_field_has_another_value_than_its_default_somewhere() -> None:
    """A field that the text left out would be seen: the trace above has none that is nowhere set."""
    trace = everything()
    views = [view for instr in trace.instrs for view in (*instr.dst, *instr.src) if isinstance(view, Indirect)]
    loops = [loop for instr in trace.instrs for loop in instr.loops]
    for group in ([trace], list(trace.storages.values()), trace.instrs, views, loops):
        for field in fields(group[0]):
            values = [getattr(one, field.name) for one in group]
            if field.default is not MISSING:
                assert any(not same(value, field.default) for value in values), field.name
            else:
                assert any(values), field.name


def test_a_kernel_is_read_back(tmp_path: Path) -> None:
    a, b = np.random.default_rng(0).random((2, 64, 5), np.float32)
    trace = traced(tmp_path, a, b)
    text = print_trace(trace)
    assert same(parse_trace(text), trace)
    assert text.count("\n") < len(trace.storages) + len(trace.instrs) + 10  # one line each


def test_the_data_of_inputs_can_be_left_out() -> None:
    trace = everything()
    left_out = parse_trace(print_trace(trace, with_inputs=False))
    assert left_out.storages[0].data is None and left_out.storages[1].data is not None


def test_another_value_of_any_field_has_another_text() -> None:
    """The comparison above could not pass by leaving something out."""
    text = print_trace(everything())
    for old, new in (("(20,-3,0)", "(20,-3,1)"), ("+7", "+8"), ("#3=-1", "#3=-2"), ("core 1", "core 2"),
                     ("((0,2),(1,4),(0,6))", "((0,2),(1,4),(0,7))"), ("@0:3:5", "@0:4:5"), ("on dve", "on pool"),
                     ("1e-05", "2e-05"), ("((0,3))", "((0,2))"), ("pinned=(32,64)", "pinned=(32,0)"),
                     ("-inf", "inf")):  # fmt: skip
        assert old in text, old
        assert not same(parse_trace(text.replace(old, new, 1)), everything()), old


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("nki ", "kni ", "line 1, .*expected 'nki'"),
        ("storage %1", "storage %0", "%0 is defined twice"),
        ("uint8[3,7,2]", "uint7[3,7,2]", "line .*no dtype 'uint7'"),
        ("on dve", "on gpu", "no engine 'gpu'"),
        ("(20,-3,0)", "(20,-3)", "2 strides of 3 dimensions"),
        ("%4:uint8[3,2,1]", "%9:uint8[3,2,1]", "%9 is not defined"),
        ("@0:3:5", "@7:3:5", "no file 7"),
        ('origin="data"', 'orgin="data"', "unknown attributes"),
        ("mask array<bool[3,5]", "mask array<bool[3,9]", "no data of an array"),
        ("((0,2),(1,4),(0,6))", "((0,2),(1,4))", "a box in 3 dimensions"),
        ("mask box<bool[3,5,7] ((0,2),(1,4),(0,6))>", "mask (3)", "a mask is an array of bool"),
        ("-inf", "1.2.3", "no number: 1.2.3"),
        ('"a \\"note\\""', '"a \\x"', "no string"),
        ("null", "nil", "no literal 'nil'"),
        ("output ", "outputs ", "expected"),
        ("+7", "+7.5", "7.5 is no whole number"),
        ("{}", "{}?", "unexpected character"),
    ],
)
def test_bad_text_is_a_usage_error(old: str, new: str, message: str) -> None:
    text = print_trace(everything())
    assert old in text
    with pytest.raises(UsageError, match=f"NKI trace text, line .*{message}" if "line" not in message else message):
        parse_trace(text.replace(old, new, 1))
