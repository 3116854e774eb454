"""A launch that fills memory which was zeros, then an op on it."""

import torch
import triton
import triton.language as tl


@triton.jit
def copied(source, target, size, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(target + at, tl.load(source + at, mask=at < size), mask=at < size)


def run(x):
    target = torch.zeros(x.numel(), device=x.device)
    copied[(1,)](x, target, x.numel(), BLOCK=16)
    return target.exp()
