"""What reductions, scans, products of matrices, sorts, scatters and atomics mean to the oracle: left folds."""

from __future__ import annotations

import operator as py
from collections.abc import Callable

import numpy as np

from lowering.ir.program import Op
from lowering.ir.types import DType
from tests.mutation.oracle.arithmetic import CannotTell, as_floats, rounded
from tests.mutation.oracle.interpreter import Interpreter, means

Array = np.ndarray
Step = Callable[[Array, Array], Array]


def step(m: Interpreter, combine: str, dt: DType, nan: str = "propagate") -> Step:
    """One application of a named combiner."""
    if combine in ("and", "or", "xor"):
        return {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}[combine]
    if combine in ("max", "min"):
        if dt.is_float and (m.arithmetic.deep):
            return lambda a, b: m.arithmetic.function(combine, a, b)
        if nan == "number":
            return np.fmax if combine == "max" else np.fmin
        return np.maximum if combine == "max" else np.minimum
    fn = py.add if combine == "add" else py.mul
    if not dt.is_float:
        boolean = np.bitwise_xor if combine == "add" else np.bitwise_and
        return boolean if dt.kind == "bool" else lambda a, b: np.asarray(fn(a, b)).astype(dt.numpy)
    if combine == "add" and m.arithmetic.lazy:
        return lambda a, b: m.arithmetic.plain(py.add, a, b)
    return lambda a, b: m.arithmetic.settle(m.arithmetic.plain(fn, a, b), dt.name)


def operands(m: Interpreter, op: Op, x: list[Array]) -> list[Array]:
    """Rounded, unless they join a sum in their own dtype."""
    if op.attrs.get("combine") == "add":
        return x
    return [m.closed(a, v) for a, v in zip(x, op.operands, strict=True)]


@means("reduce")
def reduce(m: Interpreter, op: Op, x: list[Array]) -> Array | list[Array]:
    axis, combine = op.attrs["axis"], op.attrs["combine"]
    x = operands(m, op, x)
    if combine == "region":
        return _region(m, op, x, axis)
    if combine in ("argmax", "argmin"):
        return _extreme(op, x, axis)
    lanes = np.moveaxis(x[0], axis, 0)
    if not len(lanes):
        raise CannotTell("a reduction of nothing")
    return _fold(m, op, list(lanes))


def _fold(m: Interpreter, op: Op, lanes: list[Array]) -> Array:
    combine = step(m, op.attrs["combine"], op.results[0].type.dtype, op.attrs["nan"])
    if op.attrs["order"] == "pairwise":
        while len(lanes) > 1:
            half = len(lanes) // 2
            lanes = [combine(a, b) for a, b in zip(lanes[:half], lanes[half : 2 * half], strict=True)] + lanes[
                2 * half :
            ]
        return np.asarray(lanes[0])
    total = lanes[0]
    for lane in lanes[1:]:
        total = combine(total, lane)
    return np.asarray(total)


def _region(m: Interpreter, op: Op, x: list[Array], axis: int) -> list[Array]:
    columns = [np.moveaxis(a, axis, 0) for a in x]
    region, total = op.regions[0], [c[0] for c in columns]
    env: dict = {}
    if any(v.type.rank for v in region.args):
        raise CannotTell("a region of tensors")
    for i in range(1, len(columns[0])):
        total = _apply_region(m, op, env, [*total, *(c[i] for c in columns)])
    return total


