"""Quantise to int8 with a scale a row in NKI: the cast on the way out rounds and saturates."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def quantise(x, scale):
    M, N = x.shape
    q = nl.ndarray((M, N), dtype=nl.int8, buffer=nl.shared_hbm)
    for start in range(0, M, 128):
        rows = min(128, M - start)
        x_tile = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[start : start + rows, :])
        s_tile = nl.ndarray((rows, 1), dtype=scale.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=s_tile, src=scale.reshape((M, 1))[start : start + rows, :])
        q_tile = nl.ndarray((rows, N), dtype=nl.int8, buffer=nl.sbuf)
        nisa.tensor_scalar(q_tile, x_tile, nl.divide, s_tile)
        nisa.dma_copy(dst=q[start : start + rows, :], src=q_tile)
    return q
