"""Causal softmax of a square score matrix."""

import torch
import triton
import triton.language as tl


@triton.jit
def causal_softmax_kernel(x_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0)
    x = tl.where(cols <= row, x, -1.0e30)
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + cols, e / tl.sum(e, axis=0), mask=mask)


def causal_softmax(x):
    N = x.shape[0]
    y = torch.empty_like(x)
    causal_softmax_kernel[(N,)](x, y, N, BLOCK=triton.next_power_of_2(N))
    return y
