"""Attention of one head in NKI, all keys in one tile."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def attention(q, k, v, scale=0.25):
    L, D = q.shape
    S, _ = k.shape
    out = nl.ndarray((L, D), dtype=q.dtype, buffer=nl.shared_hbm)
    q_t = nl.ndarray((D, L), dtype=q.dtype, buffer=nl.sbuf)
    k_t = nl.ndarray((D, S), dtype=k.dtype, buffer=nl.sbuf)
    v_tile = nl.ndarray((S, D), dtype=v.dtype, buffer=nl.sbuf)
    nisa.dma_transpose(dst=q_t, src=q)
    nisa.dma_transpose(dst=k_t, src=k)
    nisa.dma_copy(dst=v_tile, src=v)
    qk = nl.ndarray((L, S), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(qk, q_t, k_t)
    s = nl.ndarray((L, S), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_scalar(s, qk, nl.multiply, scale)
    minus_peak = nl.ndarray((L, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.tensor_reduce(minus_peak, nl.maximum, s, axis=1, negate=True)
    p = nl.ndarray((L, S), dtype=nl.float32, buffer=nl.sbuf)
    total = nl.ndarray((L, 1), dtype=nl.float32, buffer=nl.sbuf)
    nisa.activation(p, nl.exp, s, bias=minus_peak)
    nisa.tensor_reduce(total, nl.add, p, axis=1)
    nisa.tensor_scalar(p, p, nl.divide, total)
    p_psum = nl.ndarray((S, L), dtype=nl.float32, buffer=nl.psum)
    p_t = nl.ndarray((S, L), dtype=nl.float32, buffer=nl.sbuf)
    nisa.nc_transpose(p_psum, p)
    nisa.tensor_scalar(p_t, p_psum, nl.add, 1.0)
    pv = nl.ndarray((L, D), dtype=nl.float32, buffer=nl.psum)
    nisa.nc_matmul(pv, p_t, v_tile)
    result = nl.ndarray((L, D), dtype=q.dtype, buffer=nl.sbuf)
    nisa.tensor_copy(result, pv)
    nisa.dma_copy(dst=out, src=result)
    return out
