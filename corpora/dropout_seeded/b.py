"""Dropout from a seed: Triton's Philox at the element's own offset, 64 elements a program."""

import torch
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, out_ptr, n, p, scale, seed, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    keep = tl.rand(seed, offs) > p
    out = tl.where(keep, scale * x, 0.0)
    tl.store(out_ptr + offs, out, mask=mask)


def dropout(x, p=0.25, seed=1234):
    out = torch.empty_like(x)
    n = x.numel()
    dropout_kernel[(triton.cdiv(n, 64),)](x, out, n, p, 1.0 / (1.0 - p), seed, BLOCK=64)
    return out
