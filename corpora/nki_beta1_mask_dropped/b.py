"""Row softmax in NKI Beta-1: the row is padded to a tile of 256 columns, and loads and stores are masked."""

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def softmax(x):
    rows, cols = x.shape
    assert rows <= 128 and cols <= 256
    out = nl.ndarray((rows, cols), dtype=x.dtype, buffer=nl.shared_hbm)
    i_p = nl.arange(rows)[:, None]
    i_f = nl.arange(256)[None, :]
    tile = nl.load(x[i_p, i_f], mask=i_f < cols)
    peak = nl.max(tile, axis=[1], keepdims=True, mask=i_f < cols)
    e = nl.exp(nl.subtract(tile, peak))
    y = nl.divide(e, nl.sum(e, axis=[1], keepdims=True))
    nl.store(out[i_p, i_f], value=y, mask=i_f < cols)
    return out
