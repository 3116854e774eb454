"""Matrix transpose in NKI on the tensor engine, by tiles of 128 x 128."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def transpose(x):
    M, N = x.shape
    y = nl.ndarray((N, M), dtype=x.dtype, buffer=nl.shared_hbm)
    for m in range(0, M, 128):
        for n in range(0, N, 128):
            tm, tn = min(128, M - m), min(128, N - n)
            tile = nl.ndarray((tm, tn), dtype=x.dtype, buffer=nl.sbuf)
            nisa.dma_copy(dst=tile, src=x[m : m + tm, n : n + tn])
            turned = nl.ndarray((tn, tm), dtype=x.dtype, buffer=nl.psum)
            nisa.nc_transpose(turned, tile, engine=nisa.engine.tensor)
            result = nl.ndarray((tn, tm), dtype=x.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(result, turned)
            nisa.dma_copy(dst=y[n : n + tn, m : m + tm], src=result)
    return y
