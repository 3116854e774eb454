"""The entries of tests.frontends.nki.conformance: formulas of NKI.md §1.6 in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np

from lowering.capture.nki import instructions as isa
from lowering.capture.nki.dtypes import HELD
from tests.frontends.nki.conformance import Entry, column, data, like_data, whole
from tests.frontends.nki.instruction_runs import f32, given, rounded

MASK = ("plain", "strided", "mask")
FP32_MIN = float(np.finfo(np.float32).min)
PICKED = [*range(31), 255]


def exact_exp(x: np.ndarray) -> np.ndarray:
    return np.exp(x.astype(np.float64)).astype(np.float32)


def scanned(x: np.ndarray, y: np.ndarray, first: np.ndarray) -> np.ndarray:
    """r = x[i] * r + y[i], each rounded to f32."""
    x, y, state, made = f32(x), f32(y), f32(first)[:, 0], np.empty(x.shape, np.float32)
    for i in range(x.shape[1]):
        state = x[:, i] * state + y[:, i]
        made[:, i] = state
    return made


def statistics(x: np.ndarray) -> np.ndarray:
    """Of whole numbers whose halves have whole means: exact."""
    columns = []
    for half in (x[:, ::2], x[:, 1::2]):
        count, wide = half.shape[1], f32(half)
        mean = wide.sum(1) / np.float32(max(count, 1)) if count else np.zeros(len(x), np.float32)
        columns += [np.full(len(x), count, np.float32), mean, ((wide - mean[:, None]) ** 2).sum(1)]
    return np.stack(columns, 1).astype(np.float32)


def even(lanes: int, free: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Each half of a row is +1 and -1 by turns: means are 0 or 1 over a power of two."""
    signs = np.where(np.arange(free) // 2 % 2, -1, 1)
    return np.broadcast_to(signs, (lanes, free)).astype(HELD[dtype]).copy()


def triples(lanes: int, free: int, dtype: str) -> list[np.ndarray]:
    """(count, mean, variance * count) with counts that add up to a power of two."""
    rows = np.tile(np.array([[4.0, 2.0, 8.0], [4.0, -2.0, 8.0]]), (lanes, free // 2 or 1, 1)).reshape(lanes, -1)
    return [rows[:, : 3 * free].astype(HELD[dtype])]


def aggregated(x: np.ndarray) -> list[np.ndarray]:
    counts, means, spreads = (f32(x)[:, first::3] for first in range(3))
    total = counts.sum(1)
    mean = (counts * means).sum(1) / total
    return [np.stack([mean, (spreads + counts * (means - mean[:, None]) ** 2).sum(1) / total], 1)]


def places(x: np.ndarray, vals: np.ndarray, order: range) -> tuple[np.ndarray, np.ndarray]:
    found, free = np.full(vals.shape, -1), np.ones(x.shape, bool)
    for p in range(x.shape[0]):
        for j in order:
            hits = np.flatnonzero((x[p] == vals[p, j]) & free[p])
            if len(hits):
                found[p, j], free[p, hits[0]] = hits[0], False
    return found, free


def with_values(lanes: int, free: int, dtype: str) -> list[np.ndarray]:
    return [whole(lanes, free, dtype), whole(lanes, 8, dtype, seed=1)]


def replaced(x: np.ndarray, vals: np.ndarray) -> list[Any]:
    found, free = places(x, vals, range(7, -1, -1))
    return [np.where(free, f32(x), np.float32(-7)), found.astype(np.int64).astype(np.uint32)]


def bounded(lanes: int, free: int, dtype: str) -> list[np.ndarray]:
    low = np.arange(lanes, dtype=np.float32)[:, None] % 5
    return [given(lanes, free, dtype=dtype), low, np.full((lanes, 1), max(free - 1, 1), np.float32)]


def in_range(x: np.ndarray, low: np.ndarray, high: np.ndarray) -> list[Any]:
    index = np.arange(x.shape[1])[None]
    made = np.where((index >= low) & (index < high), f32(x), np.float32(FP32_MIN))
    return [made, made.max(1, keepdims=True)]


def affine(x: np.ndarray) -> list[Any]:
    place = 2 + np.arange(x.shape[0])[:, None] - np.arange(x.shape[1])[None]
    return [np.where(place >= 0, f32(x), np.float32(-1e30))]


def shuffled(x: np.ndarray) -> list[Any]:
    return [x[np.arange(len(x)) // 32 * 32]]


def gathered(x: np.ndarray, index: np.ndarray) -> list[Any]:
    made = np.empty((x.shape[0], 16), x.dtype)
    for p in range(x.shape[0]):
        group = p // 16 * 16
        made[p] = x[p, index[group : group + 16].T.ravel()]
    return [made]


def product(x: np.ndarray, y: np.ndarray) -> list[Any]:
    return [(x.astype(np.float64).T @ y.astype(np.float64)).astype(np.float32)]


def picked(x: np.ndarray, y: Any, where: np.ndarray) -> np.ndarray:
    return np.where(where != 0, x, y)


def predicates(lanes: int, free: int, count: int, dtype: str) -> list[np.ndarray]:
    return [given(lanes, free, dtype="uint8") % 2, *(given(lanes, free, dtype=dtype, seed=n) for n in range(count))]


def numbered(lanes: int, free: int, dtype: str) -> list[np.ndarray]:
    index = np.random.default_rng(lanes).integers(0, free, (lanes, free)).astype(np.uint32)
    return [given(lanes, free, dtype=dtype), index]


def nonzero(x: np.ndarray) -> list[Any]:
    made = np.full((x.shape[0], x.shape[1] + 1), 0, np.int32)
    for p in range(0, x.shape[0], 16):
        where = np.flatnonzero(x[p])
        made[p] = [*(where + 5), *[-3] * (x.shape[1] - len(where)), len(where)]
    return [made]


def segments(lanes: int, free: int, dtype: str) -> list[np.ndarray]:
    return [(np.arange(free)[None] * 7 % 5 // 2).astype(HELD[dtype])]


def bounds(ids: np.ndarray) -> list[Any]:
    (row,), count = ids, ids.size
    first = [count if v == 0 else int(np.flatnonzero(row == v)[0]) for v in row]
    last = [-1 if v == 0 else int(np.flatnonzero(row == v)[-1]) + 1 for v in row]
    return [np.array([[first, last]], np.float32)]


def plain(function: Any, *more: Any) -> Any:
    """Emits function(dst, *tiles, *more, mask)."""
    return lambda d, x, m: function(d[0], *x, *more, mask=m)


def without_mask(function: Any, *more: Any) -> Any:
    return lambda d, x, m: function(*d[:1], *x, *more)


ENTRIES = [
    Entry("tensor_tensor", data(2), like_data(), plain(isa.tensor_tensor, "mult"), lambda x, y: [f32(x) * f32(y)],
          variants=MASK),
    Entry("tensor_tensor/integers", data(2), like_data(), plain(isa.tensor_tensor, "add", "pool"),
          lambda x, y: [x + y], dtypes=("int32", "uint32"), variants=MASK),
    Entry("tensor_scalar", data(1, 2), like_data(),
          lambda d, x, m: isa.tensor_scalar(d[0], x[0], "mult", x[1], False, "subtract", x[2], True, mask=m),
          lambda x, a, c: [c - f32(x) * a], variants=MASK),
    Entry("scalar_tensor_tensor", lambda p, f, t: [*data(2)(p, f, t), column(p)], like_data(),
          lambda d, x, m: isa.scalar_tensor_tensor(d[0], x[0], "add", x[2], "max", x[1], mask=m),
          lambda x, y, a: [np.maximum(f32(x) + a, f32(y))], variants=MASK),
    Entry("activation", data(1, 2), like_data(),
          lambda d, x, m: isa.activation(d[0], "square", x[0], x[1], x[2], mask=m),
          lambda x, b, s: [np.square(f32(x) * s + b)], variants=MASK),
    Entry("activation_reduce", data(1, make=whole),
          like_data(("column", "float32")),
          lambda d, x, m: isa.activation(d[0], "copy", x[0], None, 2.0, "add", d[1], "reset_reduce"),
          lambda x: [2 * f32(x), (2 * f32(x)).sum(1, keepdims=True)]),
    Entry("activate2", data(1, 2), like_data(),
          lambda d, x, m: isa.activate2(d[0], "relu", x[0], x[1], x[2], "mult", "add"),
          lambda x, a, c: [np.maximum(f32(x) * a + c, 0)]),
    Entry("exponential", data(1, 1), like_data(), without_mask(isa.exponential),
          lambda x, a: [exact_exp(f32(x) - a)]),
    Entry("tensor_reduce", data(1, make=whole), lambda p, f: [((p, 1), "")],
          lambda d, x, m: isa.tensor_reduce(d[0], "add", x[0], [1], True), lambda x: [-f32(x).sum(1, keepdims=True)]),
    Entry("tensor_partition_reduce", data(1, make=whole),
          lambda p, f: [((1, f), "")], lambda d, x, m: isa.tensor_partition_reduce(d[0], "average", x[0]),
          lambda x: [f32(x).sum(0, keepdims=True) / np.float32(x.shape[0])]),
    Entry("tensor_scalar_reduce", data(1, make=whole),
          like_data(("column", "float32")),
          lambda d, x, m: isa.tensor_scalar_reduce(d[0], x[0], "add", 1.0, "add", d[1]),
          lambda x: [f32(x) + 1, (f32(x) + 1).sum(1, keepdims=True)]),
    Entry("tensor_tensor_scan", data(2, 1), like_data(), plain(isa.tensor_tensor_scan, "mult", "add"),
          lambda x, y, a: [scanned(x, y, a)], free=(1, 512), variants=MASK),
    Entry("tensor_scalar_cumulative", data(1, 1), like_data(),
          lambda d, x, m: isa.tensor_scalar_cumulative(d[0], x[0], "mult", "add", x[1]),
          lambda x, a: [scanned(np.ones_like(f32(x)), f32(x) * a, np.zeros((len(x), 1)))], free=(1, 512)),
    Entry("select_reduce", lambda p, f, t: predicates(p, f, 2, t), like_data(("column", "float32")),
          lambda d, x, m: isa.select_reduce(d[0], x[0], x[1], 2.0, d[1], "reset_reduce"),
          lambda w, x, y: [picked(f32(x), np.float32(2), w), picked(f32(x), np.float32(2), w).max(1, keepdims=True)]),
    Entry("range_select", bounded, like_data(("column", "float32")),
          lambda d, x, m: isa.range_select(d[0], x[0], "is_ge", "is_lt", x[1], x[2], "reset_reduce", d[1],
                                           on_false_value=FP32_MIN), in_range),
    Entry("affine_select", data(1), like_data(),
          lambda d, x, m: isa.affine_select(d[0], [[-1, x[0].free]], 1, x[0], -1e30, "is_ge", 2, mask=m), affine,
          variants=MASK),
    Entry("iota", data(1), like_data(), lambda d, x, m: isa.iota(d[0], [[3, d[0].free]], -7, 2, mask=m),
          lambda x: [(2 * np.arange(x.shape[0])[:, None] + 3 * np.arange(x.shape[1]) - 7).astype(np.float32)],
          dtypes=("int32", "bfloat16"), variants=MASK),
    Entry("tensor_copy", data(1), like_data(), plain(isa.copy, "dve"), lambda x: [x], variants=MASK),
    Entry("tensor_copy/act", data(1), like_data(), plain(isa.copy, "act"), lambda x: [x]),
    Entry("tensor_copy_predicated", lambda p, f, t: predicates(p, f, 2, t), like_data(),
          lambda d, x, m: (isa.copy(d[0], x[2], "dve"), isa.copy_predicated(d[0], x[1], x[0])),
          lambda w, x, y: [picked(x, y, w).astype(x.dtype)]),
    Entry("memset", data(1), like_data(), lambda d, x, m: isa.memset(d[0], 0.1, mask=m),
          lambda x: [np.full(x.shape, np.float32(0.1))], variants=MASK),
    Entry("reciprocal", data(1), like_data(), plain(isa.reciprocal), lambda x: [np.float32(1) / f32(x)], variants=MASK),
    Entry("bn_stats", data(1, make=even), lambda p, f: [((p, 6), "float32")], without_mask(isa.bn_stats),
          lambda x: [statistics(x)], free=(1, 512)),
    Entry("bn_aggr", triples, lambda p, f: [((p, 2), "float32")], without_mask(isa.bn_aggr), aggregated, free=(1, 64)),
    Entry("max8", data(1), lambda p, f: [((p, 8), "")], without_mask(isa.max8), lambda x: [-np.sort(-f32(x), 1)[:, :8]],
          free=(8, 16384)),
    Entry("nc_find_index8", with_values, lambda p, f: [((p, 8), "uint32")], without_mask(isa.find_index8),
          lambda x, v: [places(x, v, range(8))[0].astype(np.uint32)], free=(8, 16384)),
    Entry("nc_match_replace8", with_values, lambda p, f: [((p, f), ""), ((p, 8), "uint32")],
          lambda d, x, m: isa.match_replace8(d[0], x[0], x[1], -7.0, d[1]), replaced, free=(8, 16384)),
    Entry("nc_stream_shuffle", data(1), like_data(), plain(isa.shuffle, [0] * 32), shuffled, variants=MASK),
    Entry("nc_transpose", data(1), lambda p, f: [((f, p), "")], without_mask(isa.nc_transpose), lambda x: [x.T.copy()],
          free=(1, 128), variants=("plain", "strided", "psum")),
    Entry("dma_transpose", data(1), lambda p, f: [((f, p), "")], without_mask(isa.dma_transpose),
          lambda x: [x.T.copy()], free=(1, 128)),
    Entry("dma_copy", data(1), like_data(), plain(isa.dma_copy), lambda x: [x], variants=MASK),
    Entry("dma_compute", data(2), like_data(), lambda d, x, m: isa.dma_compute(d[0], x, "add", [1.0, -2.0]),
          lambda x, y: [f32(x) + -2 * f32(y)]),
    Entry("local_gather", lambda p, f, t: [given(p, f, dtype=t), numbered(p, f, t)[1][:, :1].astype(np.uint16)],
          lambda p, f: [((p, 16), "")], without_mask(isa.local_gather), gathered, lanes=(16, 128), free=(1, 16384)),
    Entry("nc_n_gather", numbered, like_data(), without_mask(isa.n_gather),
          lambda x, i: [np.take_along_axis(x, i.astype(np.int64), 1)]),
    Entry("nonzero_with_count", data(1, make=whole),
          lambda p, f: [((p, f + 1), "int32")],
          lambda d, x, m: (isa.memset(d[0], 0), isa.nonzero_with_count(d[0], x[0], 5, -3)), nonzero, free=(1, 4096)),
    Entry("sequence_bounds", segments, lambda p, f: [((1, 2, f), "float32")], without_mask(isa.sequence_bounds), bounds,
          lanes=(1, 1), free=(1, 512), dtypes=("int32", "float32")),
    Entry("nc_matmul", lambda p, f, t: [whole(p, min(f, 128), t), whole(p, f, t, seed=1)],
          lambda p, f: [((min(f, 128), f), "float32")],
          lambda d, x, m: isa.nc_matmul(d[0], x[0], x[1], mask=m), product, free=(1, 512),
          variants=("plain", "strided", "psum", "twice")),
]  # fmt: skip

#: Functions whose results are random or say nothing of numbers, and where a statement of its own is elsewhere.
ELSEWHERE = {
    "rng": "random bits: test_moves looks at their spread", "rand2": "random: test_moves looks at its range",
    "dropout": "random: test_moves looks at what is kept", "set_rng_seed": "changes no tile",
    "rand_set_state": "changes no tile", "rand_get_state": "test_moves", "core_barrier": "changes no tile",
    "sendrecv": "between cores: tests/capture/nki/test_new_cores", "register_alloc": "test_new_dynamic",
    "register_move": "test_new_dynamic", "register_load": "test_new_dynamic", "register_store": "test_new_dynamic",
    "nc_matmul_mx": "test_microscaled", "quantize_mx": "test_microscaled", "topk": "test_selections",
    "dynamic_range": "a loop: test_new_language", "get_nc_version": "no instruction",
    "get_nc_sub_version": "no instruction",
}  # fmt: skip
__all__ = ["ELSEWHERE", "ENTRIES", "rounded"]
