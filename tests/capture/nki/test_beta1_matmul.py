"""Beta-1's products: tiles, accumulation in PSUM by ``+=``, where results go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowering.capture.nki.language_beta1 import PSUM_ZEROS
from lowering.errors import Unsupported
from tests.capture.nki.beta1 import captured, evaluated, result, whole_numbers

TILED = """
@nki.jit
def kernel(lhsT, rhs):
    K, M = lhsT.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=lhsT.dtype, buffer=nl.shared_hbm)
    i_m = nl.arange(16)[:, None]
    for m in nl.affine_range(M // 16):
        for n in nl.affine_range(N // 8):
            total = nl.zeros((16, 8), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // 32):
                a = nl.load(lhsT[k * 32:(k + 1) * 32, m * 16:(m + 1) * 16])
                b = nl.load(rhs[nl.ds(k * 32, 32), nl.ds(n * 8, 8)])
                {accumulate}
            res = nl.copy(total, dtype=out.dtype)
            nl.store(out[m * 16 + i_m, n * 8 + nl.arange(8)[None, :]], value=res)
    return out
"""


@pytest.mark.parametrize(
    "accumulate",
    [
        "total[...] += nl.matmul(a, b, transpose_x=True)",
        "total += nisa.nc_matmul(a, b)",
        "total[0:16, 0:8] += nisa.nc_matmul(a[...], b[...])",
    ],
)
def test_tiles_accumulate_in_psum(tmp_path: Path, accumulate: str) -> None:
    a, b = whole_numbers(64, 32), whole_numbers(64, 16, seed=1)
    trace = captured(tmp_path, TILED.format(accumulate=accumulate), lhsT=a, rhs=b)
    products = [instr for instr in trace.instrs if instr.op == "nc_mat_mul"]
    assert [instr.attrs["accumulate"] for instr in products] == [False, True] * 4
    assert not any(instr.op == "tensor_tensor" for instr in trace.instrs)
    assert PSUM_ZEROS in trace.assumed
    assert np.array_equal(evaluated(trace, lhsT=a, rhs=b)[0], a.T @ b)


def test_a_product_assigned_overwrites(tmp_path: Path) -> None:
    source = TILED.format(accumulate="total[...] = nisa.nc_matmul(a, b)")
    a, b = whole_numbers(64, 32), whole_numbers(64, 16, seed=1)
    assert np.array_equal(result(tmp_path, source, lhsT=a, rhs=b), a[32:].T @ b[32:])


ONTO = """
@nki.jit
def kernel(a, b, bias):
    out = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((8, 4), nl.float32, buffer=nl.psum)
    total[...] = nl.copy(nl.load(bias))
    total[...] += nisa.nc_matmul(nl.load(a), nl.load(b))
    nl.store(out, value=total)
    return out
"""


def test_a_product_is_added_to_what_psum_holds(tmp_path: Path) -> None:
    a, b, bias = whole_numbers(16, 8), whole_numbers(16, 4, seed=1), whole_numbers(8, 4, seed=2)
    assert np.array_equal(result(tmp_path, ONTO, a=a, b=b, bias=bias), a.T @ b + bias)


IN_SBUF = """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.zeros((8, 4), nl.float32)
    for k in nl.sequential_range(2):
        total += nl.matmul(nl.load(a[k * 16:(k + 1) * 16]), nl.load(b[k * 16:(k + 1) * 16]), transpose_x=True)
    nl.store(out, total)
    return out
"""


def test_in_sbuf_it_is_an_addition(tmp_path: Path) -> None:
    a, b = whole_numbers(32, 8), whole_numbers(32, 4, seed=1)
    trace = captured(tmp_path, IN_SBUF, a=a, b=b)
    assert [i.op for i in trace.instrs].count("tensor_tensor") == 2
    assert [i.attrs["accumulate"] for i in trace.instrs if i.op == "nc_mat_mul"] == [False, False]
    assert np.array_equal(evaluated(trace, a=a, b=b)[0], a.T @ b)


REUSED = """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((2, 8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    total = nl.ndarray((8, 4), nl.float32, buffer=nl.psum)
    one = nisa.nc_matmul(nl.load(a), nl.load(b))
    total[...] = one
    total[...] += one
    nl.store(out[0], one)
    nl.store(out[1], total)
    return out
"""


def test_a_value_that_went_elsewhere_is_still_there(tmp_path: Path) -> None:
    a, b = whole_numbers(16, 8), whole_numbers(16, 4, seed=1)
    made = result(tmp_path, REUSED, a=a, b=b)
    assert np.array_equal(made, np.stack([a.T @ b, 2 * (a.T @ b)]))


TRANSPOSED = """
@nki.jit
def kernel(x, y):
    out = nl.ndarray((8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out[:, :], nl.matmul(nl.load(x[:, :]), nl.load(y[:, :])))
    return out
"""


def test_x_is_transposed_where_it_has_to_be(tmp_path: Path) -> None:
    x, y = whole_numbers(8, 16), whole_numbers(16, 4, seed=1)
    assert np.array_equal(result(tmp_path, TRANSPOSED, x=x, y=y), x @ y)


MASKED = """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.shared_hbm)
    nl.store(out, 0.0)
    i_k, i_m = nl.arange(16)[:, None], nl.arange(8)[None, :]
    i_n = nl.arange(6)[None, :]
    left, right = nl.load(a), nl.load(b)
    made = nisa.nc_matmul(left[i_k, i_m], right[i_k, i_n], mask=(i_k < 10) & (i_m < 5) & (i_n >= 2))
    i_o = nl.arange(8)[:, None]
    nl.store(out[i_o, i_n], made, mask=(i_o < 5) & (i_n >= 2))
    return out
"""


def test_a_mask_limits_all_three_extents(tmp_path: Path) -> None:
    a, b = whole_numbers(16, 8), whole_numbers(16, 6, seed=1)
    want = np.zeros((8, 6), np.float32)
    want[:5, 2:] = a[:10, :5].T @ b[:10, 2:]
    assert np.array_equal(result(tmp_path, MASKED, a=a, b=b), want)


OPERANDS = """
@nki.jit
def kernel(a, b):
    out = nl.ndarray((8, 6), dtype=nl.float32, buffer=nl.shared_hbm)
    i_k, i_m, i_n = nl.arange(16)[:, None], nl.arange(8)[None, :], nl.arange(6)[None, :]
    left, right, total = nl.load(a), nl.load(b), nl.zeros((8, 6), nl.float32, buffer=nl.psum)
    total[...] += nisa.nc_matmul(left[i_k, i_m][i_k < 10], right[i_k, i_n][(i_k < 12) & (i_n < 4)])
    nl.store(out, {})
    return out
"""


def test_masks_of_operands(tmp_path: Path) -> None:
    a, b = whole_numbers(16, 8), whole_numbers(16, 6, seed=1)
    want = np.zeros((8, 6), np.float32)
    want[:, :4] = a[:10].T @ b[:10, :4]
    assert np.array_equal(result(tmp_path, OPERANDS.format("total"), a=a, b=b), want)
    with pytest.raises(Unsupported, match="an operand under a mask in other than a product"):
        captured(tmp_path, OPERANDS.format("right[i_k, i_n][i_k < 8] * 2"), a=a, b=b)


TAKING_TURNS = """
from neuronxcc import nki as whole
from neuronxcc.starfish.support.dtype import bfloat16

def bank(banks, idx, pdim_size, fdim_size):
    return banks[idx[1]], 0, 0

@nki.jit
def kernel(a, b):
    import functools
    out = nl.ndarray((3, 8, 4), dtype=nl.float32, buffer=nl.shared_hbm)
    place = whole.compiler.psum.alloc(functools.partial(bank, banks=[4, 5]))
    total = nl.ndarray((3, 2, par_dim(8), 4), nl.float32, buffer=place)
    for g in nl.affine_range(3):
        for k in nl.affine_range(2):
            total[g][0] += nisa.nc_matmul(nl.load(a[g, k * 16:(k + 1) * 16]), nl.load(b[k * 16:(k + 1) * 16]))
        nl.store(out[g], total[g, 0])
    return out
"""


def test_blocks_that_share_psum_start_anew(tmp_path: Path) -> None:
    """Which block is added to counts, and not what another one left at its place."""
    a, b = whole_numbers(3, 32, 8), whole_numbers(32, 4, seed=1)
    trace = captured(tmp_path, TAKING_TURNS, a=a, b=b)
    assert [i.attrs["accumulate"] for i in trace.instrs if i.op == "nc_mat_mul"] == [False, True] * 3
    assert np.array_equal(evaluated(trace, a=a, b=b)[0], np.einsum("gkm,kn->gmn", a, b))
