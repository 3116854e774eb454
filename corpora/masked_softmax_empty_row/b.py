"""Row softmax over the kept elements."""

import torch
import triton
import triton.language as tl


@triton.jit
def softmax_kernel(x_ptr, keep_ptr, y_ptr, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0)
    keep = tl.load(keep_ptr + row * N + cols, mask=mask, other=0)
    x = tl.where(keep != 0, x, -float("inf"))
    e = tl.exp(x - tl.max(x, axis=0))
    tl.store(y_ptr + row * N + cols, e / tl.sum(e, axis=0), mask=mask)


def masked_softmax(x, keep):
    M, N = x.shape
    y = torch.empty_like(x)
    softmax_kernel[(M,)](x, keep, y, N, BLOCK=triton.next_power_of_2(N))
    return y
