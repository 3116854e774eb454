"""Dequantise int8 with one scale."""

import torch
import triton
import triton.language as tl


@triton.jit
def dequantise_kernel(q_ptr, out_ptr, n, scale, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    q = tl.load(q_ptr + offs, mask=mask)
    out = q.to(tl.float32) * scale
    tl.store(out_ptr + offs, out, mask=mask)


def dequantise(q, scale=0.0123):
    out = torch.empty_like(q, dtype=torch.float32)
    n = out.numel()
    dequantise_kernel[(triton.cdiv(n, 256),)](q, out, n, scale, BLOCK=256)
    return out
