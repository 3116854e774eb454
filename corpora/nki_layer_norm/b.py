"""LayerNorm in NKI: mean and variance by bn_stats and bn_aggr, the row normalised by one instruction."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def layer_norm(x, w, b, eps=1e-5):
    M, N = x.shape
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(0, M, 128):
        rows = min(128, M - start)
        x_tile = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=x_tile, src=x[start : start + rows, :])
        w_tile = nl.ndarray((rows, N), dtype=w.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=w_tile, src=w.reshape((1, N)).broadcast(0, rows))
        b_tile = nl.ndarray((rows, N), dtype=b.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=b_tile, src=b.reshape((1, N)).broadcast(0, rows))
        chunks = -(-N // 512)
        stats = nl.ndarray((rows, 6 * chunks), dtype=nl.float32, buffer=nl.sbuf)
        for i in range(chunks):
            nisa.bn_stats(stats[:, 6 * i : 6 * i + 6], x_tile[:, 512 * i : min(512 * i + 512, N)])
        mean_var = nl.ndarray((rows, 2), dtype=nl.float32, buffer=nl.sbuf)
        nisa.bn_aggr(mean_var, stats)
        rstd = nl.ndarray((rows, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(rstd, mean_var[:, 1:2], nl.add, eps, op1=nl.rsqrt, operand1=0.0)
        y_tile = nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_scalar(y_tile, x_tile, nl.subtract, mean_var[:, 0:1], op1=nl.multiply, operand1=rstd)
        nisa.tensor_tensor(y_tile, y_tile, w_tile, nl.multiply)
        out_tile = nl.ndarray((rows, N), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_tensor(out_tile, y_tile, b_tile, nl.add)
        nisa.dma_copy(dst=y[start : start + rows, :], src=out_tile)
    return y
