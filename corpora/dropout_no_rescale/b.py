"""Dropout with the mask given."""

import torch
import triton
import triton.language as tl


@triton.jit
def dropout_kernel(x_ptr, keep_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask, other=0.0)
    keep = tl.load(keep_ptr + offs, mask=mask, other=0)
    out = tl.where(keep != 0, x, 0.0)
    tl.store(out_ptr + offs, out, mask=mask)


def dropout(x, keep, p=0.25):
    out = torch.empty_like(x)
    n = x.numel()
    dropout_kernel[(triton.cdiv(n, 128),)](x, keep, out, n, BLOCK=128)
    return out
