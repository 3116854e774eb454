"""Quantise to int8 with a scale a row: one Triton program a row."""

import torch
import triton
import triton.language as tl


@triton.jit
def quantise_kernel(x_ptr, scale_ptr, q_ptr, stride, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    scale = tl.load(scale_ptr + row)
    x = tl.load(x_ptr + row * stride + cols, mask=mask, other=0.0)
    q = tl.floor(tl.div_rn(x, scale) + 0.5)
    tl.store(q_ptr + row * stride + cols, q.to(tl.int32).to(tl.int8), mask=mask)


def quantise(x, scale):
    M, N = x.shape
    q = torch.empty_like(x, dtype=torch.int8)
    quantise_kernel[(M,)](x, scale, q, x.stride(0), N, BLOCK=triton.next_power_of_2(N))
    return q
