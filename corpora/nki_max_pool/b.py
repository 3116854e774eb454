"""Max pooling by 2 x 2 in NKI: a channel a partition, the windows are an access pattern."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def max_pool(x):
    C, H, W = x.shape
    out = nl.ndarray((C, H // 2, W // 2), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((C, H, W), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    windows = tile.ap(pattern=[[H * W, C], [2 * W, H // 2], [2, W // 2], [W, 2], [1, 2]])
    pooled = nl.ndarray((C, H // 2, W // 2), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_reduce(pooled, nl.maximum, windows, axis=(3, 4))
    nisa.dma_copy(dst=out, src=pooled)
    return out
