"""Tiled matmul in NKI: the sum over tiles of K is kept in SBUF, in the dtype of the inputs."""

import nki
import nki.isa as nisa
import nki.language as nl

TILE_K, TILE_M, TILE_N = 32, 32, 48


@nki.jit
def matmul(lhs_t, rhs):
    K, M = lhs_t.shape
    _, N = rhs.shape
    assert K % TILE_K == 0 and M % TILE_M == 0 and N % TILE_N == 0
    out = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.shared_hbm)
    for m in nl.affine_range(M // TILE_M):
        for n in nl.affine_range(N // TILE_N):
            total = nl.zeros((TILE_M, TILE_N), dtype=lhs_t.dtype, buffer=nl.sbuf)
            for k in nl.sequential_range(K // TILE_K):
                left = nl.ndarray((TILE_K, TILE_M), dtype=lhs_t.dtype, buffer=nl.sbuf)
                right = nl.ndarray((TILE_K, TILE_N), dtype=rhs.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=left, src=lhs_t[nl.ds(k * TILE_K, TILE_K), nl.ds(m * TILE_M, TILE_M)])
                nisa.dma_copy(dst=right, src=rhs[nl.ds(k * TILE_K, TILE_K), nl.ds(n * TILE_N, TILE_N)])
                part = nl.ndarray((TILE_M, TILE_N), dtype=nl.float32, buffer=nl.psum)
                nisa.nc_matmul(part, left, right)
                nisa.tensor_tensor(total, total, part, nl.add)
            nisa.dma_copy(dst=out[nl.ds(m * TILE_M, TILE_M), nl.ds(n * TILE_N, TILE_N)], src=total)
    return out
