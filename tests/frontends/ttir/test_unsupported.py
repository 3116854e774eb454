"""What is not modelled is said with the construct and the user's source line, and no op of the dialect is forgotten."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import triton
import triton.language as tl
from jaxlib.mlir import ir
from jaxlib.triton import dialect

from lowering.errors import Unsupported
from lowering.frontends.ttir import lower_kernel
from lowering.frontends.ttir.kernel import DIALECTS
from lowering.frontends.ttir.registry import HANDLERS
from lowering.frontends.ttir.state import IGNORED
from tests.frontends.ttir.compile import ttir_of

#: Ops that are part of another op's handling: functions, and terminators of regions.
STRUCTURE = {"tt.func", "tt.return", "tt.reduce.return", "tt.scan.return", "tt.map_elementwise.return"}
#: Ops that are refused by name: Blackwell's gathers of descriptors (KIR could hold them; no user asked yet).
REFUSED = {"tt.descriptor_gather", "tt.descriptor_scatter"}


def test_every_op_of_the_dialect_is_decided() -> None:
    assert DIALECTS
    classes = [c for _, c in inspect.getmembers(dialect, inspect.isclass) if issubclass(c, ir.OpView)]
    names = {c.OPERATION_NAME for c in classes if hasattr(c, "OPERATION_NAME")}
    assert names - set(HANDLERS) - IGNORED - STRUCTURE == REFUSED


@triton.jit
def _clock(out):
    value = tl.inline_asm_elementwise("mov.u32 $0, %clock;", "=r", [], tl.int32, False, 1)  # the line
    tl.store(out, value)


@triton.jit
def _impure(out):
    at = tl.arange(0, 4)
    tl.inline_asm_elementwise("nanosleep.u32 $1;", "=r,r", [at], tl.int32, False, 1)  # the line


@triton.jit
def _looping_map(out):
    tl.store(out + tl.arange(0, 4), tl.map_elementwise(_count, tl.arange(0, 4)))


@triton.jit
def _count(n):
    total = 0
    while total < n:  # the line
        total += 2
    return total


def _line(fn: Any) -> int:
    lines, start = inspect.getsourcelines(fn.fn)
    return start + next(i for i, line in enumerate(lines) if "# the line" in line)


@pytest.mark.parametrize(
    ("fn", "marked", "construct"),
    [
        (_clock, _clock, "inline assembly"),
        (_impure, _impure, "inline assembly"),
        (_looping_map, _count, "scf.while inside tt.map_elementwise"),
    ],
)
def test_unsupported_names_the_source_line(fn: Any, marked: Any, construct: str) -> None:
    with pytest.raises(Unsupported) as caught:
        lower_kernel(ttir_of(fn, {"out": "*i32"}), name="k", options={}, key="")
    assert construct in caught.value.construct
    assert (caught.value.span.file, caught.value.span.line) == (__file__, _line(marked))


def test_an_unknown_op_is_named() -> None:
    text = 'module { tt.func public @k(%a: i32) {\n%b = "my.op"(%a) : (i32) -> i32 loc("u.py":7:3)\ntt.return } }'
    with pytest.raises(Unsupported, match=r"op my\.op at u\.py:7"):
        lower_kernel(text, name="k", options={}, key="")


def test_an_element_type_outside_of_kir_is_named() -> None:
    text = "module { tt.func public @k(%a: f8E3M4) {\ntt.return } }"
    with pytest.raises(Unsupported, match="element type f8E3M4"):
        lower_kernel(text, name="k", options={}, key="")
