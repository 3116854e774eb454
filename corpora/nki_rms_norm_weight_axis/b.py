"""RMSNorm in NKI over one tile of rows, a row a partition."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rms_norm(x, w, eps=1e-6):
    M, N = x.shape
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    x_tile = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x)
    w_tile = nl.ndarray((M, 1), dtype=w.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=w_tile, src=w.reshape((M, 1)))
    square = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_tensor(square, x_tile, x_tile, nl.multiply)
    total = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(total, nl.add, square, axis=1)
    rstd = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(rstd, total, nl.divide, float(N), op1=nl.add, operand1=eps)
    nisa.activation(rstd, nl.rsqrt, rstd)
    y_tile = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_scalar(y_tile, x_tile, nl.multiply, rstd, op1=nl.multiply, operand1=w_tile)
    nisa.dma_copy(dst=y, src=y_tile)
    return y
