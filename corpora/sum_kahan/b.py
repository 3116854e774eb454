"""Sum of each row, left to right, with Kahan's compensation."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, stride, N):
    row = tl.program_id(0)
    total = 0.0
    lost = 0.0
    for i in range(N):
        y = tl.load(x_ptr + row * stride + i) - lost
        t = total + y
        lost = (t - total) - y
        total = t
    tl.store(out_ptr + row, total)


def row_sum(x):
    M, N = x.shape
    out = torch.empty((M,), device=x.device, dtype=x.dtype)
    row_sum_kernel[(M,)](x, out, x.stride(0), N)
    return out
