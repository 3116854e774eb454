"""Embedding lookup in NKI: a token a partition, its row gathered by DMA."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def embedding(ids, table):
    (T,) = ids.shape
    _, D = table.shape
    out = nl.ndarray((T, D), dtype=table.dtype, buffer=nl.shared_hbm)
    for start in range(0, T, 128):
        tokens = min(128, T - start)
        index = nl.ndarray((tokens, 1), dtype=ids.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=index, src=ids.reshape((T, 1))[start : start + tokens, :])
        rows = nl.ndarray((tokens, D), dtype=table.dtype, buffer=nl.sbuf)
        nisa.dma_copy(dst=rows, src=table.ap(pattern=[[D, tokens], [1, D]], vector_offset=index, indirect_dim=0))
        nisa.dma_copy(dst=out[start : start + tokens, :], src=rows)
    return out
