"""Rotary embedding: one Triton program a token and head."""

import torch
import triton
import triton.language as tl


@triton.jit
def rope_kernel(x_ptr, cos_ptr, sin_ptr, out_ptr, H, D, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    head = tl.program_id(1)
    half = D // 2
    cols = tl.arange(0, BLOCK)
    mask = cols < half
    base = (token * H + head) * D
    first = base + 2 * cols
    second = base + 2 * cols + 1
    cos = tl.load(cos_ptr + token * half + cols, mask=mask)
    sin = tl.load(sin_ptr + token * half + cols, mask=mask)
    x1 = tl.load(x_ptr + first, mask=mask)
    x2 = tl.load(x_ptr + second, mask=mask)
    tl.store(out_ptr + first, x1 * cos - x2 * sin, mask=mask)
    tl.store(out_ptr + second, x2 * cos + x1 * sin, mask=mask)


def rope(x, cos, sin):
    T, H, D = x.shape
    out = torch.empty_like(x)
    rope_kernel[(T, H)](x, cos, sin, out, H, D, BLOCK=triton.next_power_of_2(D // 2))
    return out
