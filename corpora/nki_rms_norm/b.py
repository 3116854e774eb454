"""RMSNorm in NKI: a row a partition, the weight broadcast to all of them by its access pattern."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rms_norm(x, w, eps=1e-6):
    M, N = x.shape
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, M, nl.tile_size.pmax):
        rows = min(nl.tile_size.pmax, M - start)
        x_tile = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[start : start + rows, :])
        w_tile = nl.ndarray((rows, N), dtype=w.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=w_tile, src=w.ap(pattern=[[0, rows], [1, N]]))
        square = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_tensor(square, x_tile, x_tile, nl.multiply)
        total = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(total, nl.add, square, axis=1)
        mean_eps = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(mean_eps, total, nl.divide, float(N), op1=nl.add, operand1=eps)
        rstd = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(rstd, nl.rsqrt, mean_eps)
        y_tile = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.scalar_tensor_tensor(y_tile, x_tile, nl.multiply, rstd, nl.multiply, w_tile)
        nisa.dma_copy(dst=y[start : start + rows, :], src=y_tile)
    return y
