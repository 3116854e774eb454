"""Vector addition: every program walks over several blocks of 64, a grid's width apart."""

import torch
import triton
import triton.language as tl


@triton.jit
def add_kernel(a_ptr, b_ptr, out_ptr, n, BLOCK: tl.constexpr):
    step = tl.num_programs(0) * BLOCK
    for start in range(tl.program_id(0) * BLOCK, n, step):
        offs = start + tl.arange(0, BLOCK)
        mask = offs < n
        a = tl.load(a_ptr + offs, mask=mask, other=0.0)
        b = tl.load(b_ptr + offs, mask=mask, other=0.0)
        tl.store(out_ptr + offs, b + a, mask=mask)


def add(a, b):
    out = torch.empty_like(a)
    add_kernel[(5,)](a, b, out, out.numel(), BLOCK=64)
    return out
