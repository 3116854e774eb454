"""Tiled matmul in NKI Beta-1, left side transposed: `+=` accumulates in PSUM."""

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl

TILE_K, TILE_M, TILE_N = 32, 64, 48


@nki.jit
def matmul(lhs_t, rhs):
    K, M = lhs_t.shape
    _, N = rhs.shape
    assert K % TILE_K == 0 and M % TILE_M == 0 and N % TILE_N == 0
    out = nl.ndarray((M, N), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    i_lhs = nl.mgrid[0:TILE_K, 0:TILE_M]
    i_rhs = nl.mgrid[0:TILE_K, 0:TILE_N]
    i_out = nl.mgrid[0:TILE_M, 0:TILE_N]
    for m in nl.affine_range(M // TILE_M):
        for n in nl.affine_range(N // TILE_N):
            acc = nl.zeros((TILE_M, TILE_N), nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // TILE_K):
                left = nl.load(lhs_t[k * TILE_K + i_lhs.p, m * TILE_M + i_lhs.x])
                right = nl.load(rhs[k * TILE_K + i_rhs.p, n * TILE_N + i_rhs.x])
                acc[...] += nisa.nc_matmul(left, right)
            result = nl.copy(acc, dtype=out.dtype)
            nl.store(out[m * TILE_M + i_out.p, n * TILE_N + i_out.x], value=result)
    return out
