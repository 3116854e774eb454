"""Cross entropy in NKI: a row a partition, its label's column gathered by DMA."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def cross_entropy(x, labels):
    M, N = x.shape
    assert M <= 128
    loss = nl.ndarray((M,), dtype=x.dtype, buffer=nl.shared_hbm)
    tile = nl.ndarray((M, N), dtype=x.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=tile, src=x)
    place = nl.ndarray((M, 1), dtype=nl.int32, buffer=nl.sbuf)
    first = nl.ndarray((M, 1), dtype=nl.int32, buffer=nl.sbuf)
    nisa.dma_copy(dst=place, src=labels.reshape((M, 1)))
    nisa.iota(first, [[0, 1]], channel_multiplier=N)
    nisa.tensor_tensor(place, place, first, nl.add)
    chosen = nl.ndarray((M, 1), dtype=x.dtype, buffer=nl.sbuf)
    flat = x.reshape((M * N, 1))
    nisa.dma_copy(dst=chosen, src=flat.ap(pattern=[[1, M], [1, 1]], vector_offset=place, indirect_dim=0))
    peak = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(peak, nl.maximum, tile, axis=1)
    minus_peak = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(minus_peak, nl.maximum, tile, axis=1, negate=True)
    e = nl.ndarray((M, N), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation_reduce(e, nl.exp, tile, reduce_op=nl.add, reduce_res=total, bias=minus_peak)
    lse = nl.ndarray((M, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(lse, nl.log, total)
    nisa.tensor_tensor(lse, lse, peak, nl.add)
    result = nl.ndarray((M, 1), dtype=x.dtype, buffer=nl.sbuf)
    nisa.tensor_tensor(result, lse, chosen, nl.subtract)
    nisa.dma_copy(dst=loss.reshape((M, 1)), src=result)
    return loss
