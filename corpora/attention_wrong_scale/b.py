"""Flash attention forward, f16 in and out."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, H, GROUP, LQ, LK,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    batch = tl.program_id(1) // H
    head = tl.program_id(1) % H
    kv_head = batch * (H // GROUP) + head // GROUP
    rd = tl.arange(0, D)
    q_offs = (batch * H + head) * LQ * D + rm[:, None] * D + rd[None, :]
    q = tl.load(q_ptr + q_offs, mask=rm[:, None] < LQ, other=0.0)
    m = tl.full((BM,), -float("inf"), dtype=tl.float32)
    l = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, LK, BN):
        rn = start + tl.arange(0, BN)
        kv_offs = kv_head * LK * D + rn[:, None] * D + rd[None, :]
        k = tl.load(k_ptr + kv_offs, mask=rn[:, None] < LK, other=0.0)
        v = tl.load(v_ptr + kv_offs, mask=rn[:, None] < LK, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        keep = rn[None, :] < LK
        s = tl.where(keep, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None] + tl.dot(p.to(tl.float16), v)
        m = m_new
    tl.store(o_ptr + q_offs, (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < LQ)


def attention(q, k, v):
    B, H, LQ, D = q.shape
    LK = k.shape[2]
    o = torch.empty_like(q)
    grid = (triton.cdiv(LQ, 16), B * H)
    attention_kernel[grid](q, k, v, o, 1.0 / D, H, H // k.shape[1], LQ, LK, D=D, BM=16, BN=16)
    return o
