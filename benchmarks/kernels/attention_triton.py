"""Flash attention forward: online softmax over tiles of 64 keys, f16 in and out; [B*H, L, D]."""

import torch
import triton
import triton.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, o_ptr, scale, L, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    base = tl.program_id(1) * L * D
    rm = tl.program_id(0) * BM + tl.arange(0, BM)
    rd = tl.arange(0, D)
    q_offs = base + rm[:, None] * D + rd[None, :]
    q = tl.load(q_ptr + q_offs, mask=rm[:, None] < L, other=0.0)
    m = tl.full((BM,), -float("inf"), dtype=tl.float32)
    l = tl.zeros((BM,), dtype=tl.float32)
    acc = tl.zeros((BM, D), dtype=tl.float32)
    for start in range(0, L, BN):
        rn = start + tl.arange(0, BN)
        kv_offs = base + rn[:, None] * D + rd[None, :]
        k = tl.load(k_ptr + kv_offs, mask=rn[:, None] < L, other=0.0)
        v = tl.load(v_ptr + kv_offs, mask=rn[:, None] < L, other=0.0)
        s = tl.dot(q, tl.trans(k)) * scale
        s = tl.where(rn[None, :] < L, s, -float("inf"))
        m_new = tl.maximum(m, tl.max(s, axis=1))
        alpha = tl.exp(m - m_new)
        p = tl.exp(s - m_new[:, None])
        l = l * alpha + tl.sum(p, axis=1)
        acc = acc * alpha[:, None]
        acc += tl.dot(p.to(tl.float16), v)
        m = m_new
    tl.store(o_ptr + q_offs, (acc / l[:, None]).to(tl.float16), mask=rm[:, None] < L)


def attention(q, k, v):
    BH, L, D = q.shape
    o = torch.empty_like(q)
    attention_kernel[(triton.cdiv(L, 64), BH)](q, k, v, o, D**-0.5, L, D=D, BM=64, BN=64)
    return o
