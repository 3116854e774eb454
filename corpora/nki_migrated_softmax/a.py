"""Row softmax in NKI Beta-1: tiles of 128 rows, the last one masked."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def softmax(x):
    rows, cols = x.shape
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(128)[:, None]
    i_f = nl.arange(cols)[None, :]
    for t in nl.affine_range((rows + 127) // 128):
        inside = t * 128 + i_p < rows
        tile = nl.load(x[t * 128 + i_p, i_f], mask=inside)
        e = nl.exp(nl.subtract(tile, nl.max(tile, axis=[1], keepdims=True, mask=inside), mask=inside), mask=inside)
        y = nl.divide(e, nl.sum(e, axis=[1], keepdims=True, mask=inside), mask=inside)
        nl.store(out[t * 128 + i_p, i_f], value=y, mask=inside)
    return out
