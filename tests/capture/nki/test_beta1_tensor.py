"""Beta-1's tensors: views, operators with their dtypes, and the ways to launch a kernel."""

from __future__ import annotations

import random
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from lowering.capture.nki.indices_beta1 import LoopVar, Mask, arange, mgrid
from lowering.capture.nki.masks_beta1 import regions
from lowering.capture.nki.promotion_beta1 import promoted
from lowering.capture.nki.tensor_beta1 import Tensor
from lowering.capture.nki.trace import HBM, SBUF, NkiTrace
from lowering.capture.nki.tracer import Tracer, addresses
from tests.capture.nki.beta1 import captured, evaluated, result, whole_numbers


@pytest.mark.parametrize(
    ("x", "y", "want"),
    [
        ("float16", "int32", "float16"),
        ("float16", "float32", "float32"),
        ("float16", "bfloat16", "float32"),
        ("float8_e4m3", "float8_e5m2", "bfloat16"),
        ("float8_e4m3", "float16", "float16"),
        ("float8_e5m2", "bfloat16", "bfloat16"),
        ("tfloat32", "float32", "float32"),
        ("int8", "uint8", "int16"),
        ("int8", "uint16", "int32"),
        ("int32", "uint8", "int32"),
        ("int32", "uint32", "float32"),
        ("uint8", "uint32", "uint32"),
        ("float16", 1, "float16"),
        ("float16", 1.5, "float32"),
        ("bfloat16", True, "bfloat16"),
        ("int8", 3, "int32"),
        ("bfloat16", np.float16(2), "float32"),
    ],
)
def test_promotion(x: str, y: object, want: str) -> None:
    with Tracer(NkiTrace("k", "beta1")):
        other = Tensor.new(SBUF, (2, 2), y) if isinstance(y, str) else y
        tile = Tensor.new(SBUF, (2, 2), x)
        assert promoted(tile, other) == promoted(other, tile) == want


