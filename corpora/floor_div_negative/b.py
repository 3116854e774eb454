"""Bucket of each relative position."""

import torch
import triton
import triton.language as tl


@triton.jit
def bucket_kernel(position_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    position = tl.load(position_ptr + offs, mask=mask)
    out = position // 8
    tl.store(out_ptr + offs, out, mask=mask)


def bucket(position):
    out = torch.empty_like(position)
    n = out.numel()
    bucket_kernel[(triton.cdiv(n, 256),)](position, out, n, BLOCK=256)
    return out
