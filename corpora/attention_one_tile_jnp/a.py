"""Attention for short keys: all keys in one tile, full f32."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, LQ, LK, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rn = tl.arange(0, BN)
    rd = tl.arange(0, D)
    q = tl.load(q_ptr + rm[:, None] * D + rd[None, :], mask=rm[:, None] < LQ, other=0.0)
    k = tl.load(k_ptr + rn[:, None] * D + rd[None, :], mask=rn[:, None] < LK, other=0.0)
    v = tl.load(v_ptr + rn[:, None] * D + rd[None, :], mask=rn[:, None] < LK, other=0.0)
    s = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
    s = tl.where(rn[None, :] < LK, s, -float("inf"))
    p = tl.exp(s - tl.max(s, axis=1)[:, None])
    p = p / tl.sum(p, axis=1)[:, None]
    o = tl.dot(p, v, input_precision="ieee")
    tl.store(o_ptr + rm[:, None] * D + rd[None, :], o, mask=rm[:, None] < LQ)


def attention(q, k, v):
    LQ, D = q.shape
    LK = k.shape[0]
    o = torch.empty_like(q)
    attention_kernel[(triton.cdiv(LQ, 16),)](q, k, v, o, D**-0.5, LQ, LK, D=D, BM=16, BN=triton.next_power_of_2(LK))
    return o
