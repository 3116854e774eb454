"""Difference of two tensors."""

import torch
import triton
import triton.language as tl


@triton.jit
def difference_kernel(prediction_ptr, target_ptr, out_ptr, n, BLOCK: tl.constexpr):
    offs = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offs < n
    prediction = tl.load(prediction_ptr + offs, mask=mask)
    target = tl.load(target_ptr + offs, mask=mask)
    out = target - prediction
    tl.store(out_ptr + offs, out, mask=mask)


def difference(prediction, target):
    out = torch.empty_like(prediction)
    n = out.numel()
    difference_kernel[(triton.cdiv(n, 256),)](prediction, target, out, n, BLOCK=256)
    return out
