"""Row softmax in NKI: the exponentials are summed as they are made, then multiplied by the sum's reciprocal."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def softmax(x):
    rows, cols = x.shape
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    for start in nl.affine_range(0, rows, 128):
        height = min(128, rows - start)
        tile = nl.ndarray((height, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=tile, src=x[start : start + height, :])
        minus_max = nl.ndarray((height, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.tensor_reduce(minus_max, nl.maximum, tile, axis=1, negate=True)
        e = nl.ndarray((height, cols), dtype=nl.float32, buffer=nl.sbuf)
        total = nl.ndarray((height, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.activation_reduce(e, nl.exp, tile, reduce_op=nl.add, reduce_res=total, bias=minus_max)
        inverse = nl.ndarray((height, 1), dtype=nl.float32, buffer=nl.sbuf)
        nisa.reciprocal(inverse, total)
        y = nl.ndarray((height, cols), dtype=x.dtype, buffer=nl.sbuf)
        nisa.tensor_scalar(y, e, nl.multiply, inverse)
        nisa.dma_copy(dst=out[start : start + height, :], src=y)
    return out
