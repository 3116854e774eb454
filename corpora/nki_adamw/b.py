"""AdamW step in NKI; the scalars are Python's."""

import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def adamw_step(p, g, m, v, step=3, lr=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.1):
    M, N = p.shape
    p_out, m_out, v_out = [nl.ndarray((M, N), dtype=p.dtype, buffer=nl.shared_hbm) for _ in range(3)]
    for start in range(0, M, 128):
        rows = min(128, M - start)
        here = nl.ds(start, rows)
        pt, gt, mt, vt, scaled, denom = [nl.ndarray((rows, N), dtype=nl.float32, buffer=nl.sbuf) for _ in range(6)]
        for tile, given in ((pt, p), (gt, g), (mt, m), (vt, v)):
            nisa.dma_copy(dst=tile, src=given[here, :])
        nisa.tensor_scalar(scaled, gt, nl.multiply, 1 - beta1)
        nisa.scalar_tensor_tensor(mt, mt, nl.multiply, beta1, nl.add, scaled)
        nisa.scalar_tensor_tensor(scaled, gt, nl.multiply, 1 - beta2, nl.multiply, gt)
        nisa.scalar_tensor_tensor(vt, vt, nl.multiply, beta2, nl.add, scaled)
        nisa.activation(denom, nl.sqrt, vt)
        nisa.tensor_scalar(denom, denom, nl.multiply, (1 - beta2**step) ** -0.5, op1=nl.add, operand1=eps)
        nisa.reciprocal(denom, denom)
        nisa.scalar_tensor_tensor(scaled, mt, nl.multiply, -lr / (1 - beta1**step), nl.multiply, denom)
        nisa.scalar_tensor_tensor(pt, pt, nl.multiply, 1 - lr * decay, nl.add, scaled)
        for tile, result in ((pt, p_out), (mt, m_out), (vt, v_out)):
            nisa.dma_copy(dst=result[here, :], src=tile)
    return p_out, m_out, v_out
