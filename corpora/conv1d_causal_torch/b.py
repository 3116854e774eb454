"""Depthwise causal convolution: the last WIDTH inputs up to each position."""

import torch
import triton
import triton.language as tl


@triton.jit
def conv_kernel(x_ptr, w_ptr, y_ptr, C, L, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    batch = tl.program_id(0)
    channel = tl.program_id(1)
    t = tl.arange(0, BLOCK)
    row = x_ptr + (batch * C + channel) * L
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for i in tl.static_range(WIDTH):
        src = t - (WIDTH - 1) + i
        x = tl.load(row + src, mask=(src >= 0) & (src < L), other=0.0)
        acc += x * tl.load(w_ptr + channel * WIDTH + i)
    tl.store(y_ptr + (batch * C + channel) * L + t, acc, mask=t < L)


def conv1d(x, w):
    B, C, L = x.shape
    y = torch.empty_like(x)
    conv_kernel[(B, C)](x, w, y, C, L, WIDTH=w.shape[1], BLOCK=triton.next_power_of_2(L))
    return y
