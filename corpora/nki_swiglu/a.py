"""SwiGLU over a fused gate-and-up projection."""

import torch
import triton
import triton.language as tl


@triton.jit
def swiglu_kernel(x_ptr, out_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    gate = tl.load(x_ptr + row * 2 * N + cols, mask=mask, other=0.0)
    up = tl.load(x_ptr + row * 2 * N + N + cols, mask=mask, other=0.0)
    out = gate / (1.0 + tl.exp(-gate)) * up
    tl.store(out_ptr + row * N + cols, out, mask=mask)


def swiglu(x):
    M, N = x.shape[0], x.shape[1] // 2
    out = torch.empty((M, N), device=x.device, dtype=x.dtype)
    swiglu_kernel[(M,)](x, out, N, BLOCK=triton.next_power_of_2(N))
    return out
