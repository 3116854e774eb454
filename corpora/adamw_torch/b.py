"""AdamW step, in place; the scalars are prepared on the host."""

import triton
import triton.language as tl


@triton.jit
def adamw_kernel(
    p_ptr, g_ptr, m_ptr, v_ptr, n,
    beta1, one_minus_beta1, beta2, one_minus_beta2, root_correction, eps, shrink, step_size,
    BLOCK: tl.constexpr,
):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    p = tl.load(p_ptr + offs, mask=mask, other=0.0)
    g = tl.load(g_ptr + offs, mask=mask, other=0.0)
    m = tl.load(m_ptr + offs, mask=mask, other=0.0)
    v = tl.load(v_ptr + offs, mask=mask, other=0.0)
    m = beta1 * m + one_minus_beta1 * g
    v = beta2 * v + one_minus_beta2 * g * g
    denom = tl.sqrt(v) / root_correction + eps
    p = p * shrink - step_size * m / denom
    tl.store(m_ptr + offs, m, mask=mask)
    tl.store(v_ptr + offs, v, mask=mask)
    tl.store(p_ptr + offs, p, mask=mask)


def adamw_step(p, g, m, v, step=3, lr=1e-2, beta1=0.9, beta2=0.999, eps=1e-8, decay=0.1):
    n = p.numel()
    adamw_kernel[(triton.cdiv(n, 128),)](
        p, g, m, v, n,
        beta1, 1 - beta1, beta2, 1 - beta2,
        (1 - beta2**step) ** 0.5, eps, 1 - lr * decay, lr / (1 - beta1**step),
        BLOCK=128,
    )
