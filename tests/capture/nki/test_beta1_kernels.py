"""Whole kernels of Beta-1, in the style of its tutorials, against numpy."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.capture.nki.beta1 import captured, evaluated, result, whole_numbers

SOFTMAX = """
@nki.jit
def kernel(x):
    rows, columns = x.shape
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:16, 0:columns]
    for t in nl.affine_range((rows + 15) // 16):
        inside = t * 16 + i_p < rows
        data = nl.load(x[t * 16 + i_p, i_f], mask=inside)
        top = nl.max(data[i_p, i_f], axis=[1], mask=inside)
        powers = nl.exp(nl.subtract(data, top, mask=inside), mask=inside)
        total = nl.sum(powers, axis=1, keepdims=True, mask=inside)
        share = nl.divide(powers, total, mask=inside)
        nl.store(out[t * 16 + i_p, i_f], value=share, mask=inside)
    return out
"""


def test_softmax_of_ragged_rows(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(size=(21, 10)).astype(np.float32)
    want = np.exp(x - x.max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    trace = captured(tmp_path, SOFTMAX, x=x)
    assert all(instr.mask is None for instr in trace.instrs)  # rows are a box: narrower views
    assert np.allclose(evaluated(trace, x=x)[0], want, rtol=1e-5)


LAYERNORM = """
@nki.jit
def kernel(x, weight, bias):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    n = x.shape[1]
    i_p, i_f, one = nl.arange(8)[:, None], nl.arange(n)[None, :], nl.arange(1)[:, None]
    w = nl.load(weight.reshape((1, n))[one, i_f]).broadcast_to((8, n))
    b = nl.load(bias.reshape((1, n))[one, i_f]).broadcast_to((8, n))
    for t in nl.affine_range(x.shape[0] // 8):
        data = nl.load(x[t * 8 + i_p, i_f], dtype=nl.float32)
        centre = nl.sum(data, axis=[-1]) / n
        off = data - centre
        spread = nl.mean(nl.square(off), axis=[1])
        scaled = nl.multiply(off, nl.rsqrt(spread + 1e-5))
        nl.store(out[t * 8 + i_p, i_f], scaled * w + b)
    return out
"""


def test_layernorm(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x, weight, bias = (rng.normal(size=s).astype(np.float32) for s in ((16, 12), (12,), (12,)))
    off = x - x.mean(1, keepdims=True)
    want = off / np.sqrt((off**2).mean(1, keepdims=True) + 1e-5) * weight + bias
    assert np.allclose(result(tmp_path, LAYERNORM, x=x, weight=weight, bias=bias), want, rtol=1e-4, atol=1e-5)


LANES = """
@nki.jit
def kernel(x, scale):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    scaled = nisa.tensor_tensor(nl.load(x), nl.load(scale), nl.multiply)
    nl.store(out, nisa.tensor_tensor(scaled, nl.load(x[0:1, :]).broadcast_to(x.shape), np.add))
    return out
"""


def test_tensor_tensor_broadcasts(tmp_path: Path) -> None:
    x, scale = whole_numbers(8, 6), whole_numbers(8, 1, seed=1)
    assert np.array_equal(result(tmp_path, LANES, x=x, scale=scale), x * scale + x[:1])


ADD = """
def kernel(a, b):
    return launched[a.shape[0] // 8, a.shape[1] // 4](a, b)

@nki.jit
def launched(a, b):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    row, column = nl.program_id(0) * 8, nl.program_id(1) * 4
    assert nl.num_programs(0) == 2 and nl.num_programs() == 6 and nl.program_ndim() == 2
    i_x, i_y = row + nl.arange(8)[:, None], column + nl.arange(4)[None, :]
    nl.store(out[i_x, i_y], nl.load(a[i_x, i_y]) + nl.load(b[i_x, i_y]))
    return out
"""


def test_a_grid_writes_one_tensor(tmp_path: Path) -> None:
    a, b = whole_numbers(16, 12), whole_numbers(16, 12, seed=1)
    assert np.array_equal(result(tmp_path, ADD, a=a, b=b), a + b)


POOL = """
@nki.jit
def kernel(x):
    channels, height, width = x.shape
    out = nl.ndarray((channels, height // 2, width // 3), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    i_p, i_h, i_w, i_y, i_x = nl.mgrid[0:channels, 0:height // 2, 0:width // 3, 0:2, 0:3]
    made = nl.sum(tile[i_p, 2 * i_h + i_y, 3 * i_w + i_x], axis=[3, 4])
    nl.store(out, value=nl.divide(made, 6.0))
    return out
"""


def test_average_pooling_by_a_strided_view(tmp_path: Path) -> None:
    x = whole_numbers(4, 6, 9)
    want = x.reshape(4, 3, 2, 3, 3).sum((2, 4)) / np.float32(6)
    assert np.array_equal(result(tmp_path, POOL, x=x), want)


TRANSPOSE = """
@nki.jit
def kernel(x, rows):
    P, F = x.shape
    columns = F // rows
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.load(x)
    turned = nl.ndarray((P, F), dtype=x.dtype, buffer=nl.sbuf)
    i_p, i_r, i_c = nl.arange(P)[:, None, None], nl.arange(rows)[None, :, None], nl.arange(columns)[None, None, :]
    turned[i_p, i_c * rows + i_r] = nl.copy(tile[i_p, i_r * columns + i_c])
    nl.store(out, turned)
    return out
"""


def test_transpose_of_two_free_axes(tmp_path: Path) -> None:
    x = whole_numbers(4, 15)
    trace = captured(tmp_path, TRANSPOSE, x=x, rows=3)
    assert sum(instr.op == "nc_copy" for instr in trace.instrs) == 1  # the copy goes to its destination
    assert np.array_equal(evaluated(trace, x=x)[0], x.reshape(4, 3, 5).transpose(0, 2, 1).reshape(4, 15))


ATTENTION = """
@nki.jit
def kernel(q, k, v):
    d, n = q.shape
    out = nl.ndarray((n, d), dtype=q.dtype, buffer=nl.shared_hbm)
    i_q, i_k = nl.arange(n)[:, None], nl.arange(n)[None, :]
    scores = nisa.nc_matmul(nl.load(q), nl.load(k))
    seen = nisa.affine_select(pred=(i_q >= i_k), on_true_tile=scores, on_false_value=-9984.0, dtype=nl.float32)
    lowest = nisa.tensor_reduce(np.max, seen, axis=(1,), dtype=nl.float32, negate=True)
    total = nl.ndarray((n, 1), dtype=nl.float32)
    powers = nisa.activation_reduce(np.exp, seen, bias=lowest, scale=1.0, reduce_op=np.add, reduce_res=total)
    weights = nl.copy(nisa.nc_transpose(powers))
    made = nl.ndarray((par_dim(n), d), dtype=nl.float32, buffer=nl.psum)
    made[...] = nl.matmul(weights, nl.load(v), transpose_x=True)
    nl.store(out, made * nisa.reciprocal(total))
    return out
"""


def test_causal_attention(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    q, k, v = (rng.normal(size=s).astype(np.float32) for s in ((6, 10), (6, 10), (10, 6)))
    scores = np.where(np.tri(10, dtype=bool), q.T @ k, -9984.0)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    want = powers / powers.sum(1, keepdims=True) @ v
    assert np.allclose(result(tmp_path, ATTENTION, q=q, k=k, v=v), want, rtol=1e-4, atol=1e-5)


BLOCKS = """
import neuronxcc.nki.compiler as ncc

@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    place = ncc.sbuf.mod_alloc(base_addr=0, num_free_tiles=({},))
    tiles = nl.ndarray((4, par_dim(8), x.shape[1]), dtype=x.dtype, buffer=place)
    i_p, i_f = nl.mgrid[0:8, 0:x.shape[1]]
    for t in nl.affine_range(4):
        tiles[t] = nl.load(x[t * 8 + i_p, i_f])
    for t in nl.affine_range(4):
        nl.store(out[t * 8 + i_p, i_f], tiles[t, i_p, i_f] * 2)
    return out
"""


def test_blocks_before_the_partitions(tmp_path: Path) -> None:
    x = whole_numbers(32, 5)
    assert np.array_equal(result(tmp_path, BLOCKS.format(4), x=x), x * 2)


def test_blocks_that_share_a_place_overwrite_each_other(tmp_path: Path) -> None:
    x = whole_numbers(32, 5)
    assert np.array_equal(result(tmp_path, BLOCKS.format(2), x=x), np.concatenate([x[16:], x[16:]]) * 2)


GATHER = """
@nki.jit
def kernel(table, rows):
    out = nl.ndarray((rows.shape[0], table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(rows.shape[0])[:, None], nl.arange(table.shape[1])[None, :]
    chosen = nl.load(rows)
    nl.store(out[i_p, i_f], nl.load(table[chosen[i_p, 0], i_f]))
    return out
"""


def test_rows_that_a_tile_chooses(tmp_path: Path) -> None:
    table, rows = whole_numbers(9, 5), np.array([[3], [0], [8], [3]], np.int32)
    trace = captured(tmp_path, GATHER, table=table, rows=rows)
    (gather,) = [instr for instr in trace.instrs if type(instr.src[0]).__name__ == "Indirect"]
    assert (gather.src[0].dim, gather.src[0].kind, gather.src[0].base.shape) == (0, "vector", (4, 5))
    assert np.array_equal(evaluated(trace, table=table, rows=rows)[0], table[rows[:, 0]])


REDUCED = """
@nki.jit
def kernel(x):
    out = nl.ndarray((2, 4, 3), dtype=x.dtype, buffer=nl.shared_hbm)
    for outer in nl.affine_range(2):
        made = nl.ndarray((par_dim(4), 3), dtype=nl.float32)
        for i in nl.affine_range(3):
            for j in nl.affine_range(3):
                made[:, nl.ds(j, 1)] = nl.loop_reduce(nl.load(x[outer, i, :, nl.ds(j, 1)]), op={}, loop_indices=[i])
        nl.store(out[outer], made)
    return out
"""


def test_reduction_over_one_of_two_loops(tmp_path: Path) -> None:
    x = whole_numbers(2, 3, 4, 3)
    assert np.array_equal(result(tmp_path, REDUCED.format("np.add"), x=x), x.sum(1))
    assert np.array_equal(result(tmp_path, REDUCED.format("np.max"), x=x), x.max(1))


ARGUMENT = """
@nki.trace
def kernel(x, out):
    nl.store(out[0:4, :], nl.load(x) + 1)

@nki.trace
def rmsnorm(x, w):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.rms_norm(nl.load(x), nl.load(w.reshape((1, 6))), 1, 6, 1e-5))
    return out

def host(x, w):
    return nki.simulate_kernel(rmsnorm, x, w)
"""


def test_an_output_argument(tmp_path: Path) -> None:
    x = whole_numbers(4, 6)
    trace = captured(tmp_path, ARGUMENT, x=x, out=np.zeros((4, 6), np.float32))
    assert [name for name, _ in trace.outputs] == ["written:out"]
    assert np.array_equal(evaluated(trace, x=x, out=np.zeros((4, 6), np.float32))[0], x + 1)


def test_a_host_function_that_simulates(tmp_path: Path) -> None:
    x, w = whole_numbers(4, 6, low=1), whole_numbers(6)
    trace = captured(tmp_path, ARGUMENT, "host", x=x, w=w)
    want = x / np.sqrt((x**2).sum(1, keepdims=True) / 6 + 1e-5) * w
    assert np.allclose(evaluated(trace, x=x, w=w)[0], want, rtol=1e-4)


BACKWARD = """
@nki.jit
def kernel(x):
    out = nl.ndarray((3, 4, 3), dtype=x.dtype, buffer=nl.shared_hbm)
    made = nl.zeros((3, par_dim(4), 3), dtype=nl.float32)
    for i in nl.affine_range(3):
        for j in nl.affine_range(3):
            add_up(made, i, j, nl.load(x[i, j]), i >= j)
    for j in nl.affine_range(3):
        nl.store(out[j], made[j])
    return out

@nki.jit(mode="trace")
def add_up(made, outer, inner, tile, mask):
    made[inner, :, :] = nl.loop_reduce(tile, op=np.add, loop_indices=(outer,), dtype=nl.float32, mask=mask)
"""


def test_a_masked_reduction_over_the_outer_loop(tmp_path: Path) -> None:
    """Turns that the mask excludes add nothing, the first ones neither."""
    x = whole_numbers(3, 3, 4, 3)
    want = np.stack([sum(x[i, j] for i in range(j, 3)) for j in range(3)])
    assert np.array_equal(result(tmp_path, BACKWARD, x=x), want)


WINDOWS = """
@nki.jit
def kernel(x):
    P, H, W = x.shape
    out = nl.ndarray((P, 2, 3, 3), dtype=nl.int32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    window = nl.mgrid[0:P, 0:2, 0:3, 0:3]
    seen = nl.copy(tile[window.p, window.y, 2 * window.x + window.z])
    top = nl.max(seen, axis=[2, 3], keepdims=True)
    places = nisa.iota(3 * window.y + window.z, dtype=nl.uint32)
    assert places.shape == (P, 2, 3, 3)
    first = nl.min(nl.where(nl.equal(top, seen), places, 9, dtype=nl.uint32), axis=[2, 3], keepdims=True)
    nl.store(out, nl.equal(first, places, dtype=nl.int32))
    return out
"""


def test_the_first_greatest_of_each_window(tmp_path: Path) -> None:
    x = whole_numbers(4, 3, 5)
    want = np.zeros((4, 2, 3, 3), np.int32)
    for p, w in np.ndindex(4, 2):
        want[p, w].flat[x[p, :, 2 * w : 2 * w + 3].argmax()] = 1
    assert np.array_equal(result(tmp_path, WINDOWS, x=x), want)


SELECTED = """
@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:8, 0:6]
    tile, made = nl.load(x), nl.zeros(x.shape, dtype=x.dtype)
    for i in nl.affine_range(2):
        made[...] = nisa.affine_select(pred=i_p >= i_f, on_true_tile=tile, on_false_value=-1.0, mask=i < 1)
        made[i_p, i_f] = nl.where(tile, made, 5.0, mask=(i > 0) & (i_p < 4))
    nl.store(out, made)
    return out
"""


def test_selections_under_masks_leave_the_rest(tmp_path: Path) -> None:
    x = whole_numbers(8, 6)
    want = np.where(np.tri(8, 6, dtype=bool), x, np.float32(-1))
    want[:4] = np.where(x[:4] != 0, want[:4], np.float32(5))
    assert np.array_equal(result(tmp_path, SELECTED, x=x), want)


DYNAMIC = """
@nki.jit
def kernel(x, places):
    out = nl.ndarray((4, 3, 2), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.mgrid[0:4, 0:2]
    tile, made, at = nl.load(x), nl.ndarray((4, 3, 2), dtype=x.dtype), nl.load(places)
    for i in nl.affine_range(3):
        made[i_p, i, i_f] = nisa.tensor_copy_dynamic_src(tile[i_p, at[0, i] + i_f])
    nl.store(out, made)
    return out
"""


def test_a_copy_from_where_a_tile_says(tmp_path: Path) -> None:
    x, places = whole_numbers(4, 9), np.array([[3, 0, 7]], np.int32)
    trace = captured(tmp_path, DYNAMIC, x=x, places=places)
    kinds = [(src.kind, src.step) for i in trace.instrs for src in i.src if type(src).__name__ == "Indirect"]
    assert kinds == [("scalar", 1)] * 3
    want = np.stack([x[:, at : at + 2] for at in places[0]], axis=1)
    assert np.array_equal(evaluated(trace, x=x, places=places)[0], want)


SCATTER = """
@nki.jit
def kernel(x, rows):
    out = nl.ndarray((9, 5), dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, 0.0)
    at = nisa.iota(2 * nl.arange(4)[:, None], dtype=np.int32)
    nl.store(out[at, nl.arange(5)[None, :]], nl.load(x))
    nl.atomic_rmw(out[nl.load(rows), nl.arange(5)[None, :]], value=nl.load(x), op=np.add)
    return out
"""


def test_rows_scattered_and_added(tmp_path: Path) -> None:
    x, rows = whole_numbers(4, 5), np.array([[3], [0], [8], [2]], np.int32)
    want = np.zeros((9, 5), np.float32)
    want[::2][:4] = x
    want[rows[:, 0]] += x
    assert np.array_equal(result(tmp_path, SCATTER, x=x, rows=rows), want)


EXPERT = """
from neuronxcc.nki.isa.constants import oob_mode
from neuronxcc.nki.language.constants import sizeinbytes

def entry(x, weights, expert):
    assert sizeinbytes(x.dtype) == 4
    out = nl.ndarray((5, 6), dtype=x.dtype, buffer=nl.shared_hbm)
    chosen = nl.load(expert)
    i_p, i_f = nl.mgrid[0:4, 0:6]
    for t in nl.affine_range(2):
        inside = t * 4 + i_p < 5
        part = nl.load(weights[chosen[0, 0], t * 4 + i_p, i_f], mask=inside, mode=oob_mode.error)
        nl.store(out[t * 4 + i_p, i_f], nl.add(part, nl.load(x[0:1, 0:1]), mask=inside), mask=inside)
    return out
"""


def test_a_plane_that_a_number_chooses_with_a_ragged_end(tmp_path: Path) -> None:
    """An entry without a decorator is of the generation that it uses."""
    x, weights, expert = whole_numbers(1, 1), whole_numbers(3, 5, 6), np.array([[2]], np.int32)
    trace = captured(tmp_path, EXPERT, "entry", x=x, weights=weights, expert=expert)
    assert trace.generation == "beta1"
    assert np.array_equal(evaluated(trace, x=x, weights=weights, expert=expert)[0], weights[2] + x[0, 0])


CARRIED = """
@nki.jit
def kernel(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    data = nl.load(x)
    for i in nl.sequential_range(4):
        if i < 3:
            data[...] = data + nisa.iota(i, dtype=nl.uint32).broadcast_to(data.shape)
        else:
            data[...] = data * 2
    nl.store(out, data)
    return out
"""


def test_loop_variables_as_conditions_and_values(tmp_path: Path) -> None:
    x = whole_numbers(8, 6)
    assert np.array_equal(result(tmp_path, CARRIED, x=x), (x + 3) * 2)


RAGGED_GATHER = """
@nki.jit
def kernel(table, rows):
    n, = rows.shape
    out = nl.ndarray((n, table.shape[1]), dtype=table.dtype, buffer=nl.shared_hbm)
    i_p, i_f = nl.arange(4)[:, None], nl.arange(table.shape[1])[None, :]
    for t in nl.affine_range((n + 3) // 4):
        inside = t * 4 + i_p < n
        chosen = nl.load(rows[t * 4 + i_p], mask=inside)
        found = nl.load(table[chosen[i_p, 0], i_f], mask=inside)
        nl.store(out[t * 4 + i_p, i_f], found, mask=inside)
    return out
"""


def test_a_gather_with_a_ragged_end(tmp_path: Path) -> None:
    table, rows = whole_numbers(9, 5), np.array([3, 0, 8, 3, 1, 7], np.int32)
    assert np.array_equal(result(tmp_path, RAGGED_GATHER, table=table, rows=rows), table[rows])
