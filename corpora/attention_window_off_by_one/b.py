"""Sliding-window attention for short sequences: all keys in one tile."""

import torch
import triton
import triton.language as tl

WINDOW = 5


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, L,
    WIDTH: tl.constexpr, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):
    head = tl.program_id(1)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    base = head * L * D
    q = tl.load(q_ptr + base + rm[:, None] * D + rd[None, :], mask=rm[:, None] < L, other=0.0)
    k = tl.load(k_ptr + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < L, other=0.0)
    v = tl.load(v_ptr + base + rn[:, None] * D + rd[None, :], mask=rn[:, None] < L, other=0.0)
    s = tl.dot(q, tl.trans(k)) * scale
    causal = rn[None, :] <= rm[:, None]
    window = rn[None, :] >= rm[:, None] - WIDTH
    s = tl.where(causal & window, s, -float("inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    o = tl.dot(p.to(tl.float16), v)
    tl.store(o_ptr + base + rm[:, None] * D + rd[None, :], o.to(tl.float16), mask=rm[:, None] < L)


def attention(q, k, v):
    B, H, L, D = q.shape
    o = torch.empty_like(q)
    grid = (triton.cdiv(L, 16), B * H)
    attention_kernel[grid](q, k, v, o, D**-0.5, L, WIDTH=WINDOW, D=D, BM=16, BN=triton.next_power_of_2(L))
    return o
