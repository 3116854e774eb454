"""Flash attention forward of one head in NKI: tiles of 16 keys, running maximum, the product with V summed in PSUM."""

import nki
import nki.isa as nisa
import nki.language as nl

KEYS = 16


def _tile(rows, cols, buffer=nl.sbuf):
    return nl.ndarray((rows, cols), dtype=nl.float32, buffer=buffer)


@nki.jit
def attention(q, k, v, scale=0.25):
    L, D = q.shape
    S, _ = k.shape
    assert L <= 128 and D <= 128 and S % KEYS == 0
    out = nl.ndarray((L, D), dtype=q.dtype, buffer=nl.shared_hbm)
    q_t = _tile(D, L)
    nisa.dma_transpose(dst=q_t, src=q)
    peak, total, acc = _tile(L, 1), _tile(L, 1), _tile(L, D, nl.psum)
    nisa.memset(peak, float("-inf"))
    nisa.memset(total, 0.0)
    for start in nl.sequential_range(0, S, KEYS):
        k_t, v_tile = _tile(D, KEYS), _tile(KEYS, D)
        nisa.dma_transpose(dst=k_t, src=k[start : start + KEYS, :])
        nisa.dma_copy(dst=v_tile, src=v[start : start + KEYS, :])
        qk = _tile(L, KEYS, nl.psum)
        nisa.nc_matmul(qk, q_t, k_t)
        s = _tile(L, KEYS)
        nisa.tensor_scalar(s, qk, nl.multiply, scale)
        tile_peak, new_peak, minus_peak, alpha = _tile(L, 1), _tile(L, 1), _tile(L, 1), _tile(L, 1)
        nisa.tensor_reduce(tile_peak, nl.maximum, s, axis=1)
        nisa.tensor_tensor(new_peak, peak, tile_peak, nl.maximum)
        nisa.tensor_scalar(minus_peak, new_peak, nl.multiply, -1.0)
        nisa.activation(alpha, nl.exp, peak, bias=minus_peak)
        p, tile_total = _tile(L, KEYS), _tile(L, 1)
        nisa.activation(p, nl.exp, s, bias=minus_peak)
        nisa.tensor_reduce(tile_total, nl.add, p, axis=1)
        nisa.scalar_tensor_tensor(total, total, nl.multiply, alpha, nl.add, tile_total)
        p_psum, p_t = _tile(KEYS, L, nl.psum), _tile(KEYS, L)
        nisa.nc_transpose(p_psum, p)
        nisa.tensor_copy(p_t, p_psum)
        nisa.nc_matmul(acc, p_t, v_tile)
        nisa.tensor_copy(peak, new_peak)
    result = _tile(L, D)
    nisa.tensor_scalar(result, acc, nl.divide, total)
    nisa.dma_copy(dst=out, src=result)
    return out
