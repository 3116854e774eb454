"""Small programs for the tests of the verdicts' meaning: builds KIR pairs and judges them.

Gives ``Kit`` (what a body builds with), ``program``, ``kernel``, ``judged`` and ``level``.  A body takes a Kit and the
input values and returns the output (or several).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from equivalence.judge import judge
from equivalence.verdicts import Level, Report
from irverify.options import CompareOptions
from lowering.ir.builder import Builder
from lowering.ir.composites import Composites
from lowering.ir.program import Block, Function, Program, Value
from lowering.ir.types import BOOL, F32, I32, I64, PTR, DType, TensorType, dtype

Body = Callable[..., Value | Sequence[Value]]
_BODIES: list[Any] = []  # kept alive: a key is a body's identity
EQUAL = (Level.BITWISE, Level.REASSOCIATED, Level.REAL)


@dataclass
class Kit:
    """``b`` the builder, ``c`` the composites; the rest is spelling."""

    b: Builder
    c: Composites

    def lit(self, value: float, model: Value) -> Value:
        return self.b.like(value, model)

    def add(self, x: Value, y: Value | float) -> Value:
        return self.b("add", x, self._value(y, x))

    def sub(self, x: Value, y: Value | float) -> Value:
        return self.b("sub", x, self._value(y, x))

    def mul(self, x: Value, y: Value | float) -> Value:
        return self.b("mul", x, self._value(y, x))

    def div(self, x: Value, y: Value | float) -> Value:
        return self.b("div", x, self._value(y, x))

    def max(self, x: Value, y: Value | float) -> Value:
        return self.b("max", x, self._value(y, x))

    def min(self, x: Value, y: Value | float) -> Value:
        return self.b("min", x, self._value(y, x))

    def fn(self, name: str, *xs: Value) -> Value:
        return self.c.fn(name, *xs)

    def sum(self, x: Value, axis: int = -1, order: str = "unordered") -> Value:
        return self.b("reduce", x, axis=axis % x.type.rank, combine="add", order=order)

    def cast(self, x: Value, to: str, **attrs: Any) -> Value:
        return self.b.cast(x, to, **attrs)

    def where(self, condition: Value, x: Value | float, y: Value | float) -> Value:
        model = x if isinstance(x, Value) else y
        assert isinstance(model, Value)
        return self.b("select", condition, self._value(x, model), self._value(y, model))

    def cmp(self, pred: str, x: Value, y: Value | float) -> Value:
        return self.b.cmp(pred, x, self._value(y, x))

    def part(self, x: Value, start: int, stop: int) -> Value:
        """Lanes start:stop of the last axis."""
        rest = x.type.shape[:-1]
        low = (*(0 for _ in rest), start)
        return self.b("slice", x, start=low, limit=(*rest, stop), step=(1,) * (len(rest) + 1))

    def column(self, x: Value, i: int) -> Value:
        """Lane i of the last axis, without that axis."""
        return self.b.reshape(self.part(x, i, i + 1), x.type.shape[:-1])

    def columns(self, x: Value) -> list[Value]:
        return [self.column(x, i) for i in range(x.type.shape[-1])]

    def chain(self, terms: Sequence[Value]) -> Value:
        """Left to right, written out."""
        total = terms[0]
        for term in terms[1:]:
            total = self.b("add", total, term)
        return total

    def tree(self, terms: Sequence[Value]) -> Value:
        """A balanced tree of neighbours, written out."""
        if len(terms) == 1:
            return terms[0]
        half = len(terms) // 2
        return self.b("add", self.tree(terms[:half]), self.tree(terms[half:]))

    def _value(self, x: Value | float, model: Value) -> Value:
        return x if isinstance(x, Value) else self.b.like(x, model)


def types_of(*specs: str) -> list[TensorType]:
    """'f32[3,5]' and the like."""
    result = []
    for spec in specs:
        name, _, rest = spec.partition("[")
        shape = tuple(int(n) for n in rest.rstrip("]").split(",") if n)
        result.append(TensorType(dtype(name), shape))
    return result


def program(body: Body, *specs: str, key: str = "", contract: bool = False) -> Program:
    """A host program of ``body``; inputs are x0, x1 ..., outputs out0, out1 ..."""
    b = Builder()
    args = [b.value(t) for t in types_of(*specs)]
    b.block.args = list(args)
    kit = Kit(b, Composites(b, "torch"))
    outs = body(kit, *args)
    outs = [outs] if isinstance(outs, Value) else list(outs)
    named = [(f"out{i}", out) for i, out in enumerate(outs)]
    attrs = {"key": key or body_key(body), "contract": contract}
    return Program(b.block, [f"x{i}" for i in range(len(args))], named, getattr(kit, "kernels", {}), attrs)


def body_key(body: Body) -> str:
    """Bodies are sources of their own: open orders of one body are one choice."""
    _BODIES.append(body)
    return f"body {id(body)}"


def arrays(seed: int, *specs: str) -> dict[str, np.ndarray]:
    """Standard normal floats; integers in [0, 8)."""
    rng = np.random.default_rng(seed)
    made = {}
    for i, t in enumerate(types_of(*specs)):
        drawn = rng.standard_normal(t.shape) if t.dtype.is_float else rng.integers(0, 8, t.shape)
        made[f"x{i}"] = drawn.astype(t.dtype.numpy)
    return made


def options(**changes: Any) -> CompareOptions:
    return CompareOptions(a="a.py", b="b.py", **changes)


def judged(a: Body | Program, b: Body | Program, *specs: str, data: Any = None, **changes: Any) -> Report:
    """The report on two bodies (or programs) with inputs of types ``specs``."""
    first = a if isinstance(a, Program) else program(a, *specs)
    second = b if isinstance(b, Program) else program(b, *specs)
    with np.errstate(all="ignore"):
        return judge([first], [second], [arrays(1, *specs) if data is None else data], options(**changes))


def level(a: Body | Program, b: Body | Program, *specs: str, **given: Any) -> Level:
    return judged(a, b, *specs, **given).verdict.level


# -- kernels -----------------------------------------------------------------------------------------------------


@dataclass
class KernelKit(Kit):
    """Inside a kernel: addresses are ``ptr + offset`` in elements."""

    def pid(self) -> Value:
        return self.b("program_id", axis=0)

    def at(self, ptr: Value, offset: Value, dt: DType = F32) -> Value:
        spread = self.b.broadcast(ptr, offset.type.shape, ()) if offset.type.shape else ptr
        return self.b("addptr", spread, offset, bytes=dt.nbytes)

    def load(self, ptr: Value, offset: Value, *masked: Value, dt: DType = F32) -> Value:
        return self.b("load", self.at(ptr, offset, dt), *masked, to=dt.name)

    def store(self, ptr: Value, offset: Value, value: Value, *mask: Value) -> None:
        self.b.op("store", [self.at(ptr, offset, value.type.dtype), value, *mask])

    def lanes(self, n: int) -> Value:
        return self.b.index((n,), 0, I32)

    def int(self, value: int, dt: DType = I32) -> Value:
        return self.b.constant(value, dt)

    def splat(self, x: Value, n: int) -> Value:
        return self.b.broadcast(x, (n,), ())


def launched(
    body: Callable[..., None],
    *specs: str,
    out: str,
    grid: int = 1,
    init: float | None = None,
    inplace: bool = False,
    key: str = "",
) -> Program:
    """A program that copies inputs to buffers, launches ``body(kit, *input pointers, out pointer)`` and reads out.

    ``init`` fills the output first; ``inplace`` gives the first input's buffer instead of an output buffer.
    """
    inner = Builder()
    target = types_of(out)[0]
    pointers = [inner.value(TensorType(PTR)) for _ in range(len(specs) + (0 if inplace else 1))]
    kit = KernelKit(inner, Composites(inner, "cuda"))
    body(kit, *pointers)
    _BODIES.append(body)
    kernel = Function("k", pointers, inner.block, {"contract": False, "key": key or f"kernel {id(body)}"})
    b = Builder()
    args = [b.value(t) for t in types_of(*specs)]
    b.block.args = list(args)
    buffers = [_buffer(b, a) for a in args]
    if not inplace:
        filled = None if init is None else b.constant(init, target.dtype, target.shape)
        buffers.append(_buffer(b, filled, target))
    b.op("launch", buffers, kernel="k", grid=(grid, 1, 1))
    result = b(
        "read", buffers[0 if inplace else -1], to=target.dtype.name, shape=target.shape, strides=_strides(target)
    )
    names = [f"x{i}" for i in range(len(args))]
    return Program(b.block, names, [("out0", result)], {"k": kernel}, {"key": f"host {id(body)}"})


def _strides(t: TensorType) -> tuple[int, ...]:
    return tuple(int(np.prod(t.shape[i + 1 :])) for i in range(t.rank))


def _buffer(b: Builder, value: Value | None, t: TensorType | None = None) -> Value:
    t = value.type if value is not None else t
    assert t is not None
    buffer = b("alloc", bytes=t.size * t.dtype.nbytes, name="")
    if value is not None:
        b.op("write", [buffer, value], strides=_strides(t))
    return buffer


__all__ = [
    "BOOL",
    "EQUAL",
    "F32",
    "I32",
    "I64",
    "Block",
    "Builder",
    "KernelKit",
    "Kit",
    "Level",
    "TensorType",
    "arrays",
    "judged",
    "launched",
    "level",
    "options",
    "program",
    "types_of",
]  # fmt: skip
