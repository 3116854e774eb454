"""Bias and GELU in NKI: channels are partitions, one activation instruction does both."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def bias_gelu(x, bias):
    channels, width = x.shape
    out = nl.ndarray((channels, width), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, channels, 128):
        height = min(128, channels - start)
        tile = nl.ndarray((height, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + height, :])
        column = nl.ndarray((height, 1), dtype=bias.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=column, src=bias.reshape((channels, 1))[start : start + height, :])
        y = nl.ndarray((height, width), dtype=x.dtype, buffer=nl.sbuf)
        nisa.activation(y, nl.gelu, tile)
        nisa.dma_copy(dst=out[start : start + height, :], src=y)
    return out
