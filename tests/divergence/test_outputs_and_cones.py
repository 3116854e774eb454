"""Structural differences of outputs; cones, matching and launch arguments found by counterfactual runs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from equivalence.divergence import explain
from equivalence.divergence.cone import columns, cone, match, root_of, side
from equivalence.divergence.trace import trace
from lowering.ir.builder import Builder
from lowering.ir.program import Op, Program, Value
from lowering.ir.types import F16, F32, I32
from tests.divergence.programs import drawn, kernel, load, store, tensors

X = {"x": (F32, (3, 5))}


def test_dtype() -> None:
    a = tensors("a.py", lambda b, x: b("neg", x), X)
    b = tensors("b.py", lambda b, x: b.cast(b("neg", x), F16), X)
    found = explain(a, b, drawn(a), drawn(a))
    assert found.kind == "dtype" and "f16" in found.what and found.b is not None and found.b.line == 2


def write_into(target: int) -> Program:
    """out[i] = x[i]; and the kernel writes x[i] to x too when ``target`` is 0."""

    def build(b: Builder, x: Value, out: Value, *_: Value) -> None:
        index = b.index((7,), 0, I32)
        value = load(b, x, index)
        store(b, out, index, value)
        if target == 0:
            store(b, x, index, b("neg", value))

    return kernel("b.py", build, 7, 7)


def test_an_input_that_only_one_side_overwrites() -> None:
    a, b = write_into(1), write_into(0)
    found = explain(a, b, drawn(a), drawn(a))
    assert found.kind == "other" and "input x" in found.what
    assert "over its" not in explain(a, a, drawn(a), drawn(a)).what


def test_cone_of_a_row_sum() -> None:
    """The second row's sum comes from the second row alone."""
    program = tensors("a.py", lambda b, x: b("reduce", b("neg", x), axis=1, combine="add"), X)
    run = trace(program, drawn(program), 0)
    flags = cone(run, [root_of(run.outputs["out0"], (1,))])
    first = run.log[0]
    assert first.name == "input"
    assert np.array_equal(np.flatnonzero(flags[first.first : first.first + 15]), np.arange(5, 10))


def matched(a: Sequence[str], b: Sequence[str], tolerance: float) -> tuple[int, int]:
    """Lanes of B in the cone of one element, and how many are vouched for."""
    programs = [tensors(f, lambda b, x, fns=fns: chain(b, x, fns), X) for f, fns in (("a.py", a), ("b.py", b))]
    given = drawn(programs[0])
    runs = [trace(p, given, 0) for p in programs]
    sides = [side(r, columns(r, "reassociated"), root_of(r.outputs["out0"], (1, 2))) for r in runs]
    match(sides[1], sides[0], tolerance)
    return int(sides[1].cone.sum()), int(sides[1].exonerated.sum())


def chain(b: Builder, x: Value, fns: Sequence[str]) -> Value:
    for fn in fns:
        x = b("mul", x, b.like(np.log2(np.e), x)) if fn == "log2e" else b("math", x, fn=fn)
    return x


def test_values_vouch_for_what_they_come_from() -> None:
    """exp2(x log2 e) is exp(x) by value; by word nothing but the element is known."""
    lanes, right = matched(["exp", "log1p"], ["log2e", "exp2", "erf"], 1e-5)
    assert (lanes, right) == (5, 4)  # all but the result
    assert matched(["exp", "log1p"], ["log2e", "exp2", "erf"], 0.0)[1] == 2  # the element and the literal


def rows(stride: int) -> Program:
    """out[3 i + j] = x[i, j] of x: f32[4, 3], flat, with the row stride passed by the host."""

    def build(b: Builder, x: Value, out: Value, *scalars: Value) -> None:
        row, index = b("program_id", axis=0), b.index((3,), 0, I32)
        base = b("mul", row, scalars[0])
        place = b("add", b.broadcast(base, (3,)), index)
        target = b("add", b.broadcast(b("mul", row, b.constant(3, I32)), (3,)), index)
        store(b, out, target, load(b, x, place))

    program = kernel("b.py", build, 12, 12, grid=4, scalars=[stride])
    flat = program.body.ops[[op.name for op in program.body.ops].index("write")]
    grid = program.body.args[0]
    grid.type = grid.type.with_shape((4, 3))
    flat.attrs["strides"] = (3, 1)
    return program


def test_a_wrong_stride_is_the_hosts() -> None:
    """With 3 instead of 4 the two agree, so the launch is blamed and not the address."""
    a = tensors("a.py", lambda b, x: b.reshape(b("neg", b("neg", x)), (12,)), {"x": (F32, (4, 3))})
    found = explain(a, rows(4), drawn(a), drawn(a))
    assert found.kind == "index" and found.b is not None
    launch: Op = next(op for op in rows(4).body.ops if op.name == "launch")
    assert found.b.line == launch.span.line


def test_inputs_of_zeros_and_ones_do_not_mislead() -> None:
    """At ones every product is one; the pair is explained at inputs that tell values apart."""
    a = tensors("a.py", lambda b, x: b("mul", b("mul", x, x), b.like(3.0, x)), X)
    b = tensors("b.py", lambda b, x: b("mul", b("mul", x, x), b.like(2.0, x)), X)
    ones = {"x": np.ones((3, 5), np.float32)}
    found = explain(a, b, ones, ones, 0, (0, 0), level_wanted="ieee")
    assert found.kind == "constant" and "by 3" in found.what


def test_outputs_that_agree_vouch() -> None:
    """The second output uses the wrong one of two right values: the values themselves are not blamed."""

    def build(pick: int):
        def made(b: Builder, x: Value) -> Value:
            both = [b("reduce", x, axis=1, combine="add"), b("reduce", x, axis=1, combine="max")]
            b.first = both[0]  # type: ignore[attr-defined]
            return b("math", both[pick], fn="exp")

        return made

    programs = []
    for file, pick in (("a.py", 0), ("b.py", 1)):
        program = tensors(file, build(pick), X)
        program.outputs.append(("out1", program.body.ops[1].result))
        programs.append(program)
    given = drawn(programs[0])
    found = explain(*programs, given, given)
    assert found.b is not None and found.b.line == 3