def _apply_region(m: Interpreter, op: Op, env: dict, arguments: list[Array]) -> list[Array]:
    """The region lane by lane: its values are scalars."""
    shape = arguments[0].shape
    outs = [np.array(a) for a in arguments[: len(arguments) // 2]]
    for place in np.ndindex(*shape):
        env.update(zip(op.regions[0].args, [np.asarray(a[place]) for a in arguments], strict=True))
        for out, value in zip(outs, m.block(op.regions[0], env), strict=True):
            out[place] = value
    return outs


def _extreme(op: Op, x: list[Array], axis: int) -> list[Array]:
    values = np.moveaxis(x[0], axis, 0)
    places = np.moveaxis(np.broadcast_to(x[1], x[0].shape), axis, 0)
    better = py.gt if op.attrs["combine"] == "argmax" else py.lt
    best, where = values[0], places[0]
    for value, place in zip(values[1:], places[1:], strict=True):
        wins = np.asarray(better(value, best), bool) | (np.asarray(value == best, bool) & (place < where))
        if op.attrs["nan"] == "propagate":
            wins |= np.isnan(as_floats(value)) & ~np.isnan(as_floats(best)) if value.dtype.kind not in "iub" else False
        best, where = np.where(wins, value, best), np.where(wins, place, where)
    return [best, where.astype(op.results[1].type.dtype.numpy)]


@means("scan")
def scan(m: Interpreter, op: Op, x: list[Array]) -> Array:
    if op.attrs["combine"] in ("region", "argmax", "argmin"):
        raise CannotTell("a generic scan")
    lanes = np.moveaxis(operands(m, op, x)[0], op.attrs["axis"], 0)
    lanes = lanes[::-1] if op.attrs["reverse"] else lanes
    combine = step(m, op.attrs["combine"], op.results[0].type.dtype, op.attrs["nan"])
    steps = list(lanes[:1])
    for lane in lanes[1:]:
        steps.append(combine(steps[-1], lane))
    whole = np.stack(steps) if steps else lanes
    return np.moveaxis(whole[::-1] if op.attrs["reverse"] else whole, 0, op.attrs["axis"])


@means("dot")
def dot(m: Interpreter, op: Op, x: list[Array]) -> Array:
    """Each product rounded, then added in order of k, to the accumulator first."""
    dt, precision = op.results[0].type.dtype, op.attrs["precision"]
    a, b = (m.closed(v, o) for v, o in zip(x[:2], op.operands[:2], strict=True))
    if precision in ("tf32", "bf16") and m.arithmetic.rounds and op.operands[0].type.dtype.is_float:
        a, b = rounded(a, precision), rounded(b, precision)
    m.work += a.size * b.shape[-1]
    if not m.arithmetic.rounds and not m.arithmetic.deep and dt.is_float:
        return _matmul(a, b, x[2] if len(x) > 2 else None)
    combine = step(m, "add", dt)
    total = x[2] if len(x) > 2 else None
    for k in range(a.shape[-1]):
        term = m.arithmetic.plain(py.mul, a[..., :, k, None], b[..., None, k, :])
        term = m.arithmetic.settle(term, dt.name) if dt.is_float else np.asarray(term).astype(dt.numpy)
        total = term if total is None else combine(total, term)
    if total is None:
        raise CannotTell("an empty product")
    return total


def _matmul(a: Array, b: Array, total: Array | None) -> Array:
    product = np.einsum("...mk,...kn->...mn", a, b)
    return product if total is None else total + product


@means("sort")
def sort(m: Interpreter, op: Op, x: list[Array]) -> list[Array]:
    if op.attrs["order"] == "region":
        raise CannotTell("a sort by a region")
    axis = op.attrs["axis"]
    x = operands(m, op, x)
    key = as_floats(x[0]) if x[0].dtype.kind not in "iub" else x[0].astype(np.int64)
    places = np.argsort(-key if op.attrs["order"] == "descending" else key, axis=axis, kind="stable")
    return [np.take_along_axis(a, places, axis) for a in x]


@means("scatter")
def scatter(m: Interpreter, op: Op, x: list[Array]) -> Array:
    whole, updates = np.array(x[0]), x[1]
    combine = op.attrs["combine"]
    put = None if combine == "set" else step(m, combine, op.results[0].type.dtype, op.attrs["nan"])
    for place in np.ndindex(*updates.shape):
        target = tuple(int(i[place]) for i in x[2:])
        if all(0 <= t < n for t, n in zip(target, whole.shape, strict=True)):
            whole[target] = updates[place] if put is None else put(whole[target], updates[place])
    return whole


@means("atomic_rmw")
def atomic(m: Interpreter, op: Op, x: list[Array]) -> Array:
    dt, combine = op.operands[1].type.dtype, op.attrs["combine"]
    wanted = np.broadcast_to(x[2], x[0].shape) if len(x) > 2 else np.ones(x[0].shape, bool)
    old = np.array(m.store.undefined(dt, x[0].shape))
    put = None if combine == "exchange" else step(m, combine, dt, op.attrs["nan"])
    address, value = np.atleast_1d(x[0]), np.broadcast_to(x[1], x[0].shape)
    for place in np.ndindex(*x[0].shape):
        if wanted[place]:
            at, one = np.atleast_1d(x[0][place]), np.ones(1, bool)
            seen = m.store.load(at, one, dt, None)
            old[place] = seen[0]
            new = np.atleast_1d(value[place])
            m.store.store(at, new if put is None else np.atleast_1d(put(seen, new)), one, dt)
    del address
    return old
