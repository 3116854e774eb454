"""Sum of all elements in two launches: a partial sum a block, then the sum of those."""

import torch
import triton
import triton.language as tl


@triton.jit
def partial_kernel(x_ptr, part_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = pid * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offs, mask=offs < n, other=0.0)
    tl.store(part_ptr + pid, tl.sum(x, axis=0))


@triton.jit
def final_kernel(part_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    x = tl.load(part_ptr + offs, mask=offs < n, other=0.0)
    tl.store(out_ptr, tl.sum(x, axis=0))


def total(x):
    n = x.numel()
    blocks = triton.cdiv(n, 128)
    part = torch.empty((blocks,), device=x.device, dtype=x.dtype)
    out = torch.empty((), device=x.device, dtype=x.dtype)
    partial_kernel[(blocks,)](x, part, n, BLOCK=128)
    final_kernel[(1,)](part, out, blocks, BLOCK=triton.next_power_of_2(blocks))
    return out
