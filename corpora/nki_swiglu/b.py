"""SwiGLU over a fused gate-and-up projection in NKI."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def swiglu(x):
    M, N = x.shape[0], x.shape[1] // 2
    assert x.shape[1] == 2 * N
    out = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, M, 128):
        rows = min(128, M - start)
        tile = nl.ndarray((rows, 2 * N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + rows, 0 : 2 * N])
        gate, up = tile[:, 0:N], tile[:, N : 2 * N]
        e = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(e, nl.exp, gate, scale=-1.0)
        nisa.tensor_scalar(e, e, nl.add, 1.0)
        silu = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(silu, gate, e, nl.divide)
        y = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(y, silu, up, nl.multiply)
        nisa.dma_copy(dst=out[start : start + rows, :], src=y)
    return out
