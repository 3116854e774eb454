"""ReLU6."""

import torch
import triton
import triton.language as tl


@triton.jit
def relu6_kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    x = tl.load(x_ptr + offs, mask=mask)
    out = tl.maximum(x, 0.0)
    tl.store(out_ptr + offs, out, mask=mask)


def relu6(x):
    out = torch.empty_like(x)
    n = out.numel()
    relu6_kernel[(triton.cdiv(n, 256),)](x, out, n, BLOCK=256)
    return out
