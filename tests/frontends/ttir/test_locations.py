"""A location becomes the innermost frame that is not Triton's own library, with the variable named there."""

from __future__ import annotations

import pytest
from jaxlib.mlir import ir

from lowering.errors import UNKNOWN_SPAN, Span
from lowering.frontends.ttir.locations import span_of
from lowering.frontends.ttir.parse import context

LIBRARY = '"/x/triton/language/standard.py":9:2'

CASES: dict[str, Span] = {
    'loc("a.py":3:5)': Span("a.py", 3, 5),
    'loc("x"("a.py":3:5))': Span("a.py", 3, 5, "x"),
    'loc(callsite("helper.py":7:1 at "a.py":3:5))': Span("helper.py", 7, 1),
    f'loc(callsite({LIBRARY} at "y"("a.py":3:5)))': Span("a.py", 3, 5, "y"),
    f'loc(callsite({LIBRARY} at callsite("h"("helper.py":7:1) at "a.py":3:5)))': Span("helper.py", 7, 1, "h"),
    'loc(callsite(unknown at "y"("a.py":3:5)))': Span("a.py", 3, 5, "y"),
    f'loc(fused[{LIBRARY}, "a.py":3:5])': Span("a.py", 3, 5),
    f"loc({LIBRARY})": Span("/x/triton/language/standard.py", 9, 2),
    "loc(unknown)": UNKNOWN_SPAN,
}


@pytest.mark.parametrize("text", CASES)
def test_location(text: str) -> None:
    with context():
        op = ir.Module.parse(f"module {{\n}} {text}").operation
        assert span_of(op.location) == CASES[text]


def test_inside_an_inlined_library_function_the_call_is_meant() -> None:
    caller = Span("a.py", 3, 5, "y")
    with context():
        library = ir.Module.parse(f"module {{\n}} loc({LIBRARY})").operation
        user = ir.Module.parse('module {\n} loc("b.py":1:1)').operation
        assert span_of(library.location, caller) == caller
        assert span_of(user.location, caller) == Span("b.py", 1, 1)
