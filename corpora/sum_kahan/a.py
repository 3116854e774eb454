"""Sum of each row, left to right, one program a row."""

import torch
import triton
import triton.language as tl


@triton.jit
def row_sum_kernel(x_ptr, out_ptr, stride, N):
    row = tl.program_id(0)
    total = 0.0
    for i in range(N):
        total += tl.load(x_ptr + row * stride + i)
    tl.store(out_ptr + row, total)


def row_sum(x):
    M, N = x.shape
    out = torch.empty((M,), device=x.device, dtype=x.dtype)
    row_sum_kernel[(M,)](x, out, x.stride(0), N)
    return out
