"""What each scalar op means to the oracle."""

from __future__ import annotations

import operator as py
from collections.abc import Sequence

import numpy as np

from lowering.ir.program import Op
from lowering.ir.types import DType
from tests.mutation.oracle.arithmetic import CannotTell, as_floats, rounded
from tests.mutation.oracle.interpreter import Interpreter, means

Array = np.ndarray
_PLAIN = {"add": py.add, "sub": py.sub, "mul": py.mul}
_BITS = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}


def result(op: Op) -> DType:
    return op.results[0].type.dtype


def closed(m: Interpreter, op: Op, x: Sequence[Array]) -> list[Array]:
    return [m.closed(a, v) for a, v in zip(x, op.operands, strict=True)]


@means("add", "sub", "mul")
def arithmetic(m: Interpreter, op: Op, x: list[Array]) -> Array:
    if result(op).kind == "bool":
        return x[0] & x[1] if op.name == "mul" else x[0] ^ x[1]
    if not result(op).is_float:
        return np.asarray(_PLAIN[op.name](x[0], x[1])).astype(result(op).numpy)
    if op.name == "mul":
        return product(m, op, closed(m, op, x))
    left, right = x
    if op.name == "sub" and id(op.operands[1]) not in m.products:
        right = m.closed(right, op.operands[1])
    total = m.arithmetic.plain(_PLAIN[op.name], left, right)
    waits = m.arithmetic.lazy and not any(id(v) in m.literal for v in op.operands)
    return total if waits else m.arithmetic.settle(total, result(op).name)


def product(m: Interpreter, op: Op, x: Sequence[Array]) -> Array:
    """Where the source leaves contraction open, `lazy` lets additions read the exact product."""
    exact = m.arithmetic.plain(py.mul, *x)
    if m.arithmetic.lazy and m.contract:
        m.products.add(id(op.results[0]))
        return exact
    return m.arithmetic.settle(exact, result(op).name)


@means("fma")
def fma(m: Interpreter, op: Op, x: list[Array]) -> Array:
    a, b, c = x if not m.arithmetic.lazy else [*closed(m, op, x)[:2], x[2]]
    if m.arithmetic.name == "ieee" and result(op).name == "f32":
        wide = np.asarray(a.astype(np.longdouble) * b + c)
        return rounded(wide, "f32").astype(np.float64)
    total = m.arithmetic.plain(lambda p, q, r: p * q + r, a, b, c)
    return total if m.arithmetic.lazy else m.arithmetic.settle(total, result(op).name)


@means("div", "rem")
def divide(m: Interpreter, op: Op, x: list[Array]) -> Array:
    dt = result(op)
    if dt.is_float:
        a, b = closed(m, op, x)
        if op.name == "div":
            return m.arithmetic.settle(m.arithmetic.function("div", a, b), dt.name)
        return _float_remainder(m, op, a, b)
    a, b = x[0], np.where(x[1] == 0, np.ones((), x[1].dtype), x[1])
    floor, remainder = np.floor_divide(a, b), np.remainder(a, b)
    inexact = (remainder != 0) & ((a < 0) != (b < 0))
    if op.attrs["rounding"] == "trunc":
        floor = np.where(inexact, floor + np.ones((), floor.dtype), floor)
        remainder = np.where(inexact, remainder - b, remainder)
    return (floor if op.name == "div" else remainder).astype(dt.numpy)


def _float_remainder(m: Interpreter, op: Op, a: Array, b: Array) -> Array:
    if m.arithmetic.deep:
        raise CannotTell("a float remainder at 200 bits")
    fn = np.fmod if op.attrs["rounding"] == "trunc" else np.mod
    return m.arithmetic.settle(np.asarray(fn(a, b)), result(op).name)


@means("neg", "abs")
def sign(m: Interpreter, op: Op, x: list[Array]) -> Array:
    (a,) = closed(m, op, x)
    return np.asarray(-a if op.name == "neg" else np.abs(a)).astype(a.dtype)


@means("min", "max")
def extremum(m: Interpreter, op: Op, x: list[Array]) -> Array:
    a, b = closed(m, op, x)
    if not result(op).is_float:
        return (np.minimum if op.name == "min" else np.maximum)(a, b)
    if op.attrs["nan"] == "number" and not m.arithmetic.deep:
        return (np.fmin if op.name == "min" else np.fmax)(a, b)
    return m.arithmetic.function(op.name, a, b)


