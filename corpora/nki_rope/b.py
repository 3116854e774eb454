"""Rotary embedding in NKI: a token a partition, all of its heads at once."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def rope(x, cos, sin):
    T, H, D = x.shape
    half = D // 2
    out = nl.ndarray((T, H, D), dtype=x.dtype, buffer=nl.shared_hbm)
    x_tile = nl.ndarray((T, H, D), dtype=x.dtype, buffer=nl.sbuf)
    c = nl.ndarray((T, half), dtype=cos.dtype, buffer=nl.sbuf)
    s = nl.ndarray((T, half), dtype=sin.dtype, buffer=nl.sbuf)
    nisa.dma_copy(dst=x_tile, src=x)
    nisa.dma_copy(dst=c, src=cos)
    nisa.dma_copy(dst=s, src=sin)
    y = nl.ndarray((T, H, D), dtype=x.dtype, buffer=nl.sbuf)
    for h in nl.affine_range(H):
        x1, x2 = x_tile[:, h, 0:half], x_tile[:, h, half:D]
        x1_cos, x2_sin, x2_cos, x1_sin = [nl.ndarray((T, half), dtype=nl.float32, buffer=nl.sbuf) for _ in range(4)]
        nisa.tensor_tensor(x1_cos, x1, c, nl.multiply)
        nisa.tensor_tensor(x2_sin, x2, s, nl.multiply)
        nisa.tensor_tensor(x2_cos, x2, c, nl.multiply)
        nisa.tensor_tensor(x1_sin, x1, s, nl.multiply)
        nisa.tensor_tensor(y[:, h, 0:half], x1_cos, x2_sin, nl.subtract)
        nisa.tensor_tensor(y[:, h, half:D], x2_cos, x1_sin, nl.add)
    nisa.dma_copy(dst=out, src=y)
    return out
