"""SwiGLU over a fused gate-and-up projection in NKI, by the SiLU of the scalar engine."""

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
        gate = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        up = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=gate, src=x[start : start + rows, N : 2 * N])
        nisa.dma_copy(dst=up, src=x[start : start + rows, 0:N])
        nisa.activation(gate, nl.silu, gate)
        y = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(y, gate, up, nl.multiply)
        nisa.dma_copy(dst=out[start : start + rows, :], src=y)
    return out
