"""Row softmax in NKI over tiles of a fixed width."""

import nki
import nki.isa as nisa
import nki.language as nl

WIDTH = 256


@nki.jit
def softmax(x):
    rows, cols = x.shape
    assert cols <= WIDTH
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in range(0, rows, 128):
        height = min(128, rows - start)
        tile = nl.ndarray((height, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile[:, 0:cols], src=x[start : start + height, :])
        minus_max = nl.ndarray((height, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(minus_max, nl.maximum, tile[:, 0:cols], axis=1, negate=True)
        e = nl.ndarray((height, WIDTH), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation(e, nl.exp, tile, bias=minus_max)
        total = nl.ndarray((height, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(total, nl.add, e, axis=1)
        y = nl.ndarray((height, WIDTH), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(y, e, nl.divide, total)
        nisa.dma_copy(dst=out[start : start + height, :], src=y[:, 0:cols])
    return out
