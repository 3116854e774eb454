"""Running sum along the rows in NKI: tiles of 32 columns, the last column carried on."""

import nki
import nki.isa as nisa
import nki.language as nl

WIDTH = 32


@nki.jit
def cumsum(x):
    M, N = x.shape
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    ones = nl.ones((M, WIDTH), dtype=nl.float32, buffer=nl.sbuf)
    carry = nl.zeros((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    for start in nl.sequential_range(0, N, WIDTH):
        width = min(WIDTH, N - start)
        tile = nl.ndarray((M, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[:, start : start + width])
        sums = nl.ndarray((M, width), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor_scan(sums, ones[:, 0:width], tile, carry, op0=nl.multiply, op1=nl.add)
        nisa.tensor_copy(carry, sums[:, width - 1 : width])
        nisa.dma_copy(dst=y[:, start : start + width], src=sums)
    return y
