"""Linear layer with bias and ReLU in NKI: output channels are the partitions, so that the bias is one number each."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def linear_relu(x, w, bias):
    M, K = x.shape
    _, N = w.shape
    y = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.shared_hbm)
    for n in range(0, N, 128):
        tn = min(128, N - n)
        column = nl.ndarray((tn, 1), dtype=bias.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=column, src=bias.reshape((N, 1))[n : n + tn, :])
        for m in range(0, M, 128):
            tm = min(128, M - m)
            acc = nl.ndarray((tn, tm), dtype=nl.float32, buffer=nl.psum)
            for k in range(0, K, 64):
                tk = min(64, K - k)
                w_tile = nl.ndarray((tk, tn), dtype=w.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=w_tile, src=w[k : k + tk, n : n + tn])
                x_tile = nl.ndarray((tk, tm), dtype=x.dtype, buffer=nl.sbuf)
                nisa.dma_transpose(dst=x_tile, src=x[m : m + tm, k : k + tk])
                nisa.nc_matmul(acc, w_tile, x_tile)
            y_t = nl.ndarray((tn, tm), dtype=x.dtype, buffer=nl.sbuf)
            nisa.activation(y_t, nl.relu, acc, bias=column)
            nisa.dma_transpose(dst=y[m : m + tm, n : n + tn], src=y_t)
    return y