@means("math")
def function(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return m.arithmetic.settle(m.arithmetic.function(op.attrs["fn"], *closed(m, op, x)), result(op).name)


@means("round")
def to_integral(m: Interpreter, op: Op, x: list[Array]) -> Array:
    (a,) = closed(m, op, x)
    mode = op.attrs["mode"]
    if mode == "away":
        magnitude = m.arithmetic.function(
            "floor", m.arithmetic.plain(py.add, np.abs(a), m.arithmetic.hold(np.array(0.5)))
        )
        return np.where(as_floats(a) < 0, -magnitude, magnitude)
    return m.arithmetic.function({"even": "round"}.get(mode, mode), a)


@means("cmp")
def compare(m: Interpreter, op: Op, x: list[Array]) -> Array:
    a, b = closed(m, op, x)
    fn = {"eq": py.eq, "ne": py.ne, "lt": py.lt, "le": py.le, "gt": py.gt, "ge": py.ge}[op.attrs["pred"]]
    answer = np.asarray(fn(a, b)).astype(bool)
    if op.operands[0].type.dtype.is_float and op.attrs["unordered"]:
        nan = np.isnan(as_floats(a)) | np.isnan(as_floats(b))
        answer = np.where(nan, ~answer, answer)
    return answer


@means("select")
def select(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return np.where(x[0], x[1], x[2])


@means("cast")
def cast(m: Interpreter, op: Op, x: list[Array]) -> Array:
    source, to = op.operands[0].type.dtype, result(op)
    (a,) = closed(m, op, x)
    if to.kind == "bool":
        return np.asarray(a != 0).astype(bool)
    if to.is_float:
        if not source.is_float:
            return m.arithmetic.settle(m.arithmetic.hold(a), to.name)
        if m.arithmetic.rounds:
            return rounded(a, to.name, op.attrs["rounding"], op.attrs["saturate"])
        return a
    if not source.is_float:
        return a.astype(to.numpy)
    return _to_integer(m, a, to, op.attrs["overflow"])


def _to_integer(m: Interpreter, a: Array, to: DType, overflow: str) -> Array:
    whole = np.trunc(as_floats(m.arithmetic.function("trunc", a) if m.arithmetic.deep else a))
    info = np.iinfo(to.numpy)
    finite = np.where(np.isnan(whole), 0, whole)
    if overflow == "wrap":
        bits = np.frompyfunc(lambda v: int(v) & ((1 << 64) - 1) if np.isfinite(v) else 0, 1, 1)(finite)
        return np.asarray(bits).astype(np.uint64).astype(to.numpy)
    inside = np.clip(finite, float(info.min), float(info.max))
    exact = np.frompyfunc(lambda v: min(max(int(v), info.min), info.max), 1, 1)(inside)
    clipped = np.asarray(exact).astype(to.numpy)
    return clipped if overflow == "saturate" else np.where(inside == whole, clipped, m.store.undefined(to, a.shape))


@means("bitcast")
def bitcast(m: Interpreter, op: Op, x: list[Array]) -> Array:
    source, to = op.operands[0].type.dtype, result(op)
    if source.is_float or to.is_float:
        if not m.arithmetic.rounds:
            raise CannotTell("the bits of a real number")
        stored = as_floats(m.closed(x[0], op.operands[0])).astype(source.numpy) if source.is_float else x[0]
        raw = np.ascontiguousarray(stored).view(to.numpy).reshape(x[0].shape)
        return m.arithmetic.hold(raw.astype(np.float64)) if to.is_float else raw
    return np.ascontiguousarray(x[0]).view(to.numpy).reshape(x[0].shape) if to.kind != "ptr" else x[0].astype(np.int64)


@means("and", "or", "xor", "not")
def bitwise(m: Interpreter, op: Op, x: list[Array]) -> Array:
    return np.asarray(_BITS[op.name](*x))


@means("shl", "shr")
def shift(m: Interpreter, op: Op, x: list[Array]) -> Array:
    fn = np.left_shift if op.name == "shl" else np.right_shift
    return np.asarray(fn(x[0], x[1])).astype(result(op).numpy)


@means("mulhi")
def mulhi(m: Interpreter, op: Op, x: list[Array]) -> Array:
    bits = result(op).bits
    if bits == 32:
        wide = np.int64 if result(op).kind == "int" else np.uint64
        return ((x[0].astype(wide) * x[1].astype(wide)) >> wide(32)).astype(result(op).numpy)
    high = np.frompyfunc(lambda a, b: (int(a) * int(b)) >> bits, 2, 1)(x[0], x[1])
    return np.asarray(high).astype(result(op).numpy)


@means("popcount", "clz")
def count(m: Interpreter, op: Op, x: list[Array]) -> Array:
    bits, mask = result(op).bits, (1 << result(op).bits) - 1
    fn = (
        (lambda v: (int(v) & mask).bit_count())
        if op.name == "popcount"
        else lambda v: bits - (int(v) & mask).bit_length()
    )
    return np.asarray(np.frompyfunc(fn, 1, 1)(x[0])).astype(result(op).numpy)