def test_basic_indexing_is_numpys() -> None:
    places = np.arange(4 * 5 * 6).reshape(4, 5, 6)
    with Tracer(NkiTrace("k", "beta1")):
        tensor = Tensor.new(HBM, places.shape, "float32")
        for key in (np.s_[1], np.s_[1, 2:4], np.s_[..., 3], np.s_[1:4:2, None, :, -2], np.s_[:, 0:5:3, 2:6]):
            view = tensor[key]
            assert (view.shape, view.offset) == (places[key].shape, int(places[key].flat[0]))
            assert view.strides == tuple(s // 8 for s in places[key].strides) or 1 in view.shape


def test_an_int_keeps_the_partitions_on_chip() -> None:
    with Tracer(NkiTrace("k", "beta1")):
        tile = Tensor.new(SBUF, (4, 5, 6), "float32")
        assert tile[2].shape == (1, 5, 6) and tile[:, 0, 0].shape == (4, 1) and tile[:, 1].shape == (4, 6)


def test_index_arithmetic() -> None:
    i, j = arange(4)[:, None], arange(2, 5)[None, :]
    assert np.array_equal((3 * i - j + 1).values, 3 * np.arange(4)[:, None] - np.arange(2, 5)[None, :] + 1)
    assert (3 * i - j + 1).affine() == (-1, (3, -1)) and (-i).affine() == (0, (-1, 0))
    assert (j // 2).known() is None and (i % 4).affine() == (0, (1, 0))
    grid = mgrid[0:4, 2:5, 0:2]
    assert (grid.p.shape, grid.x.shape, grid.y.shape) == ((4, 1, 1), (1, 3, 1), (1, 1, 2))
    turn = LoopVar(3, 7)
    assert isinstance(2 * turn + 1, LoopVar) and (2 * turn + 1).loop == 7 and int(2 * turn + 1) == 7
    assert isinstance(turn < 4, Mask) and isinstance(i + turn, type(i)) and list(range(turn)) == [0, 1, 2]


VIEWS = """
@nki.jit
def kernel(x):
    out = nl.ndarray((4, 12), dtype=nl.int32, buffer=nl.shared_hbm)
    tile = nl.load(x)
    wide = tile.reshape((4, 3, 2)).expand_dims(3).broadcast_to((4, 3, 2, 2)).astype(nl.bfloat16)
    assert wide.shape == (4, 3, 2, 2) and wide.dtype == nl.bfloat16 and wide.itemsize == 2 and wide.ndim == 4
    bits = wide.reshape((4, 12)).view(nl.uint16)
    nl.store(out, bits.assert_shape((4, 12)))
    return out
"""


def test_views(tmp_path: Path) -> None:
    x = whole_numbers(4, 6)
    wide = np.repeat(x, 2, axis=1).astype(ml_dtypes.bfloat16)
    assert np.array_equal(result(tmp_path, VIEWS, x=x), wide.view(np.uint16).astype(np.int32))


OPERATORS = """
@nki.jit
def kernel(x, y):
    out = nl.ndarray((5, 4, 6), dtype=nl.float32, buffer=nl.shared_hbm)
    a, b = nl.load(x), nl.load(y)
    nl.store(out[0], -(a - b) * 2 + 1 / (a * a + 1))
    nl.store(out[1], nl.where(a >= b, a, 7.0))
    nl.store(out[2], (a > 0) + (1.5 - b))
    c = nl.copy(a)
    c -= b
    c *= 2
    c += a
    nl.store(out[3], c)
    nl.store(out[4], nl.maximum(nl.abs(a), nl.power(b, 2)))
    return out
"""


def test_operators(tmp_path: Path) -> None:
    a, b = whole_numbers(4, 6), whole_numbers(4, 6, seed=1)
    want = [-(a - b) * 2 + 1 / (a * a + 1), np.where(a >= b, a, 7), (a > 0) + (1.5 - b), (a - b) * 2 + a,
            np.maximum(abs(a), b**2)]  # fmt: skip
    assert np.allclose(result(tmp_path, OPERATORS, x=a, y=b), np.stack(want), rtol=1e-6)


def test_whole_numbers_of_32_bits_add_exactly(tmp_path: Path) -> None:
    source = """
@nki.jit
def kernel(x, y):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(out, nl.load(x) + nl.load(y))
    return out
"""
    x, y = np.full((2, 3), 2**24 + 1, np.int32), np.full((2, 3), 2, np.int32)
    assert np.array_equal(result(tmp_path, source, x=x, y=y), x + y)


LAUNCHES = """
@nki.jit(mode="baremetal", platform_target="trn2")
def body(x):
    out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    row = nl.ds(nl.program_id(0), 1)
    nl.store(out[row], nl.load(x[row]) * (nl.program_id(0) + 1))
    return out

def cores(x):
    return body[nl.nc(2) * 2](x)

def axis(x):
    return body[nl.spmd_dim(2, nl.nc(2))](x)

timed = nki.benchmark(warmup=1, iters=2, save_neff_name="file.neff")(body)[4]
profiled = nki.profile(body, working_directory="/tmp")[4]
again = nki.jit(nki.baremetal(body), mode="simulation")[4]
"""


@pytest.mark.parametrize("entry", ["cores", "axis", "timed", "profiled", "again"])
def test_launches(tmp_path: Path, entry: str) -> None:
    x = whole_numbers(4, 3)
    trace = captured(tmp_path, LAUNCHES, entry, x=x)
    assert np.array_equal(evaluated(trace, x=x)[0], x * np.arange(1, 5)[:, None])


RESET = """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((2, 8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((8, 4), nl.float32, buffer=nl.psum)
    for t in nl.affine_range(2):
        {}
        total += nisa.nc_matmul(nl.load(a[t]), nl.load(b))
        nl.store(out[t], total)
    return out
"""


def test_a_sum_that_is_not_reset_goes_on(tmp_path: Path) -> None:
    a, b = whole_numbers(2, 16, 8), whole_numbers(16, 4, seed=1)
    products = np.einsum("tkm,kn->tmn", a, b)
    assert np.array_equal(result(tmp_path, RESET.format("pass"), a=a, b=b), products.cumsum(0))
    assert np.array_equal(result(tmp_path, RESET.format("total[...] = 0"), a=a, b=b), products)


def _basic_key(rng: random.Random, shape: tuple[int, ...]) -> tuple[object, ...]:
    """Ints, loop variables, slices and new axes for a tensor of ``shape``."""
    key: list[object] = []
    for n in shape:
        start = rng.randrange(n)
        some = slice(start, rng.randrange(start, n) + 1, rng.randrange(1, 3))
        key.append(rng.choice([rng.randrange(-n, n), LoopVar(start, 0), some, slice(None)]))
    if rng.randrange(3) == 0:
        key.insert(rng.randrange(len(key) + 1), None)
    return tuple(key[: rng.randrange(1, len(key) + 1)])


@pytest.mark.parametrize("seed", range(3))
def test_subscripts_reach_the_elements_that_numpys_do(seed: int) -> None:
    """Basic subscripts, and index tiles on what they give; what an index leaves the tensor by, a box can cut off."""
    rng = random.Random(seed)
    with Tracer(NkiTrace("k", "beta1")):
        for _ in range(100):
            shape = tuple(rng.randrange(2, 7) for _ in range(rng.randrange(2, 5)))
            tensor, places = Tensor.new(HBM, shape, "float32"), np.arange(np.prod(shape)).reshape(shape)
            key = _basic_key(rng, shape)
            tensor, places = tensor[key], places[tuple(int(k) if isinstance(k, int) else k for k in key)]
            assert np.array_equal(addresses(tensor.ref).ravel(), places.ravel())
            rows, columns = rng.randrange(1, 5), rng.randrange(1, 5)
            steps = [(rng.randrange(-1, 3), rng.randrange(-1, 3), rng.randrange(n)) for n in tensor.shape]
            places = places.reshape(tensor.shape)
            view = tensor[tuple(a * arange(rows)[:, None] + b * arange(columns)[None, :] + c for a, b, c in steps)]
            at = np.indices((rows, columns))
            reached = [a * at[0] + b * at[1] + c for a, b, c in steps]
            inside = np.all([(r >= 0) & (r < n) for r, n in zip(reached, tensor.shape, strict=True)], axis=0)
            assert view.goes_beyond == (not inside.all())
            for box, _ in regions(Mask([inside], [frozenset()]), (rows, columns), split=True):
                cut = tuple(slice(*bounds) for bounds in box)
                assert np.array_equal(addresses(view.cut(box).ref), places[tuple(r[cut] for r in reached)])
