"""`ieee`: the value itself, rounded exactly as the dtype and the op say.  Gives evaluate() and reduce/scan/dot/sort.

It drives control and addresses, so it returns plain arrays, not planes.  Where a source leaves an order open, one
legal choice is made and named: a balanced tree for reductions, a fused sum (exact products, added in f64, one
rounding) inside a dot, or what the matrix unit of a target gives.  Must not know the evaluator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.fields import threads
from equivalence.numerics import arith, bits, casts, integers, intrinsics, matrix_dot, order, rounding
from equivalence.numerics.matrix_units import Unit
from lowering.errors import InternalError, Unsupported
from lowering.ir.types import DType

Array = np.ndarray
_ROUND_MODE = {"floor": "rtn", "ceil": "rtp", "trunc": "rtz", "even": "rne", "away": "rna"}
_CMP: dict[str, Callable[..., Array]] = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_INT: dict[str, Callable[..., Any]] = {
    "add": integers.add, "sub": integers.sub, "mul": integers.mul, "neg": integers.neg, "abs": integers.absolute,
    "and": integers.bit_and, "or": integers.bit_or, "xor": integers.bit_xor, "not": integers.bit_not,
    "min": integers.minimum, "max": integers.maximum, "mulhi": bits.mulhi, "popcount": bits.popcount,
    "clz": bits.clz,
}  # fmt: skip


def evaluate(name: str, attrs: dict[str, Any], out: DType, *args: Lanes) -> Array:
    """The result of an elementwise primitive, in ``out``'s storage dtype, lazily broadcast."""
    arrays = [a.data for a in args]
    with np.errstate(all="ignore"):
        result = _dispatch(name, attrs, out, args[0].dtype, arrays)
    return np.asarray(result).astype(out.numpy, copy=False)


def _dispatch(name: str, attrs: dict[str, Any], out: DType, source: DType, x: list[Array]) -> Any:
    match name:
        case "select":
            return np.where(*x)
        case "cmp":
            return _compare(attrs, source, *x)
        case "cast":
            return _cast(attrs, out, source, x[0])
        case "bitcast":
            return x[0] if source.numpy == out.numpy else casts.bitcast(x[0], _code(source), _code(out))
        case "opaque":
            raise Unsupported(f"evaluating {attrs['fn']!r}", hint="its value is not modelled, only its identity")
    return _float(name, attrs, out, x) if source.is_float else _integer(name, attrs, source, x)


def _code(dt: DType) -> str:
    return "i64" if dt.kind == "ptr" else dt.name


def _compare(attrs: dict[str, Any], source: DType, a: Array, b: Array) -> Array:
    result = _CMP[attrs["pred"]](a, b)
    if source.is_float and attrs["unordered"]:
        nan = np.isnan(a.astype(np.float64)) | np.isnan(b.astype(np.float64))
        return np.where(nan, attrs["pred"] != "ne", result)
    return result


def _cast(attrs: dict[str, Any], out: DType, source: DType, x: Array) -> Array:
    if out.kind == "bool":
        return x != 0
    if source.numpy == out.numpy:
        return x
    overflow = "saturate" if attrs["overflow"] == "undefined" else attrs["overflow"]
    mode = attrs["rounding"] if out.is_float else None
    return casts.cast(x, _code(source), _code(out), mode=mode, saturate=attrs["saturate"], overflow=overflow)


#: Of a float division: its rounding is the integers' otherwise ('trunc').
_DIRECTED: dict[str, arith.Mode] = {"rtz": "rtz", "rtp": "rtp", "rtn": "rtn"}


def _float(name: str, attrs: dict[str, Any], out: DType, x: list[Array]) -> Any:
    dt = out.name
    match name:
        case "add" | "sub" | "mul":
            return getattr(arith, name)(*x, dt, attrs["rounding"])
        case "div":
            return arith.div(x[0], x[1], dt, _DIRECTED.get(attrs["rounding"], "rne"))
        case "fma":
            return arith.fma(x[0], x[1], x[2], dt)
        case "rem":
            return arith.rem(x[0], x[1], dt, attrs["rounding"])
        case "neg":
            return order.neg(x[0], dt)
        case "abs":
            return order.absolute(x[0], dt)
        case "min" | "max":
            fn = order.minimum if name == "min" else order.maximum
            return fn(x[0], x[1], dt, attrs["nan"])
        case "math":
            return arith.sqrt(x[0], dt) if attrs["fn"] == "sqrt" else intrinsics.apply(attrs["fn"], *x, dtype=dt)
        case "round":
            return rounding.round_integral(x[0], dt, mode=_ROUND_MODE[attrs["mode"]])  # type: ignore[arg-type]
    raise InternalError(f"ieee has no float meaning for {name}")


