"""Tiled matmul in NKI, left side transposed."""

import nki
import nki.isa as nisa
import nki.language as nl

TILE_K, TILE_M, TILE_N = 32, 64, 48


@nki.jit
def matmul(lhs_t, rhs):
    K, M = lhs_t.shape
    _, N = rhs.shape
    assert K % TILE_K == 0 and M % TILE_M == 0 and N % TILE_N == 0
    out = nl.ndarray((M, N), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE_M):
        for n in nl.affine_range(N // TILE_N):
            acc = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
            for k in nl.affine_range(K // TILE_K):
                left = nl.ndarray((TILE_K, TILE_M), dtype=lhs_t.dtype, buffer=nl.sbuf)
                right = nl.ndarray((TILE_K, TILE_N), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhs_t[nl.ds(m * TILE_K, TILE_K), nl.ds(m * TILE_M, TILE_M)])
                nisa.dma_copy(dst=right, src=rhs[nl.ds(k * TILE_K, TILE_K), nl.ds(n * TILE_N, TILE_N)])
                nisa.nc_matmul(acc, left, right)
            result = nl.ndarray((TILE_M, TILE_N), dtype=lhs_t.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(result, acc)
            nisa.dma_copy(dst=out[nl.ds(m * TILE_M, TILE_M), nl.ds(n * TILE_N, TILE_N)], src=result)
    return out
