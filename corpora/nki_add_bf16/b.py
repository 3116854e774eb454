"""Sum of two bf16 matrices in NKI: f32 in the vector engine, one rounding on the way out."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def add(a, b):
    M, N = a.shape
    c = nl.ndarray((M, N), dtype=a.dtype, buffer=nl.shared_hbm)
    for m in nl.affine_range(-(-M // 128)):
        rows = nl.ds(m * 128, min(128, M - m * 128))
        a_tile = nl.ndarray((rows.stop - rows.start, N), dtype=a.dtype, buffer=nl.sbuf)
        b_tile = nl.ndarray((rows.stop - rows.start, N), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=a_tile, src=a[rows, :])
        nisa.dma_copy(dst=b_tile, src=b[rows, :])
        nisa.tensor_tensor(a_tile, a_tile, b_tile, nl.add)
        nisa.dma_copy(dst=c[rows, :], src=a_tile)
    return c