def _integer(name: str, attrs: dict[str, Any], dt: DType, x: list[Array]) -> Any:
    code = _code(dt)
    if dt.kind == "bool" and name in _BOOL:
        return _BOOL[name](*x)
    match name:
        case "div" | "rem":
            return getattr(integers, name)(*x, code, attrs["rounding"])[0]
        case "shl":
            return integers.shl(x[0], x[1], code)[0]
        case "shr":
            shift = integers.shr_logical if dt.kind in ("uint", "bool") else integers.shr_arithmetic
            return shift(x[0], x[1], code)[0]
    return _INT[name](*x, code)


_BOOL: dict[str, Callable[..., Array]] = {
    "add": np.logical_xor, "sub": np.logical_xor, "mul": np.logical_and, "neg": lambda a: a, "abs": lambda a: a,
    "min": np.logical_and, "max": np.logical_or, "and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor,
    "not": np.logical_not,
}  # fmt: skip


# -- accumulation ------------------------------------------------------------------------------------------------


def combine(name: str, attrs: dict[str, Any], dt: DType, a: Array, b: Array) -> Array:
    """One step of a named combiner."""
    full = {"rounding": "rne", **attrs}
    with np.errstate(all="ignore"):
        result = _float(name, full, dt, [a, b]) if dt.is_float else _integer(name, full, dt, [a, b])
    return np.asarray(result).astype(dt.numpy, copy=False)


def reduce(attrs: dict[str, Any], dt: DType, x: Array, axis: int) -> Array:
    """Fold along ``axis`` (full extent): a left fold when sequential, else a balanced tree over the index bits."""
    lanes = np.moveaxis(x, axis, 0)
    if attrs["order"] == "sequential":
        total = lanes[0]
        for lane in lanes[1:]:
            total = combine(attrs["combine"], attrs, dt, total, lane)
        return total
    fast = _native_reduce(attrs, dt, x, axis)
    if fast is not None:
        return fast
    while lanes.shape[0] > 1:
        half = lanes.shape[0] // 2
        merged = combine(attrs["combine"], attrs, dt, lanes[:half], lanes[half : 2 * half])
        lanes = merged if lanes.shape[0] == 2 * half else np.concatenate([merged, lanes[2 * half :]])
    return lanes[0]


def _native_reduce(attrs: dict[str, Any], dt: DType, x: Array, axis: int) -> Array | None:
    """numpy's own loops where their result is one of the legal ones: f32/f64 sums (pairwise) and extrema."""
    name = attrs["combine"]
    if dt.name in ("f32", "f64"):
        with np.errstate(all="ignore"):
            if name == "add":
                return np.add.reduce(x, axis=axis)
            if name in ("max", "min") and attrs["nan"] == "propagate":
                return (np.maximum if name == "max" else np.minimum).reduce(x, axis=axis)
            if name in ("max", "min"):
                return (np.fmax if name == "max" else np.fmin).reduce(x, axis=axis)
    if dt.kind in ("int", "uint") and name in ("add", "max", "min"):
        return getattr(np, {"add": "add", "max": "maximum", "min": "minimum"}[name]).reduce(
            x, axis=axis, dtype=dt.numpy
        )
    return None


def scan(attrs: dict[str, Any], dt: DType, x: Array, axis: int) -> Array:
    """Inclusive prefixes, one after the other (a legal order)."""
    lanes = np.moveaxis(x, axis, 0)
    lanes = lanes[::-1] if attrs["reverse"] else lanes
    steps = [lanes[0]] if lanes.shape[0] else []
    for lane in lanes[1:]:
        steps.append(combine(attrs["combine"], attrs, dt, steps[-1], lane))
    result = np.stack(steps[::-1] if attrs["reverse"] else steps) if steps else lanes
    return np.moveaxis(result, 0, axis)


