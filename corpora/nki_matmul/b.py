"""Matmul in NKI: A is transposed on the tensor engine, tiles of K accumulate in PSUM."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def matmul(a, b):
    M, K = a.shape
    _, N = b.shape
    c = nl.ndarray((M, N), dtype=a.dtype, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        tm = min(128, M - m)
        for n in range(0, N, 512):
            tn = min(512, N - n)
            acc = nl.ndarray((tm, tn), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, 128):
                tk = min(128, K - k)
                a_tile = nl.ndarray((tm, tk), dtype=a.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=a_tile, src=a[m : m + tm, k : k + tk])
                a_psum = nl.ndarray((tk, tm), dtype=a.dtype, buffer=nl.psum)
                nisa.nc_transpose(a_psum, a_tile)
                a_t = nl.ndarray((tk, tm), dtype=a.dtype, buffer=nl.sbuf)
                nisa.tensor_copy(a_t, a_psum)
                b_tile = nl.ndarray((tk, tn), dtype=b.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=b_tile, src=b[k : k + tk, n : n + tn])
                nisa.nc_matmul(acc, a_t, b_tile)
            c_tile = nl.ndarray((tm, tn), dtype=a.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(c_tile, acc)
            nisa.dma_copy(dst=c[m : m + tm, n : n + tn], src=c_tile)
    return c
