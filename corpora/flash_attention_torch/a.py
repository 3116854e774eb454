"""Flash attention forward: online softmax over key tiles, f16 in and out."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, scale, LQ, LK,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):
    head = tl.program_id(1)
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q_offs = head * LQ * D + rm[:, None] * D + rd[None, :]
    q = tl.load(q_ptr + q_offs, mask=rm[:, None] < LQ, other=0.0)
    qk_scale = scale * 1.44269504
    m = tl.full((BM,), -float("inf"), dtype=tl.float32)
    l = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, LK, BN):
        rn = start + tl.arange(0, BN)
        kv_offs = head * LK * D + rn[:, None] * D + rd[None, :]
        k = tl.load(k_ptr + kv_offs, mask=rn[:, None] < LK, other=0.0)
        v = tl.load(v_ptr + kv_offs, mask=rn[:, None] < LK, other=0.0)
        s = tl.dot(q, tl.trans(k)) * qk_scale
        s = tl.where(rn[None, :] < LK, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        alpha = tl.exp2(m - m_new)
        p = tl.exp2(s - m_new[:, None])
        l = l * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None]
        acc += tl.dot(p.to(tl.float16), v)
        m = m_new
    acc = acc / l[:, None]
    tl.store(o_ptr + q_offs, acc.to(tl.float16), mask=rm[:, None] < LQ)


def attention(q, k, v):
    B, H, LQ, D = q.shape
    LK = k.shape[2]
    o = torch.empty_like(q)
    grid = (triton.cdiv(LQ, 16), B * H)
    attention_kernel[grid](q, k, v, o, D**-0.5, LQ, LK, D=D, BM=16, BN=16)
    return o
