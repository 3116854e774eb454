"""Small programs for the tests of bounds."""

from __future__ import annotations

from lowering.ir.parser import parse_program
from lowering.ir.program import Program


def dot(dtype: str, acc: str = "f32", precision: str = "ieee") -> Program:
    return parse_program(
        f'program(%0: {dtype}[4,16] "x", %1: {dtype}[16,5] "y") {{}} {{\n'
        f'  %2 = dot %0, %1 {{acc="{acc}", precision="{precision}"}} : {acc}[4,5]\n'
        '  return "out0" %2\n}\n'
    )


def scan(order: str, terms: int = 24, combine: str = "add", reverse: bool = False) -> Program:
    attrs = f'axis=1, combine="{combine}", order="{order}", reverse={str(reverse).lower()}'
    return parse_program(
        f'program(%0: f32[3,{terms}] "x") {{}} {{\n  %1 = scan %0 {{{attrs}}} : f32[3,{terms}]\n'
        '  return "out0" %1\n}\n'
    )


def product(terms: int = 8) -> Program:
    return parse_program(
        f'program(%0: f32[3,{terms}] "x") {{}} {{\n  %1 = reduce %0 {{axis=1, combine="mul"}} : f32[3]\n'
        '  return "out0" %1\n}\n'
    )


#: E[x^2] - E[x]^2 of rows, and the mean of squared distances.
ONE_PASS = parse_program(
    'program(%0: f32[5,64] "x") {} {\n'
    "  %1 = mul %0, %0 : f32[5,64]\n"
    '  %2 = reduce %1 {axis=1, combine="add"} : f32[5]\n'
    '  %3 = reduce %0 {axis=1, combine="add"} : f32[5]\n'
    '  %4 = constant {to="f32", shape=[5], value=0.015625} : f32[5]\n'
    "  %5 = mul %2, %4 : f32[5]\n"
    "  %6 = mul %3, %4 : f32[5]\n"
    "  %7 = mul %6, %6 : f32[5]\n"
    "  %8 = sub %5, %7 : f32[5]\n"
    '  return "out0" %8\n}\n'
)
TWO_PASS = parse_program(
    'program(%0: f32[5,64] "x") {} {\n'
    '  %1 = reduce %0 {axis=1, combine="add"} : f32[5]\n'
    '  %2 = constant {to="f32", shape=[5], value=0.015625} : f32[5]\n'
    "  %3 = mul %1, %2 : f32[5]\n"
    "  %4 = broadcast %3 {shape=[5, 64], dims=[0]} : f32[5,64]\n"
    "  %5 = sub %0, %4 : f32[5,64]\n"
    "  %6 = mul %5, %5 : f32[5,64]\n"
    '  %7 = reduce %6 {axis=1, combine="add"} : f32[5]\n'
    "  %8 = mul %7, %2 : f32[5]\n"
    '  return "out0" %8\n}\n'
)
