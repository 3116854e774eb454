"""Sum over time in NKI: a sequence a partition."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def sum_over_time(x):
    batch, time, width = x.shape
    out = nl.ndarray((batch, width), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((batch, time, width), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    total = nl.ndarray((batch, width), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(total, nl.add, tile, axis=2)
    nisa.dma_copy(dst=out, src=total)
    return out
