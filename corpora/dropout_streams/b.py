"""Dropout from a seed: one Triton program a row, the stream counted within the row."""

import torch
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, out_ptr, N, p, scale, seed, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = cols < N
    x = tl.load(x_ptr + row * N + cols, mask=mask, other=0.0)
    keep = tl.rand(seed + row, cols) > p
    tl.store(out_ptr + row * N + cols, tl.where(keep, x * scale, 0.0), mask=mask)


def dropout(x, p=0.25, seed=1234):
    M, N = x.shape
    out = torch.empty_like(x)
    dropout_kernel[(M,)](x, out, N, p, 1.0 / (1.0 - p), seed, BLOCK=triton.next_power_of_2(N))
    return out
