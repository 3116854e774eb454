"""Small programs for the tests: tensor programs and one-dimensional kernels, each op on a line of its own.

Takes functions of a Builder and its arguments; gives Programs whose spans are lines 1, 2, 3 ... of the named file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equivalence.divergence.finding import Context
from equivalence.divergence.runs import Runs
from lowering.errors import Span
from lowering.ir.builder import Builder
from lowering.ir.program import Function, Op, Program, Value
from lowering.ir.types import F32, I32, PTR, DType, TensorType, from_numpy

Build = Callable[..., Value]
LEVEL = {"level": "test", "contract": False, "key": "k"}


class Lines(Builder):
    """Every op on the next line."""

    def __init__(self, file: str) -> None:
        super().__init__()
        self.file, self.line = file, 0

    def op(self, name: str, *args: Any, **attrs: Any) -> Op:
        self.line += 1
        self.span = Span(self.file, self.line, 1)
        return super().op(name, *args, **attrs)


def tensors(file: str, build: Build, shapes: dict[str, tuple[DType, tuple[int, ...]]]) -> Program:
    """out0 = build(builder, *inputs)."""
    b = Lines(file)
    b.block.args.extend(b.value(TensorType(dt, shape)) for dt, shape in shapes.values())
    out = build(b, *b.block.args)
    return Program(b.block, list(shapes), [("out0", out)], {}, dict(LEVEL))


def kernel(
    file: str,
    build: Callable[..., None],
    n: int,
    out: int,
    *,
    grid: int = 1,
    scalars: Sequence[Any] = (),
    clear: bool = False,
) -> Program:
    """One launch of build(builder, x pointer, out pointer, *scalars) over x: f32[n] -> f32[out]."""
    b = Lines(file)
    types = [TensorType(PTR), TensorType(PTR), *(TensorType(I32 if isinstance(s, int) else F32) for s in scalars)]
    function = Function("k", [b.value(t) for t in types], b.block, {**LEVEL, "key": file})
    build(b, *function.params)
    b.op("yield")
    host = Lines(file)
    host.line = 100
    x = host.value(TensorType(F32, (n,)))
    host.block.args.append(x)
    source, target = host("alloc", bytes=4 * n), host("alloc", bytes=4 * out)
    host.op("write", [source, x], strides=(1,))
    if clear:
        host.op("write", [target, host.constant(0.0, F32, (out,))], strides=(1,))
    given = [host.constant(s, t.dtype) for s, t in zip(scalars, types[2:])]
    host.op("launch", [source, target, *given], kernel="k", grid=(grid, 1, 1))
    result = host("read", target, to="f32", shape=(out,), strides=(1,))
    return Program(host.block, ["x"], [("out0", result)], {"k": function}, dict(LEVEL))


def load(b: Builder, base: Value, index: Value, mask: Value | None = None, other: float | None = None) -> Value:
    """f32 elements base[index]."""
    shape = index.type.shape
    address = b("addptr", b.broadcast(base, shape), index, bytes=4)
    operands = [address] if mask is None else [address, mask]
    return b("load", *operands, *([b.constant(other, F32, shape)] if other is not None else []), to="f32")


def store(b: Builder, base: Value, index: Value, value: Value, mask: Value | None = None) -> None:
    address = b("addptr", b.broadcast(base, index.type.shape), index, bytes=4)
    b.op("store", [address, value, *([mask] if mask is not None else [])])


def drawn(program: Program, seed: int = 3) -> dict[str, np.ndarray]:
    """Inputs: normal floats, small integers."""
    rng = np.random.default_rng(seed)
    made = {}
    for name, value in zip(program.input_names, program.body.args):
        shape, dt = value.type.shape, value.type.dtype
        made[name] = (rng.standard_normal(shape) if dt.is_float else rng.integers(-9, 9, shape)).astype(dt.numpy)
    return made


def context(a: Program, b: Program, level: Any = "real", inputs: dict[str, np.ndarray] | None = None) -> Context:
    """Both sides at the element that explain() would choose."""
    given = inputs or drawn(a)
    found = Runs.of(a, b, given, given, level, 0).context(None, None)
    assert found is not None, "the two programs do not differ"
    return found


__all__ = ["Build", "context", "drawn", "from_numpy", "kernel", "load", "store", "tensors"]