def argextreme(attrs: dict[str, Any], values: Array, indices: Array, axis: int) -> tuple[Array, Array]:
    """argmax/argmin pairs: a NaN wins when it propagates; among equals the lowest index."""
    wide = values.astype(np.float64) if values.dtype.kind not in "biu" else values
    key = -wide if attrs["combine"] == "argmin" and wide.dtype.kind == "f" else wide
    if wide.dtype.kind != "f" and attrs["combine"] == "argmin":
        key = np.invert(wide)
    if wide.dtype.kind == "f":
        nan = np.isnan(wide)
        key = np.where(nan, np.inf if attrs["nan"] == "propagate" else -np.inf, key)
        best = np.max(key, axis=axis, keepdims=True)
        winners = (key == best) & (nan | ~nan.any(axis=axis, keepdims=True) if attrs["nan"] == "propagate" else True)
    else:
        best = np.max(key, axis=axis, keepdims=True)
        winners = key == best
    far = np.iinfo(indices.dtype).max
    place = np.argmin(np.where(winners, indices, far), axis=axis)
    place = np.expand_dims(place, axis)
    return (
        np.take_along_axis(values, place, axis).squeeze(axis),
        np.take_along_axis(np.broadcast_to(indices, values.shape), place, axis).squeeze(axis),
    )


def rounded_operand(x: Array, dt: DType, precision: str) -> Array:
    """A dot's operand as its precision reads it, as f64."""
    if precision in ("tf32", "bf16") and dt.name in ("f32", "f64"):
        return rounding.cast_float(x.astype(np.float32), "f32", precision).astype(np.float64)
    return x.astype(np.float64)


def product(a: Array, b: Array) -> Array:
    """a @ b in f64."""
    return threads.product(a, b)


def dot(attrs: dict[str, Any], out: DType, a: Lanes, b: Lanes, acc: Lanes | None, unit: Unit | None = None) -> Array:
    """Exact products summed in f64 with the accumulator and rounded once, or as ``unit`` adds; integers mod 2^bits."""
    if unit is not None and out.is_float:
        found = _on_unit(attrs, out, a, b, acc, unit)
        if found is not None:
            return found
    with np.errstate(all="ignore"):
        if not out.is_float:
            total = np.matmul(a.full(a.data).astype(np.int64), b.full(b.data).astype(np.int64))
            total = total if acc is None else total + acc.data.astype(np.int64)
            return total.astype(out.numpy)
        rows = rounded_operand(a.full(a.data), a.dtype, attrs["precision"])
        columns = rounded_operand(b.full(b.data), b.dtype, attrs["precision"])
        total = product(rows, columns)
        if acc is not None:
            total = total + acc.data.astype(np.float64)
        return total if out.name == "f64" else np.asarray(casts.cast(total, "f64", out.name))


def _on_unit(attrs: dict[str, Any], out: DType, a: Lanes, b: Lanes, acc: Lanes | None, unit: Unit) -> Array | None:
    """The dot as a matrix unit evaluates it; None where its arithmetic is not modelled for these formats."""
    start = None if acc is None else acc.full(acc.data)
    rows, columns, dtypes = a.full(a.data), b.full(b.data), (a.dtype.name, b.dtype.name)
    return matrix_dot.evaluate(unit, rows, columns, start, dtypes, out.name, attrs["precision"], attrs["impl"])


def total_order_key(x: Array) -> Array:
    """Integers ordered as the floats are, NaN last and -0 before +0; integers as they are."""
    if x.dtype.kind in "biu":
        return x
    wide = x.astype(np.float64)
    bits = np.where(np.isnan(wide), np.float64(np.nan), wide).view(np.int64)
    bits = np.where(np.isnan(wide), np.int64(np.iinfo(np.int64).max), bits)
    return np.where(bits < 0, np.int64(np.iinfo(np.int64).min) - bits, bits)


def sort_permutation(keys: Sequence[Array], axis: int, descending: bool) -> Array:
    """Stable positions that put ``keys[0]`` (then keys[1], ...) in order along ``axis``."""
    places = None
    for key in reversed(keys):
        ordered = total_order_key(key)
        if descending:
            ordered = ~ordered if ordered.dtype.kind in "iub" else -ordered
        here = ordered if places is None else np.take_along_axis(ordered, places, axis)
        step = np.argsort(here, axis=axis, kind="stable")
        places = step if places is None else np.take_along_axis(places, step, axis)
    assert places is not None
    return places
