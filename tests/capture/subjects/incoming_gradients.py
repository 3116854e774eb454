"""Backward passes that read the incoming gradient by its strides, as contiguous memory, or not at all unless it is."""

import torch
import triton
import triton.language as tl


@triton.jit
def scaled(x, g, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, 2 * tl.load(x + i, mask=i < n) * tl.load(g + i, mask=i < n), mask=i < n)


def _function(prepare, overwrites=False):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            g = prepare(g)
            dx = g if overwrites else torch.empty_like(x)
            scaled[(triton.cdiv(x.numel(), 64),)](x, g, dx, x.numel(), B=64)
            return dx

    return Square.apply


def _asserted(g):
    assert g.is_contiguous()
    return g


careless = _function(lambda g: g)
careful = _function(lambda g: g.contiguous())
strict = _function(_asserted)
overwriting = _function(lambda g: g.contiguous(), overwrites=True)  # where that is g itself
overwriting_a_copy = _function(lambda g: g.clone(memory_format=torch.contiguous_format), overwrites=True)


def plain(x):
    return x * x
