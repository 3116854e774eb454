"""One tile of a matmul in NKI, left side transposed."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul(lhs_t, rhs):
    K, M = lhs_t.shape
    _, N = rhs.shape
    out = nl.ndarray((M, N), dtype=lhs_t.dtype, buffer=nl.shared_hbm)
    left = nl.ndarray((K, M), dtype=lhs_t.dtype, buffer=nl.sbuf)
    right = nl.ndarray((K, N), dtype=rhs.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=left, src=lhs_t)
    nisa.dma_copy(dst=right, src=rhs)
    acc = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(acc, right, left)
    result = nl.ndarray((M, N), dtype=lhs_t.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(result, acc)
    nisa.dma_copy(dst=out, src=result)
    return out
