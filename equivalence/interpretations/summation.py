"""Other legal orders of the accumulations whose order a source leaves open, and open roundings of a dot's products.

Takes the operands of a reduce, scan or dot and a Summation (None: the order that `ieee` chooses); gives concrete data.
A fixed order stays what it is, and so do extrema and integers, which no order changes.  Must not know the evaluator.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from equivalence.evaluator.lanes import Lanes
from equivalence.fields import threads
from equivalence.interpretations import _dot_loops, ieee
from equivalence.numerics import arith, casts
from lowering.ir.types import DType

Array = np.ndarray
FIXED = ("sequential", "pairwise")
_COMPILED_FROM = 1 << 22  # products from which a compiled loop is worth loading
_CHUNK = 8  # products of a dot added one after the other before partial sums are paired


@dataclass(frozen=True, slots=True)
class Summation:
    """First the terms are ``arranged``, then added one after the other or in pairs.

    ``largest``: positive terms first, negative ones last, which makes partial sums as large as they can be (of a dot:
    at random).  ``fused``: a dot's products are not rounded before they are added, where that is open.
    """

    name: str
    arranged: Literal["given", "reversed", "random", "largest"] = "given"
    pairs: bool = False
    fused: bool = False
    seed: int = 0

    def places(self, extent: int) -> Array:
        """The terms' numbers in the order in which they are added."""
        if self.arranged == "given":
            return np.arange(extent)
        if self.arranged == "reversed":
            return np.arange(extent)[::-1]
        return np.random.default_rng([self.seed, extent]).permutation(extent)

    def lanes(self, x: Array) -> Array:
        """Terms along axis 0, arranged."""
        if self.arranged == "largest":
            order = np.argsort(-x.astype(np.float64), axis=0, kind="stable")
            return np.take_along_axis(x, order, axis=0)
        return x[self.places(x.shape[0])]


def leaves_open(attrs: dict[str, Any], dt: DType) -> bool:
    return dt.is_float and attrs.get("combine", "add") in ("add", "mul") and attrs["order"] not in FIXED


def reduce(order: Summation | None, attrs: dict[str, Any], dt: DType, x: Array, axis: int) -> Array:
    """As ieee.reduce."""
    if order is None or not leaves_open(attrs, dt):
        return ieee.reduce(attrs, dt, x, axis)
    lanes = order.lanes(np.moveaxis(x, axis, 0))
    return _in_pairs(attrs, dt, lanes) if order.pairs else _one_by_one(attrs, dt, lanes)


def _one_by_one(attrs: dict[str, Any], dt: DType, lanes: Array) -> Array:
    if dt.name in ("f32", "f64") and attrs["combine"] == "add":
        with np.errstate(all="ignore"):
            return np.add.accumulate(lanes, axis=0)[-1]  # numpy adds prefixes one after the other, in the dtype
    total = lanes[0]
    for lane in lanes[1:]:
        total = ieee.combine(attrs["combine"], attrs, dt, total, lane)
    return total


def _in_pairs(attrs: dict[str, Any], dt: DType, lanes: Array) -> Array:
    while lanes.shape[0] > 1:
        even = lanes.shape[0] // 2 * 2
        merged = ieee.combine(attrs["combine"], attrs, dt, lanes[0:even:2], lanes[1:even:2])
        lanes = merged if lanes.shape[0] == even else np.concatenate([merged, lanes[even:]])
    return lanes[0]


def scan(order: Summation | None, attrs: dict[str, Any], dt: DType, x: Array, axis: int) -> Array:
    """As ieee.scan; in pairs each prefix is a tree of its own (Hillis and Steele, 1986)."""
    if order is None or not order.pairs or not leaves_open(attrs, dt):
        return ieee.scan(attrs, dt, x, axis)
    lanes = np.moveaxis(x, axis, 0)
    lanes = lanes[::-1] if attrs["reverse"] else lanes
    step = 1
    while step < lanes.shape[0]:
        merged = ieee.combine(attrs["combine"], attrs, dt, lanes[:-step], lanes[step:])
        lanes, step = np.concatenate([lanes[:step], merged]), 2 * step
    return np.moveaxis(lanes[::-1] if attrs["reverse"] else lanes, 0, axis)


def dot(order: Summation | None, attrs: dict[str, Any], out: DType, a: Lanes, b: Lanes, acc: Lanes | None) -> Array:
    """As ieee.dot, each addition rounded to ``out``; f32 operands that are split stay exact."""
    if order is None or not out.is_float or attrs["precision"] not in ("ieee", "tf32", "bf16"):
        return ieee.dot(attrs, out, a, b, acc)
    rows = ieee.rounded_operand(a.full(a.data), a.dtype, attrs["precision"])
    columns = ieee.rounded_operand(b.full(b.data), b.dtype, attrs["precision"])
    places = order.places(rows.shape[-1])
    fused = attrs["product"] == "fused" or (attrs["product"] == "open" and order.fused)
    chunk = _CHUNK if order.pairs else max(1, places.size)
    with np.errstate(all="ignore"):
        if _compiled(out, rows, columns, places.size):
            parts = [_by_loop(out, rows, columns, places, chunk, fused)]
        else:
            parts = [_products(out, rows, columns, places[i : i + chunk], fused) for i in range(0, places.size, chunk)]
        parts += [] if acc is None else [acc.data]
        parts = parts[::-1] if order.arranged == "reversed" else parts
        total = parts[0] if parts else np.zeros((1,) * rows.ndim, out.numpy)
        for part in parts[1:]:
            total = ieee.combine("add", attrs | {"rounding": "rne"}, out, total, part)
    return total


def _compiled(out: DType, rows: Array, columns: Array, terms: int) -> bool:
    """Large matrices of values that ``out`` holds, without batches."""
    size = terms * rows.shape[-2] * columns.shape[-1]
    if out.name not in ("f32", "f64") or size < _COMPILED_FROM or max(*rows.shape[:-2], *columns.shape[:-2], 1) > 1:
        return False
    return out.name == "f64" or all(bool((x == x.astype(out.numpy)).all()) for x in (rows, columns))


def _by_loop(out: DType, rows: Array, columns: Array, places: Array, chunk: int, fused: bool) -> Array:
    a, b = (np.ascontiguousarray(x.reshape(x.shape[-2:]), out.numpy) for x in (rows, columns))
    result = np.empty((a.shape[0], b.shape[1]), out.numpy)
    job = result, a, b, np.ascontiguousarray(places), chunk, fused
    threads.run_slices(a.shape[0], lambda part: _dot_loops.in_order(*job, part.start, part.stop))
    return result.reshape(*(1,) * (rows.ndim - 2), *result.shape)


def _products(out: DType, rows: Array, columns: Array, places: Array, fused: bool) -> Array:
    """The products of some k, added one after the other."""
    total: Array | None = None
    for k in places:
        x, y = rows[..., :, k, None], columns[..., k, None, :]
        if total is not None and fused and out.name in ("f32", "f64"):
            total = arith.fma(x.astype(out.numpy), y.astype(out.numpy), total, out.name)
            continue
        product = np.asarray(casts.cast(x * y, "f64", out.name))
        total = product if total is None else ieee.combine("add", {}, out, total, product)
    assert total is not None
    return total


__all__ = ["Summation", "dot", "leaves_open", "reduce", "scan"]
