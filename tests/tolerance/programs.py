"""Small programs and inputs for the tests of tolerances."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lowering.ir.parser import parse_program
from lowering.ir.program import Program

_FOLDER = Path(__file__).parents[1] / "mutation" / "programs"


def stored(name: str) -> Program:
    return parse_program((_FOLDER / f"{name}.kir").read_text())


def normal(program: Program, seed: int = 7) -> dict[str, np.ndarray]:
    """Standard normal inputs."""
    rng = np.random.default_rng(seed)
    values = zip(program.input_names, program.body.args, strict=True)
    return {name: rng.standard_normal(v.type.shape).astype(v.type.dtype.numpy) for name, v in values}


def total(terms: int, dtype: str = "f32", rows: int = 3, order: str = "") -> Program:
    """Row sums in an open order, or the one given."""
    attrs = f'axis=1, combine="add"{order and f", order={order!r}"}'.replace("'", '"')
    return parse_program(
        f'program(%0: {dtype}[{rows},{terms}] "x") {{}} {{\n'
        f"  %1 = reduce %0 {{{attrs}}} : {dtype}[{rows}]\n"
        '  return "out0" %1\n}\n'
    )


def softmax(terms: int) -> Program:
    """Of rows, spelled out."""
    return parse_program(
        f'program(%0: f32[2,{terms}] "x") {{}} {{\n'
        '  %1 = reduce %0 {axis=1, combine="max"} : f32[2]\n'
        f"  %2 = broadcast %1 {{shape=[2, {terms}], dims=[0]}} : f32[2,{terms}]\n"
        f"  %3 = sub %0, %2 : f32[2,{terms}]\n"
        f'  %4 = math %3 {{fn="exp", impl="torch"}} : f32[2,{terms}]\n'
        '  %5 = reduce %4 {axis=1, combine="add"} : f32[2]\n'
        f"  %6 = broadcast %5 {{shape=[2, {terms}], dims=[0]}} : f32[2,{terms}]\n"
        f"  %7 = div %4, %6 : f32[2,{terms}]\n"
        '  return "out0" %7\n}\n'
    )


COUNTED = parse_program(
    'program(%0: f32[64] "x", %1: i32[64] "place") {} {\n'
    '  %2 = constant {to="f32", shape=[4], value=0.0} : f32[4]\n'
    '  %3 = scatter %2, %0, %1 {combine="add"} : f32[4]\n'
    '  return "out0" %3\n}\n'
)

GELU = parse_program(
    'program(%0: f32[64] "x") {} {\n'
    '  %1 = constant {to="f32", shape=[64], value=0.70710678} : f32[64]\n'
    "  %2 = mul %0, %1 : f32[64]\n"
    '  %3 = math %2 {fn="erf", impl="torch"} : f32[64]\n'
    '  %4 = constant {to="f32", shape=[64], value=1.0} : f32[64]\n'
    "  %5 = add %3, %4 : f32[64]\n"
    "  %6 = mul %0, %5 : f32[64]\n"
    '  %7 = constant {to="f32", shape=[64], value=0.5} : f32[64]\n'
    "  %8 = mul %6, %7 : f32[64]\n"
    '  return "out0" %8\n}\n'
)

#: x / sqrt(mean(x^2) + eps)
NORMED = parse_program(
    'program(%0: f32[4,8] "x") {} {\n'
    "  %1 = mul %0, %0 : f32[4,8]\n"
    '  %2 = reduce %1 {axis=1, combine="add"} : f32[4]\n'
    '  %3 = constant {to="f32", shape=[4], value=0.001} : f32[4]\n'
    "  %4 = add %2, %3 : f32[4]\n"
    '  %5 = math %4 {fn="rsqrt", impl="torch"} : f32[4]\n'
    "  %6 = broadcast %5 {shape=[4, 8], dims=[0]} : f32[4,8]\n"
    "  %7 = mul %0, %6 : f32[4,8]\n"
    '  return "out0" %7\n}\n'
)
